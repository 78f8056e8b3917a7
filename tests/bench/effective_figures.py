"""Figures of effective.sh: strikes a running supervisor's replicas, one every 30 s, and reads what became of the time.

  effective_figures.py RUNDIR PID REPLICAS COUNT
"""
import os
import random
import signal
import statistics
import sys
import time

from run_files import lines, ranks_of, spares_ready

PERIOD_S = 30


def commits():
    return [line for line in lines(f"{run}/ledger.jsonl") if "squares" in line]


def contributing(commit):
    return len({replica for replica, _, _ in commit["parts"]})


def await_steady(since_s=0.0):
    """All replicas contribute to the last eight steps, which came after `since_s`."""
    end = time.time() + 150
    while time.time() < end:
        os.kill(supervisor, 0)
        last = commits()[-8:]
        if len(last) == 8 and last[0]["time"] > since_s and all(contributing(commit) == replicas for commit in last):
            return
        time.sleep(0.05)
    sys.exit("the run does not become steady")


def effective_percent(begin_s, end_s):
    """By the ledger alone: what all replicas would take for the samples that were trained, by the time that passed."""
    steps = commits()
    whole = [after["time"] - before["time"] for before, after in zip(steps[4:], steps[5:])
             if contributing(before) == contributing(after) == replicas]
    usual_s = statistics.median(whole)
    most = max(commit["samples"] for commit in steps)
    trained_s = sum(usual_s * commit["samples"] / most for commit in steps if begin_s < commit["time"] <= end_s)
    return 100 * trained_s / (end_s - begin_s)


def repairs(struck):
    """Seconds from each death to the first step with samples of that replica."""
    for at_s, replica in struck:
        back = (commit["time"] for commit in commits()
                if commit["time"] > at_s + 1 and replica in {part[0] for part in commit["parts"]})
        yield next(back) - at_s


run, supervisor, replicas, count = sys.argv[1], *map(int, sys.argv[2:5])
random.seed(1)
await_steady()
while os.path.exists(f"{run}/spare-0") and not spares_ready(run):
    os.kill(supervisor, 0)
    time.sleep(0.05)
begin_s, struck, last = time.time(), [], -1
for blow in range(count):
    time.sleep(max(0, begin_s + blow * PERIOD_S - time.time()))
    replica = random.choice([other for other in range(replicas) if other != last])
    os.kill(ranks_of(run, replica)[-1], signal.SIGKILL)
    struck.append((time.time(), replica))
    last = replica
await_steady(struck[0][0]) if count == 1 else time.sleep(max(0, begin_s + count * PERIOD_S - time.time()))
end_s = time.time()
os.kill(supervisor, signal.SIGUSR1)
while not any(line["event"] == "end" for line in lines(f"{run}/events.jsonl")):
    time.sleep(0.05)
repair_s = statistics.mean(repairs(struck))
print(f"repair, from the death to the first step with samples of the replica: {repair_s:.2f} s")
percent = effective_percent(begin_s, end_s)
print(f"by the ledger, from the first death to {count * PERIOD_S} s after: {percent:.2f} % effective; "
      f"{100 * (1 - repair_s / PERIOD_S):.1f} % if all stood during repairs, "
      f"{100 * (1 - repair_s / PERIOD_S / replicas):.1f} % if nobody else stood")
end = lines(f"{run}/events.jsonl")[-1]
wall_s = end["time"] - next(line["time"] for line in lines(f"{run}/events.jsonl") if line["event"] == "launch")
own_s = sum(end["lost_seconds"].values()) + end["effective_percent"] / 100 * wall_s
print(f"causes of the event end: {100 * own_s / wall_s:.2f} % of the wall time; lost, s: {end['lost_seconds']}")
print(f"goal percent {percent:.2f}")
print(f"goal off_paper {abs(percent - 100 * 8 / 18):.2f}")
print(f"goal off_wall_percent {abs(100 * own_s / wall_s - 100):.3f}")
