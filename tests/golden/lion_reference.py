#!/usr/bin/env python3
"""Lion in fp64, written from the paper alone: what tenax' updates with optimizer.kind = "lion" are held against.

    python3 lion_reference.py --kernel  five updates of six weights: prints the table of
                                        tests/kernels/weight_update_test.cpp
    python3 lion_reference.py           golden.toml's run with Lion: writes lion_expected.json
    python3 lion_reference.py --check   the same run in fp32: how far honest rounding gets from the fp64 run

Lion: Chen et al., "Symbolic Discovery of Optimization Algorithms", NeurIPS 2023, algorithm 2. Shares nothing with
tenax; the model, its data and clipping are reference.py's and torch's. Needs Python 3.11 and torch.
"""
import json, sys

import torch

import reference


class Lion(torch.optim.Optimizer):
    def __init__(self, groups, betas):
        super().__init__(groups, {"lr": 1.0, "weight_decay": 0.0})
        self.betas = betas

    @torch.no_grad()
    def step(self):
        beta1, beta2 = self.betas
        for group in self.param_groups:
            for w in group["params"]:
                m = self.state[w].setdefault("m", torch.zeros_like(w))
                c = beta1 * m + (1 - beta1) * w.grad
                w -= group["lr"] * (torch.sign(c) + group["weight_decay"] * w)
                m.copy_(beta2 * m + (1 - beta2) * w.grad)


def print_kernel_table():
    """Weights, one gradient a step; tokens 4, clipped to norm 0.5, the second half without decay."""
    weights = torch.tensor([0.5, -1.25, 0.0, 2.0, -0.75, 3.0], dtype=torch.float64)
    gradients = torch.tensor([[4.0, -2.0, 0.0, 1.0, 8.0, -0.5], [-6.0, 2.0, 0.0, 1.5, -8.0, 0.25],
                              [0.5, -0.25, 2.0, -3.0, 1.0, 0.0], [1.0, 1.0, -2.5, 4.0, -1.0, 2.0],
                              [-0.125, 0.5, 0.0, -6.0, 3.0, -1.0]], dtype=torch.float64)
    halves = [weights[:3].clone().requires_grad_(), weights[3:].clone().requires_grad_()]
    lion = Lion([{"params": [halves[0]], "weight_decay": 0.1}, {"params": [halves[1]]}], (0.9, 0.99))
    for number, gradient in enumerate(gradients, 1):
        halves[0].grad, halves[1].grad = (gradient / 4).split(3)
        torch.nn.utils.clip_grad_norm_(halves, 0.5)
        for group in lion.param_groups:
            group["lr"] = 0.01 * number
        lion.step()
    print("w", [x for half in halves for x in half.tolist()])
    print("m", [x for half in halves for x in lion.state[half]["m"].tolist()])


def train(dtype):
    torch.set_num_threads(1)
    return reference.train(reference.initial_weights(), reference.random_text(), dtype,
                           lambda groups: Lion(groups, (0.9, 0.99)))[0]


def check():
    expected, got = train(torch.float64), train(torch.float32)
    for key in ("loss", "grad_norm"):
        worst = max(abs(a - b) / abs(b) for a, b in zip(got[key], expected[key]))
        print(f"fp32 torch: {key} {worst:.1e} relative")


def main(option):
    if option == "--kernel":
        return print_kernel_table()
    if option == "--check":
        return check()
    (reference.HERE / "lion_expected.json").write_text(json.dumps(train(torch.float64), indent=1) + "\n")


main(sys.argv[1] if len(sys.argv) > 1 else "")
