"""What is made slow, seeded, and what runs told of it, for failslow_find.sh.

  failslow_find.py case SEED NUMBER CASE.json     draws it into the file; prints the overrides of failslow.toml, one a line
  failslow_find.py judge RUNDIR CASE.json         one line of what was told; status 1 where that is wrong, 2 if only healing is
  failslow_find.py told RUNDIR NAME…              how many events of these names
  failslow_find.py blamed RUNDIR                  how many components are said to be slow in themselves: compute or link
  failslow_find.py hog RUNDIR PID CORE FROM STEPS keeps CORE busy in so many steps of the running PID's; what was told
  failslow_find.py same RUNDIR RUNDIR             status 1 unless losses and norms are equal, as written
  failslow_find.py iteration RUNDIR               its median, ms
  failslow_find.py share RUNDIR                   tracking's time in a step, per cent of a step of 20 ms
"""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
import tomllib

from run_files import events, lines

DECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "failslow.toml")
FROM_STEP = 40  # well after the 16 iterations before which nothing is told
SETTLED = 12  # steps after which a hog that has come or gone has been told of

# What a case makes slow: a rank's compute, or a link of a group, by delay or by bandwidth.
CASES = [
    ["compute"], ["data delay"], ["compute"], ["pipeline delay"], ["tensor delay"],
    ["compute"], ["data gbps"], ["pipeline gbps"], ["tensor gbps"], ["compute", "compute"],
    ["compute"], ["pipeline delay"], ["compute"], ["data delay"], ["compute", "data delay"],
    ["data gbps", "data delay"], ["tensor delay"], ["compute"], ["pipeline gbps"], ["compute", "pipeline delay"],
]
# How much longer a message takes, ms: each makes the iteration at least 15 % longer.
EXTRA_MS = {"data": (6, 15), "pipeline": (6, 25), "tensor": (1.2, 3.5)}


class Machine:
    """failslow.toml's."""

    def __init__(self):
        with open(DECK, "rb") as opened:
            deck = tomllib.load(opened)
        parallel, self.device = deck["parallel"], deck["device"]
        self.tensor, self.data, self.stages = (parallel[f"{axis}_parallel_size"] for axis in ("tensor", "data", "pipeline"))
        self.microbatches = deck["batch"]["global_batch_size"] // self.data
        self.passes_ms = sum(self.device[name] for name in ("forward_ms", "backward_input_ms", "backward_weight_ms"))
        self.bytes = {"pipeline": self.device["activation_bytes"], "tensor": self.device["activation_bytes"] / self.tensor,
                      "data": self.device["gradient_bytes"] / self.data}
        # How often, as measured, a message's delay makes an iteration longer.
        self.messages = {"pipeline": 4, "tensor": 3 * self.microbatches, "data": self.data - 1}
        self.probe_s = deck["detect"]["probe_seconds"]

    def rank(self, tensor, data, stage):
        return tensor + self.tensor * (data + self.data * stage)

    def link(self, rng, group):
        t, d, s = rng.randrange(self.tensor), rng.randrange(self.data), rng.randrange(self.stages)
        ends = {"tensor": [(0, d, s), (1, d, s)], "data": [(t, d, s), (t, (d + 1) % self.data, s)], "pipeline": [(t, d, 0), (t, d, 1)]}
        return sorted(self.rank(*end) for end in ends[group])


def draw_part(rng, machine, what, least_factor):
    """One fault: its keys in the deck, the component that is to be told, and the ms that it costs an iteration."""
    if what == "compute":
        factor = round(math.exp(rng.uniform(math.log(least_factor), math.log(5))), 2)
        rank = rng.randrange(machine.tensor * machine.data * machine.stages)
        return {"keys": {"kind": "slow_compute", "rank": rank, "factor": factor}, "ms": (factor - 1) * machine.microbatches * machine.passes_ms,
                "component": {"kind": "rank", "rank": rank, "cause": "compute"}, "text": f"rank {rank} x{factor}"}
    group, how = what.split()
    ranks = machine.link(rng, group)
    extra_ms = rng.uniform(*EXTRA_MS[group])
    value = round(extra_ms, 2) if how == "delay" else round(8 * machine.bytes[group] / (extra_ms * 1e-3) / 1e9, 4)
    key = "delay_ms" if how == "delay" else "gbps"
    return {"keys": {"kind": "link_delay", "ranks": ranks, key: value}, "ms": extra_ms * machine.messages[group],
            "component": {"kind": "link", "ranks": ranks, "group": group, "cause": "link"}, "text": f"{group} {ranks[0]}-{ranks[1]} {key} {value}"}


def ranks_of(component):
    return [component["rank"]] if component["kind"] == "rank" else component["ranks"]


def draw(seed, number):
    rng, machine = random.Random(f"{seed}.{number}"), Machine()
    wanted = CASES[number % len(CASES)]
    while True:
        parts = [draw_part(rng, machine, what, 1.3 if len(wanted) == 1 else 1.6) for what in wanted]
        ranks = [rank for part in parts for rank in ranks_of(part["component"])]
        if len(set(ranks)) == len(ranks):
            break
    begin = FROM_STEP + rng.randrange(10)
    # Long enough that the loss pays for a validation, and is followed a while after it.
    steps = 50 + math.ceil(1.5 * machine.probe_s * 1e3 / max(part["ms"] for part in parts))
    causes = {part["component"]["cause"] for part in parts}
    return {"from": begin, "to": begin + steps, "steps": begin + steps + 60, "cause": causes.pop() if len(causes) == 1 else "several",
            "components": [part["component"] for part in parts], "text": " and ".join(part["text"] for part in parts),
            "faults": [part["keys"] for part in parts]}


def overrides(case, seed):
    yield f"run.train_steps={case['steps']}"
    yield f"run.seed={seed}"
    for i, keys in enumerate(case["faults"]):
        for key, value in {**keys, "from_step": case["from"], "to_step": case["to"]}.items():
            yield f"inject.{i}.{key}={value}"


def part_of(component):
    """What tells a component from others."""
    if component["kind"] == "rank":
        return "rank", component["rank"], component["cause"]
    return "link", tuple(sorted(component["ranks"])), component["group"], component["cause"]


def parts_of(components):
    return sorted(map(part_of, components), key=str)


def limit_s(run, onset):
    """The longest reaction that the issue allows."""
    validation = max((event["seconds"] for event in events(run, "validation")), default=0)
    waits = validation * (1 + 1 / (1 - 1 / onset["ratio"])) if onset["ratio"] > 1 else 0
    return 3 * onset["after_ms"] * 1e-3 + max(3, waits)


def judge(run, case):
    """The line, and what is wrong: nothing (0), with what is told (1), or with the healing alone (2). Whoever looks again and
    finds the same, or nothing, tells the truth; the first that names a component has to be in time."""
    every, wanted = events(run, "fail_slow"), parts_of(case["components"])
    told = [event for event in every if event["components"]]
    first = told[0] if told else {"step": math.inf}
    onsets = [event for event in events(run, "onset") if event["step"] <= first["step"]]
    faults = [] if told else ["not told"]
    faults += [f"components {parts_of(event['components'])}" for event in told if parts_of(event["components"]) != wanted]
    faults += [f"cause {event['cause']}" for event in told if event["cause"] != case["cause"]]
    text = f"{case['text']}: step {case['from']}"
    if onsets:
        text += f", onset {onsets[-1]['iteration']} x{onsets[-1]['ratio']:.2f}"
    if told and onsets:
        faults += ["late"] if first["reaction_seconds"] > limit_s(run, onsets[-1]) else []
        text += f", {first['reaction_seconds']:.2f} s of {limit_s(run, onsets[-1]):.2f}, by {first['known_by']}"
    again = f" ({len(told) - 1} times again, {len(every) - len(told)} times nothing)" if len(every) > 1 else ""
    is_healed = set(parts_of(events(run, "healed"))) == set(wanted)
    verdict = "MISSED: " + ", ".join(faults) if faults else "ok" if is_healed else "NOT HEALED"
    return f"{text}{again}: {verdict}", 1 if faults else 0 if is_healed else 2


def blamed(run):
    return sum(component["cause"] in ("compute", "link") for event in events(run, "fail_slow") for component in event["components"])


def steps_of(run):
    return [line for line in lines(f"{run}/metrics.jsonl") if "loss" in line]


def await_step(run, pid, step):
    end = time.time() + 120
    while time.time() < end:
        os.kill(pid, 0)
        done = steps_of(run)
        if done and done[-1]["step"] >= step:
            return
        time.sleep(0.01)
    sys.exit(f"{run} does not come to step {step}")


HOG = [("rank", 1, "cpu_contention")]


def tells_of_hog(told, begin, end):
    """All four events, each when the hog comes or goes."""
    return (any(begin - 2 <= event["iteration"] <= begin + SETTLED for event in told["onset"])
            and any(end - 2 <= event["iteration"] <= end + SETTLED for event in told["relief"])
            and any(begin <= event["step"] <= begin + 2 * SETTLED and parts_of(event["components"]) == HOG for event in told["fail_slow"])
            and any(event["step"] > end and parts_of([event]) == HOG for event in told["healed"]))


def hog(run, pid, core, begin, steps):
    """Whether the four events told of it; a line that says what was told. "others": something else was named beside it or before or
    after it, which another guest of the machine may have earned."""
    await_step(run, pid, begin)
    busy = subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"])
    try:
        await_step(run, pid, begin + steps)
    finally:
        busy.kill()
        busy.wait()
    while os.path.exists(f"/proc/{pid}") and not events(run, "end"):
        time.sleep(0.05)
    told = {name: events(run, name) for name in ("onset", "fail_slow", "relief", "healed")}
    right = tells_of_hog(told, begin, begin + steps)
    others = any(event["components"] and parts_of(event["components"]) != HOG for event in told["fail_slow"])
    print(", ".join(f"{name} {len(found)}" for name, found in told.items()),
          *(f"{event['cause']} {parts_of(event['components'])}" for event in told["fail_slow"]), "ok" if right else "MISSED",
          *(["others"] if others else []))
    return right


def same(one, other):
    learnt = [[(line["step"], line["loss"], line["grad_norm"]) for line in steps_of(run)] for run in (one, other)]
    return len(learnt[0]) > 0 and learnt[0] == learnt[1]


def iteration_ms(run):
    taken = [line.get("iteration_seconds", line["seconds"]) for line in steps_of(run)]
    return 1e3 * statistics.median(taken[len(taken) // 5:])


def main(command, *arguments):
    if command == "case":
        seed, number, file = arguments
        case = draw(int(seed), int(number))
        with open(file, "w") as opened:
            json.dump(case, opened)
        print(*overrides(case, int(seed) * 1000 + int(number)), sep="\n")
    elif command == "judge":
        with open(arguments[1]) as opened:
            line, status = judge(arguments[0], json.load(opened))
        print(line)
        return status
    elif command == "told":
        print(len(events(*arguments)))
    elif command == "blamed":
        print(blamed(*arguments))
    elif command == "hog":
        return 0 if hog(arguments[0], *map(int, arguments[1:])) else 1
    elif command == "same":
        return 0 if same(*arguments) else 1
    elif command == "iteration":
        print(f"{iteration_ms(*arguments):.3f}")
    elif command == "share":
        # A busy machine makes steps longer than 20 ms: that must not hide what tracking takes.
        share = events(arguments[0], "end")[-1]["tracking_share"]
        print(f"{100 * share * max(1, iteration_ms(*arguments) / 20):.4f}")
    else:
        sys.exit(__doc__)
    return 0


sys.exit(main(*sys.argv[1:]))
