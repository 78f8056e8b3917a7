#!/usr/bin/env python3
"""PyTorch's losses over the steps of curve.toml, beside which gpu.sh holds tenax's.

    python3 pytorch_curve.py DECK TEXT --weights FILE [--dtype bf16|fp32] [--device cuda] [--compile]   prints one loss a line
    python3 pytorch_curve.py DECK --write-weights FILE          the first weights of both (safetensors, Hugging Face's names)

The deck gives the model, the batch and AdamW's settings; the text is read by bytes, in the order "sequential".
"""
import argparse, json, math, pathlib, struct, tomllib

import numpy, torch
from torch import nn
from torch.nn import functional as F

from pytorch_gpt import Gpt2, adamw

# Modules of pytorch_gpt.Block by Hugging Face's names.
MODULES = {"ln_1": "ln_1", "c_attn": "attn.c_attn", "c_proj": "attn.c_proj", "ln_2": "ln_2", "c_fc": "mlp.c_fc", "c_out": "mlp.c_proj"}


def model_of(deck):
    model = deck["model"]
    return Gpt2(model["num_layers"], model["num_attention_heads"], model["hidden_size"], model["vocab_size"], model["seq_length"],
                hasattr(F, "scaled_dot_product_attention"))


def named(model):
    """Parameters by Hugging Face's names, and whether they are stored transposed there (its Conv1D)."""
    for name, parameter in model.named_parameters():
        words = name.split(".")
        if words[0] != "blocks":
            yield name, parameter, False
        else:
            yield f"h.{words[1]}.{MODULES[words[2]]}.{words[3]}", parameter, parameter.dim() == 2


def write_weights(model, path):
    header, data, offset = {}, [], 0
    for name, parameter, is_transposed in named(model):
        values = (parameter.t() if is_transposed else parameter).detach().float().contiguous()
        data.append(values.numpy().tobytes())
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + len(data[-1])]}
        offset += len(data[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def read_weights(model, path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    for name, parameter, is_transposed in named(model):
        begin, end = header[name]["data_offsets"]
        values = torch.from_numpy(numpy.frombuffer(data[begin:end], numpy.float32).reshape(header[name]["shape"]).copy())
        with torch.no_grad():
            parameter.copy_(values.t() if is_transposed else values)


def initialise(model, deck):
    """As GPT-2: normal numbers of 0.02, what goes into the residual less."""
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.dim() == 2:
            nn.init.normal_(parameter, std=0.02)
        if name.endswith(("c_proj.weight", "c_out.weight")):
            nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * deck["model"]["num_layers"]))


def learning_rate(deck, step):
    optimizer, steps = deck["optimizer"], deck["run"]["train_steps"]
    lr, warmup = optimizer["lr"], optimizer.get("lr_warmup_steps", 0)
    if step < warmup:
        return lr * (step + 1) / warmup
    return lr * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2


def windows_of(deck, text, device):
    length, batch = deck["model"]["seq_length"], deck["batch"]["global_batch_size"]
    tokens = torch.from_numpy(numpy.frombuffer(text, numpy.uint8).astype(numpy.int64)).to(device)
    windows = (len(tokens) - 1) // length
    for step in range(deck["run"]["train_steps"]):
        begins = [(step * batch + row) % windows * length for row in range(batch)]
        yield torch.stack([tokens[begin : begin + length + 1] for begin in begins])


def train(deck, model, text, options):
    model.to(options.device)
    forward = torch.compile(model, dynamic=False) if options.compile else model
    optimizer = adamw(model)
    losses = []
    for step, rows in enumerate(windows_of(deck, text, options.device)):
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.dtype == "bf16"):
            loss = forward(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(deck, step)
        optimizer.step()
        losses.append(loss.detach())
    for loss in losses:
        print(float(loss))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("deck", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path, nargs="?")
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--write-weights", type=pathlib.Path)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    deck = tomllib.loads(options.deck.read_text())
    model = model_of(deck)
    if options.write_weights:
        initialise(model, deck)
        write_weights(model, options.write_weights)
    else:
        read_weights(model, options.weights)
        train(deck, model, options.text.read_bytes(), options)


main()
