#!/usr/bin/env python3
"""Scores a file of 16-bit tokens with transformers' GPT-2 in bf16, in windows of its context: the rival of inference.sh.

    python3 score_transformers.py FOLDER TOKENS.bin

FOLDER has config.json and model.safetensors. Prints tokens/s of the faster of windows one by one and four at a time, after a window
that does not count.
"""
import array, sys, time

import torch
from transformers import GPT2LMHeadModel

folder, path = sys.argv[1], sys.argv[2]
model = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation="sdpa").eval()
length = model.config.n_positions
with open(path, "rb") as file:
    tokens = torch.tensor(array.array("H", file.read()), dtype=torch.long)
windows = (len(tokens) - 1) // length
inputs = tokens[: windows * length].view(windows, length)
targets = tokens[1 : windows * length + 1].view(windows, length)


def score(batch):
    loss = 0.0
    for i in range(0, windows, batch):
        logits = model(inputs[i : i + batch]).logits
        loss += torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets[i : i + batch].flatten(), reduction="sum").item()
    return loss


with torch.inference_mode():
    model(inputs[:1])
    best = 0.0
    for batch in (1, 4):
        begin = time.perf_counter()
        score(batch)
        best = max(best, windows * length / (time.perf_counter() - begin))
print(f"{best:.1f}")
