"""What was done where nothing should have been, for failslow_harmless.sh.

  failslow_harmless.py unnamed RUNDIR   how many things were done before any fail_slow had named somebody, or more than that names
  failslow_harmless.py twice RUNDIR     how often a strategy made matters worse again that had been undone for it
  failslow_harmless.py told RUNDIR      how many events there are of what is slow and of what is done
"""
import collections
import json
import sys

TOLD = ("onset", "relief", "validation", "fail_slow", "healed", "mitigate", "revert")


def events(run):
    with open(f"{run}/events.jsonl") as opened:
        return [json.loads(line) for line in opened if line.endswith("\n")]


def place(component):
    return tuple(sorted(component["ranks"])) if component["kind"] == "link" else component["rank"]


def places(event):
    return frozenset(place(component) for component in event.get("components", []))


def unnamed(run):
    """A `mitigate` is written when what it achieved is known; its step is the first under it."""
    told, count = events(run), 0
    for event in told:
        if event["event"] != "mitigate":
            continue
        named = frozenset().union(*(places(other) for other in told
                                    if other["event"] == "fail_slow" and other["step"] < event["step"]))
        count += not places(event) or not places(event) <= named
    return count


def twice(run):
    undone = collections.Counter((event["strategy"], places(event)) for event in events(run)
                                 if event["event"] == "revert" and event["reason"] == "worse")
    return sum(count - 1 for count in undone.values())


def main(command, run):
    if command == "unnamed":
        print(unnamed(run))
    elif command == "twice":
        print(twice(run))
    elif command == "told":
        print(sum(event["event"] in TOLD for event in events(run)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
