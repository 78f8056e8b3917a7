"""What the scripts of this folder read of a run: its lines of JSON, and the processes of its replicas."""
import json
import subprocess


def lines(file):
    """The whole lines of a file; none where there is no such file."""
    try:
        with open(file) as opened:
            return [json.loads(line) for line in opened if line.endswith("\n")]
    except FileNotFoundError:
        return []


def events(run, *names):
    return [line for line in lines(f"{run}/events.jsonl") if line.get("event") in names]


def ranks_of(run, replica):
    """The processes of a replica's ranks, below the one that launch.json names: a warm spare keeps its command line."""
    with open(f"{run}/launch.json") as file:
        below = [known["pid"] for known in json.load(file)["replicas"] if known["replica"] == replica]
    ranks = []
    while below:
        pid = below.pop()
        try:
            with open(f"/proc/{pid}/comm") as comm:
                is_rank = comm.read().strip() == "tenax"
        except FileNotFoundError:
            continue
        if is_rank:
            ranks.append(pid)
        else:
            below += map(int, subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split())
    return sorted(ranks)


def spares_ready(run):
    """How often warm spare 0 has become ready."""
    try:
        with open(f"{run}/spare-0/log") as log:
            return log.read().count("waits for a replica's place")
    except FileNotFoundError:
        return 0
