#!/usr/bin/env python3
"""Scores a file of 16-bit tokens with transformers' GPT-2 in bf16, in windows of its context: the rival of inference.sh.

    python3 score_transformers.py FOLDER TOKENS.bin PATIENCE

FOLDER has config.json and model.safetensors. Prints tokens/s of the faster of windows one by one and four at a time, after a window
that does not count. What has not ended after PATIENCE seconds, as where the processor has no bf16, is not waited for: then "BOUND at
most" says that it would score fewer than BOUND tokens/s.
"""
import array, os, sys, threading, time

import torch
from transformers import GPT2LMHeadModel

folder, path, patience_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
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


def limited(tokens, work):
    """Tokens/s of `work`."""

    def give_up():
        print(f"{tokens / patience_s:.1f} at most", flush=True)
        os._exit(0)

    timer = threading.Timer(patience_s, give_up)
    timer.start()
    begin = time.perf_counter()
    work()
    timer.cancel()
    return tokens / (time.perf_counter() - begin)


with torch.inference_mode():
    limited(length, lambda: model(inputs[:1]))
    best = 0.0
    for batch in (1, 4):
        best = max(best, limited(windows * length, lambda: score(batch)))
print(f"{best:.1f}")
