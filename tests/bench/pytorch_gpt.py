#!/usr/bin/env python3
"""GPT-2 training steps in PyTorch, as fast as PyTorch does them: the rival of tests/bench/cpu.sh and gpu.sh.

    python3 pytorch_gpt.py --size tiny|small|gpt2-124m|gpt2-1.5b --dtype fp32|bf16 [--seconds S] [--batch B] [--device cuda]
                           [--sequences N] [--compile] [--attention fused|naive]

One step: forward and backward, as often as it takes for N sequences (once unless said otherwise), clip_grad_norm_, AdamW (two
groups), on new random tokens. Prints one JSON object: tokens/s by the
median step, loss, and the peak resident memory of the process. Works with torch 1.13 (Debian) and later ones, and takes the
faster path where a later one has it: fused attention, fused AdamW. On a GPU: torch.compile, tf32 for what is left in fp32, the vocabulary padded to a multiple of 64,
flash attention; the batch is the largest of those given (--batch 64,32,…) that fits the memory.
"""
import argparse, contextlib, json, math, statistics, time

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {  # layers, heads, hidden, vocabulary, sequence length, batch
    "tiny": (4, 4, 128, 256, 256, 8),
    "small": (6, 6, 384, 50304, 256, 4),
    "gpt2-124m": (12, 12, 768, 50257, 1024, 1),
    "gpt2-1.5b": (48, 25, 1600, 50257, 1024, 1),
}


class Block(nn.Module):
    def __init__(self, hidden, heads, is_fused):
        super().__init__()
        self.heads, self.is_fused = heads, is_fused
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.c_attn, self.c_proj = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.c_fc, self.c_out = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def attend(self, q, k, v, mask):
        if self.is_fused:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(2, 3)) * (1 / math.sqrt(q.shape[3]))
        return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=3) @ v

    def forward(self, x, mask):
        batch, length, hidden = x.shape
        split = lambda y: y.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)
        q, k, v = map(split, self.c_attn(self.ln_1(x)).split(hidden, dim=2))
        x = x + self.c_proj(self.attend(q, k, v, mask).transpose(1, 2).reshape(batch, length, hidden))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, heads, hidden, vocab, length, is_fused):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, hidden), nn.Embedding(length, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, is_fused) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)
        self.register_buffer("mask", torch.ones(length, length, dtype=torch.bool).triu(1))
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.blocks:
            x = block(x, self.mask)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[2]), targets.view(-1))


def adamw(model):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    options = {"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8}
    try:
        return torch.optim.AdamW(groups, fused=True, **options)
    except (TypeError, RuntimeError):  # before torch 2.4 there is none for the CPU
        return torch.optim.AdamW(groups, foreach=True, **options)


def peak_memory_bytes():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class Training:
    def __init__(self, options, batch):
        layers, heads, hidden, vocab, length, _ = SIZES[options.size]
        on_gpu = options.device == "cuda"
        self.vocab = (vocab + 63) // 64 * 64 if on_gpu else vocab
        self.length, self.batch, self.device = length, batch, options.device
        self.micro_batches = max((options.sequences or batch) // batch, 1)
        self.dtype = torch.bfloat16 if options.dtype == "bf16" else None
        is_fused = options.attention == "fused" and hasattr(F, "scaled_dot_product_attention")
        with torch.device(self.device) if on_gpu else contextlib.nullcontext():  # the host takes a minute for 1.5B
            self.model = Gpt2(layers, heads, hidden, self.vocab, length, is_fused)
        self.optimizer = adamw(self.model)
        self.forward = torch.compile(self.model, dynamic=False) if options.compile or on_gpu else self.model

    def micro_batch(self):
        tokens = torch.randint(self.vocab, (self.batch, self.length + 1), device=self.device)
        with torch.autocast(self.device, dtype=self.dtype or torch.bfloat16, enabled=self.dtype is not None):
            loss = self.forward(tokens[:, :-1], tokens[:, 1:].contiguous())
        (loss / self.micro_batches).backward()
        return loss

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        for _ in range(self.micro_batches):
            loss = self.micro_batch()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return float(loss)  # waits for the device


def begin(options, batches):
    """The training with the largest batch that fits, warmed up."""
    for batch in batches:
        try:
            training = Training(options, batch)
            for _ in range(2):  # the first compiles
                training.step()
            return training
        except torch.cuda.OutOfMemoryError:
            training = None
            torch.cuda.empty_cache()
    raise SystemExit("no batch fits the memory")


def peak_of(device):
    return torch.cuda.max_memory_allocated() if device == "cuda" else peak_memory_bytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--batch")
    parser.add_argument("--sequences", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--attention", choices=["fused", "naive"], default="fused")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(options.threads)
        torch.set_flush_denormal(True)
    else:
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    batches = [int(word) for word in (options.batch or str(SIZES[options.size][5])).split(",")]
    training = begin(options, batches)
    seconds = []
    end = time.perf_counter() + options.seconds
    while time.perf_counter() < end or len(seconds) < (5 if options.device == "cpu" else 3):
        started = time.perf_counter()
        loss = training.step()
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"torch": torch.__version__, "size": options.size, "dtype": options.dtype, "steps": len(seconds),
                      "batch": training.batch,
                      "tokens_per_second": training.micro_batches * training.batch * training.length / statistics.median(seconds), "loss": loss,
                      "peak_memory_bytes": peak_of(options.device)}))


if __name__ == "__main__":
    main()
