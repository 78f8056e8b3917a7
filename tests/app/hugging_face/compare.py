#!/usr/bin/env python3
"""Holds tenax against an installed transformers, for transformers_test.sh:

    python3 compare.py make FOLDER TYPE     a GPT2LMHeadModel of random weights, as transformers saves it in TYPE
                                            (float32, float16, bfloat16)
    python3 compare.py logits FOLDER FILE   FILE: what logits_of printed for the tokens of `tokens`; within 1e-4 of what
                                            transformers computes with FOLDER's model
    python3 compare.py greedy FOLDER FILE   FILE: bytes that tenax generated greedily from "The": transformers' choice
    python3 compare.py tokens FOLDER FILE   FOLDER's AutoTokenizer gives the tokens of FILE, a text that tenax tokenized to
                                            FILE.bin, and the text back
    python3 compare.py pipeline FOLDER FILE FILE: what tenax generated greedily from "The": so does pipeline() with FOLDER alone
"""
import array
import pathlib
import sys

import torch
from transformers import AutoTokenizer, GPT2LMHeadModel, pipeline

from make_fixture import random_model

TOKENS = [(7 * i * i + 3 * i) % 256 for i in range(40)]


def make(folder, dtype):
    model = random_model(11, vocab_size=256, n_positions=40, n_embd=48, n_layer=3, n_head=4, n_inner=100,
                         bos_token_id=0, eos_token_id=0)
    model.to(getattr(torch, dtype)).save_pretrained(folder, safe_serialization=True)
    print(*TOKENS)


def load(folder):
    return GPT2LMHeadModel.from_pretrained(folder, torch_dtype=torch.float32).double().eval()


def logits(folder, file):
    with torch.no_grad():
        theirs = load(folder)(torch.tensor([TOKENS])).logits[0]
    ours = torch.tensor([[float(x) for x in row.split()] for row in pathlib.Path(file).read_text().splitlines()])
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    worst = float((ours - theirs).abs().max())
    assert worst < 1e-4, f"logits differ by {worst}"
    print(f"logits within {worst:.1e}")


def greedy(folder, file):
    model, theirs = load(folder), list(b"The")
    with torch.no_grad():
        while len(theirs) < 40:
            theirs.append(int(model(torch.tensor([theirs])).logits[0, -1].argmax()))
    ours = pathlib.Path(file).read_bytes()
    expected = bytes(theirs).decode("utf-8", "replace").encode() + b"\n"
    assert ours == expected, (ours, expected)
    print("the same greedy tokens")


def tokens(folder, file):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = pathlib.Path(file).read_bytes().decode()
    ours = list(array.array("H", pathlib.Path(file + ".bin").read_bytes()))
    theirs = tokenizer(text)["input_ids"]
    assert ours == theirs, (ours[:20], theirs[:20])
    assert tokenizer.decode(theirs) == text
    print(f"the same {len(theirs)} tokens")


def generated(folder, file):
    ours = pathlib.Path(file).read_text()
    write = pipeline("text-generation", model=folder)
    theirs = write("The", max_new_tokens=17, do_sample=False, return_full_text=True)[0]["generated_text"] + "\n"
    assert ours == theirs, (ours, theirs)
    print("pipeline() writes the same")


if __name__ == "__main__":
    {"make": make, "logits": logits, "greedy": greedy, "tokens": tokens, "pipeline": generated}[sys.argv[1]](*sys.argv[2:])
