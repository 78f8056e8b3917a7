"""Figures of runs under tenax launch, for spares.sh.

  spares_figures.py spares RUNDIR PID WARM BLOWS   kills replica 1 of the running supervisor PID's so often; prints for each the seconds
                                                   from its loss to its join, without the state's transfer
  spares_figures.py crossings RUNDIR ZONE...       how often the ring of the first epoch crosses from zone to zone
  spares_figures.py rings N                        all rings of N, one a line
"""
import itertools
import os
import signal
import sys
import time

from run_files import events, lines, ranks_of, spares_ready


def is_steady(run, spares):
    since, members = 0, 0
    for line in lines(f"{run}/ledger.jsonl"):
        members = len(line["members"]) if "members" in line else members
        since = 0 if "members" in line else since + ("squares" in line)
    return members == 2 and since >= 8 and spares_ready(run) >= spares


def await_that(holds, supervisor):
    end = time.time() + 90
    while not holds():
        os.kill(supervisor, 0)
        if time.time() > end:
            sys.exit("the run does not become steady")
        time.sleep(0.05)


def spares(run, supervisor, warm, blows):
    for blow in range(blows):
        await_that(lambda: is_steady(run, (blow + 1) * warm), supervisor)
        os.kill(ranks_of(run, 1)[0], signal.SIGKILL)
        await_that(lambda: len(events(run, "replica_join")) > blow, supervisor)
    os.kill(supervisor, signal.SIGUSR1)
    for lost, joined in zip(events(run, "replica_lost"), events(run, "replica_join")):
        print(f"{joined['time'] - lost['time'] - joined['state_seconds']:.3f}")


def crossings(run, zones):
    ring = next(line for line in lines(f"{run}/ledger.jsonl") if "members" in line)["members"]
    ring = [zones[member[0]] for member in ring]
    print(sum(one != other for one, other in zip(ring, ring[1:] + ring[:1])))


if sys.argv[1] == "spares":
    spares(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
elif sys.argv[1] == "crossings":
    crossings(sys.argv[2], sys.argv[3:])
else:
    for order in itertools.permutations(range(1, int(sys.argv[2]))):
        if order[0] < order[-1]:
            print(0, *order)
