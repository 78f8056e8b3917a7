#!/usr/bin/env python3
"""Writes the fixture beside this file: a GPT2LMHeadModel of random weights as transformers saves it
(config.json, model.safetensors) and the logits that transformers computes with it (logits.safetensors:
tokens [T] and logits [T, V] in F32, from a model in fp64).

    python3 make_fixture.py        needs torch, transformers and safetensors (made with 1.13 and 4.46.3)
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

HERE = pathlib.Path(__file__).resolve().parent


def random_model(seed, **sizes):
    """Away from every special value: no bias is 0, no LayerNorm weight is 1."""
    generator = torch.Generator().manual_seed(seed)
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **sizes)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            centre = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            weight.copy_(centre + 0.2 * torch.randn(weight.shape, generator=generator))
    return model


def main():
    model = random_model(5, vocab_size=97, n_positions=20, n_embd=24, n_layer=2, n_head=3,
                         bos_token_id=96, eos_token_id=96)
    model.save_pretrained(HERE, safe_serialization=True)
    (HERE / "generation_config.json").unlink()
    tokens = torch.randint(97, (20,), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        logits = model.double()(tokens[None]).logits[0]
    save_file({"tokens": tokens.float(), "logits": logits.float()}, HERE / "logits.safetensors")


if __name__ == "__main__":
    main()
