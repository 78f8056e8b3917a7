"""Figures of runs under tenax launch, for replicas.sh.

  replicas_figures.py step RUNDIR                        median milliseconds of a step
  replicas_figures.py blows RUNDIR PID REPLICAS COUNT    COUNT times KILL and STOP to a rank of the running supervisor PID's
"""
import os
import random
import signal
import statistics
import sys
import time

from run_files import lines, ranks_of

PASS_S, OPTIMIZER_S = 0.024, 0.005  # of replicas.toml, the first for each microbatch


def step(run):
    seconds = [line["seconds"] for line in lines(f"{run}/metrics.jsonl") if "loss" in line]
    print(f"{1000 * statistics.median(seconds[len(seconds) // 3:]):.3f}")


class Run:
    def __init__(self, run, supervisor, replicas):
        self.run, self.supervisor, self.replicas = run, supervisor, replicas

    def ledger(self):
        return lines(f"{self.run}/ledger.jsonl")

    def members(self):
        epochs = [line for line in self.ledger() if "members" in line]
        return len(epochs[-1]["members"]) if epochs else 0

    def await_steady(self, commits):
        """All replicas are members, and so many steps have been committed since."""
        end = time.time() + 120
        while time.time() < end:
            os.kill(self.supervisor, 0)
            since = 0
            for line in self.ledger():
                since = 0 if "members" in line else since + ("squares" in line)
            if self.members() == self.replicas and since >= commits:
                return
            time.sleep(0.02)
        sys.exit("the run does not become steady")

    def strike(self, kind):
        replica = random.randrange(self.replicas)
        rank = random.choice(ranks_of(self.run, replica))
        time.sleep(random.random() * 0.2)
        at = time.time()
        os.kill(rank, kind)
        return at


def commits_of(ledger):
    return {line["step"]: line for line in ledger if "squares" in line}


def shares(commit):
    counts = {}
    for replica, _, count in commit["parts"]:
        counts[replica] = counts.get(replica, 0) + count
    return counts


def change(ledger, epoch):
    """Seconds that the first step of an epoch took beyond the one before it, less the passes that it had more of. And from
    the decision, or from the end of the passes that it found under way, to that step's first chunk: to its commit, less those
    passes and what the exchange and the vote of the step before took."""
    commits, first = commits_of(ledger), epoch["from_step"]
    before, after = commits[first - 1], commits[first]
    earlier, later = shares(before), shares(after)
    more = max(later[r] - earlier.get(r, later[r]) for r in later) * PASS_S
    usual = before["time"] - commits[first - 2]["time"]
    control = usual - max(earlier.values()) * PASS_S - OPTIMIZER_S
    begin = max(epoch["time"], before["time"] + usual - control)
    return after["time"] - before["time"] - usual - more, after["time"] - begin - more - control


def blows(run, count):
    """One after the other, each once all replicas are steady members again."""
    struck = []
    for kind in [signal.SIGKILL, signal.SIGSTOP] * count:
        run.await_steady(8)
        struck.append((kind, run.strike(kind), len([l for l in run.ledger() if "members" in l])))
        while len([l for l in run.ledger() if "members" in l]) == struck[-1][2]:
            time.sleep(0.02)
    run.await_steady(8)
    os.kill(run.supervisor, signal.SIGUSR1)
    return struck


def tell(name, what, values, unit_s=1):
    print(f"{what}: median {1000 * statistics.median(values):.1f} ms, worst {1000 * max(values):.1f} ms ({len(values)})")
    print(f"goal {name} {max(values) / unit_s:.4f}")


def report(run, struck):
    ledger = run.ledger()
    epochs = [line for line in ledger if "members" in line][1:]
    lost, joined = ([e for e in epochs if e["reason"] == reason] for reason in ("lost", "join"))
    stalls = {signal.SIGKILL: [], signal.SIGSTOP: []}
    for (kind, _, _), epoch in zip(struck, lost):
        stalls[kind].append(change(ledger, epoch)[0])
    tell("kill_stall_s", "survivors stand after SIGKILL", stalls[signal.SIGKILL])
    tell("stop_stall_s", "survivors stand after SIGSTOP", stalls[signal.SIGSTOP])
    tell("decision_s", "from the decision, or the end of passes under way, to the first chunk of the new ring", [change(ledger, epoch)[1] for epoch in lost])
    commits = commits_of(ledger)
    usual = statistics.median(commits[s]["time"] - commits[s - 1]["time"] for s in list(commits)[3:])
    joins = [change(ledger, epoch)[0] for epoch in joined]
    tell("join_steps", "members stand for a rejoin", joins, usual)
    print(f"a step takes {1000 * usual:.1f} ms; {len(struck)} blows, {len(lost)} epochs for losses, {len(joined)} for joins")
    print(f"goal epochs_per_change {len(epochs) / (2 * len(struck))}")


if sys.argv[1] == "step":
    step(sys.argv[2])
else:
    random.seed(1)
    the_run = Run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    report(the_run, blows(the_run, int(sys.argv[5])))
