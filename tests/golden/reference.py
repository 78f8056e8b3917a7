#!/usr/bin/env python3
"""An independent GPT-2 + AdamW training run in fp64: what tenax' losses, norms and weights are held against.

    python3 reference.py          reads golden.toml; writes initial.safetensors, tokens.bin, expected.json and
                                  final.safetensors
    python3 reference.py --check  the same run in fp32: how far honest rounding gets from the fp64 run
    python3 reference.py --hf     compares this file's loss and gradients with transformers' GPT2LMHeadModel

Needs Python 3.11 and torch (Debian: python3-torch); --hf also transformers. Written from Hugging Face's
definition of GPT-2, sharing nothing with tenax; cross entropy, LayerNorm, clipping and AdamW are torch's own.
"""
import json, math, pathlib, struct, sys, tomllib

import torch
from torch.nn.functional import cross_entropy, layer_norm

HERE = pathlib.Path(__file__).resolve().parent
DECK = tomllib.loads((HERE / "golden.toml").read_text())
MODEL, OPT = DECK["model"], DECK["optimizer"]
LAYERS, HIDDEN, HEADS = MODEL["num_layers"], MODEL["hidden_size"], MODEL["num_attention_heads"]
T, VOCAB = MODEL["seq_length"], MODEL["vocab_size"]
BATCH, STEPS = DECK["batch"]["global_batch_size"], DECK["run"]["train_steps"]
TOKENS = 2600  # 108 windows of 24: the run wraps around within a batch


def shapes():
    """Hugging Face's names; Conv1D weights are [in, out]."""
    yield "wte.weight", (VOCAB, HIDDEN)
    yield "wpe.weight", (T, HIDDEN)
    for layer in range(LAYERS):
        for name, shape in [("ln_1.weight", (HIDDEN,)), ("ln_1.bias", (HIDDEN,)),
                            ("attn.c_attn.weight", (HIDDEN, 3 * HIDDEN)), ("attn.c_attn.bias", (3 * HIDDEN,)),
                            ("attn.c_proj.weight", (HIDDEN, HIDDEN)), ("attn.c_proj.bias", (HIDDEN,)),
                            ("ln_2.weight", (HIDDEN,)), ("ln_2.bias", (HIDDEN,)),
                            ("mlp.c_fc.weight", (HIDDEN, 4 * HIDDEN)), ("mlp.c_fc.bias", (4 * HIDDEN,)),
                            ("mlp.c_proj.weight", (4 * HIDDEN, HIDDEN)), ("mlp.c_proj.bias", (HIDDEN,))]:
            yield f"h.{layer}.{name}", shape
    yield "ln_f.weight", (HIDDEN,)
    yield "ln_f.bias", (HIDDEN,)


def initial_weights():
    """Away from every special value: no bias is 0, no LayerNorm weight is 1."""
    generator = torch.Generator().manual_seed(2024)
    weights = {}
    for name, shape in shapes():
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        is_norm_weight = "ln_" in name and name.endswith("weight")
        values = 1 + 0.2 * values if is_norm_weight else 0.1 * values
        weights[name] = values.to(torch.float32)
    return weights


def random_text():
    """A Markov chain with three likely successors per token, and some noise: there is something to learn."""
    generator = torch.Generator().manual_seed(7)
    draw = lambda below: int(torch.randint(below, (1,), generator=generator))
    successors = [[draw(VOCAB) for _ in range(3)] for _ in range(VOCAB)]
    tokens = [draw(VOCAB)]
    while len(tokens) < TOKENS:
        tokens.append(draw(VOCAB) if draw(10) == 0 else successors[tokens[-1]][min(draw(3), draw(3))])
    return tokens


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def logits_of(weights, tokens):
    """tokens [B, T] -> logits [B, T, V]."""
    batch, length = tokens.shape
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    norm = lambda x, name: layer_norm(x, (HIDDEN,), weights[name + ".weight"], weights[name + ".bias"], 1e-5)
    linear = lambda x, name: x @ weights[name + ".weight"] + weights[name + ".bias"]
    split_heads = lambda x: x.view(batch, length, HEADS, HIDDEN // HEADS).transpose(1, 2)
    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:length]
    for layer in range(LAYERS):
        h = f"h.{layer}."
        q, k, v = map(split_heads, linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(HIDDEN, dim=2))
        scores = (q @ k.transpose(2, 3)) / math.sqrt(HIDDEN // HEADS)
        attended = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=3) @ v
        x = x + linear(attended.transpose(1, 2).reshape(batch, length, HIDDEN), h + "attn.c_proj")
        x = x + linear(gelu_new(linear(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    return norm(x, "ln_f") @ weights["wte.weight"].T


def batch_of(tokens, step):
    """Windows of the contract's order = "sequential"."""
    windows = (len(tokens) - 1) // T
    rows = [tokens[w * T:w * T + T + 1] for w in ((step * BATCH + b) % windows for b in range(BATCH))]
    rows = torch.tensor(rows)
    return rows[:, :-1], rows[:, 1:]


def learning_rate(step):
    lr, floor, warmup = OPT["lr"], OPT["min_lr"], OPT["lr_warmup_steps"]
    if step < warmup:
        return lr * (step + 1) / warmup
    if step >= STEPS:
        return floor
    return floor + (lr - floor) * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup))) / 2


def adamw(groups):
    return torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), eps=1e-8)


def train(initial, tokens, dtype, optimizer_of=adamw):
    weights = {name: w.to(dtype).requires_grad_() for name, w in initial.items()}
    groups = [{"params": [w for w in weights.values() if w.dim() == 2], "weight_decay": OPT["weight_decay"]},
              {"params": [w for w in weights.values() if w.dim() == 1], "weight_decay": 0.0}]
    optimizer = optimizer_of(groups)
    expected = {"loss": [], "grad_norm": [], "lr": []}
    for step in range(STEPS):
        inputs, targets = batch_of(tokens, step)
        loss = cross_entropy(logits_of(weights, inputs).view(-1, VOCAB), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), OPT["clip_grad"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        optimizer.step()
        for key, value in (("loss", loss), ("grad_norm", norm), ("lr", learning_rate(step))):
            expected[key].append(float(value))
    return expected, {name: w.detach().to(torch.float32) for name, w in weights.items()}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        end = offset + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(tensor.contiguous().numpy().tobytes() for tensor in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def key_bias_left_out(name, values):
    """A key's bias shifts all scores of a query alike: its true gradient is zero, its update noise."""
    return torch.cat([values[:HIDDEN], values[2 * HIDDEN:]]) if name.endswith("c_attn.bias") else values


def compare_with_fp32(initial, tokens, expected, final):
    got, weights = train(initial, tokens, torch.float32)
    worst = lambda key: max(abs(a - b) / abs(b) for a, b in zip(got[key], expected[key]))
    far = lambda n: float((key_bias_left_out(n, weights[n]) - key_bias_left_out(n, final[n])).abs().max())
    off = {n: far(n) for n in weights}
    name = max(off, key=off.get)
    print(f"fp32 torch: loss {worst('loss'):.1e} relative, grad norm {worst('grad_norm'):.1e} relative, "
          f"weights {off[name]:.1e} absolute ({name})")


def compare_with_transformers(initial, tokens):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(vocab_size=VOCAB, n_positions=T, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS,
                        activation_function="gelu_new", resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = GPT2LMHeadModel(config).double()
    model.transformer.load_state_dict({n: w.double() for n, w in initial.items()}, strict=False)
    inputs, targets = batch_of(tokens, 0)
    theirs = cross_entropy(model(inputs).logits.view(-1, VOCAB), targets.reshape(-1))
    theirs.backward()
    weights = {n: w.double().requires_grad_() for n, w in initial.items()}
    ours = cross_entropy(logits_of(weights, inputs).view(-1, VOCAB), targets.reshape(-1))
    ours.backward()
    named = dict(model.transformer.named_parameters())
    assert named.keys() == weights.keys()
    worst = max(float((named[n].grad - w.grad).abs().max()) for n, w in weights.items())
    print(f"transformers: loss {float(theirs)!r}, ours {float(ours)!r}; "
          f"largest gradient difference {worst:.1e}")


def main(option):
    torch.set_num_threads(1)
    initial, tokens = initial_weights(), random_text()
    if option == "--hf":
        return compare_with_transformers(initial, tokens)
    expected, final = train(initial, tokens, torch.float64)
    if option == "--check":
        return compare_with_fp32(initial, tokens, expected, final)
    write_safetensors(HERE / "initial.safetensors", initial)
    write_safetensors(HERE / "final.safetensors", final)
    (HERE / "tokens.bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
