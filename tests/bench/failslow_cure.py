"""What was done against faults, for failslow_cure.sh.

  failslow_cure.py optimum DATA FACTOR SLOW MICROBATCHES   a healthy run's iterations: 1; the best split's, with SLOW pipelines
                                                           FACTOR times as slow, filling and sums left out
  failslow_cure.py ratio RUNDIR FROM TO                    median of the last 16 steps of FROM to TO / median of those before FROM
  failslow_cure.py actions RUNDIR                          what was done, one line
  failslow_cure.py bought RUNDIR                           status 1 if an action was taken before its cost was lost
"""
import json
import statistics
import sys

WARM_UP = 8


def lines(file):
    with open(file) as opened:
        return [json.loads(line) for line in opened if line.endswith("\n")]


def events(run, *names):
    return [line for line in lines(f"{run}/events.jsonl") if line.get("event") in names]


def optimum(data, factor, slow, microbatches):
    """min max m_i t_i over sum m_i = data x microbatches, by trying what a slow pipeline keeps."""
    if slow in (0, data):
        return 1.0 if slow == 0 else factor
    best = factor * microbatches
    for kept in range(1, microbatches + 1):
        others = -(-(data * microbatches - slow * kept) // (data - slow))
        best = min(best, max(factor * kept, others))
    return best / microbatches


def seconds(run, first, end):
    return [line["iteration_seconds"] for line in lines(f"{run}/metrics.jsonl")
            if "iteration_seconds" in line and first <= line["step"] < end]


def ratio(run, first, end):
    return statistics.median(seconds(run, end - 16, end)) / statistics.median(seconds(run, WARM_UP, first))


def shown(event):
    for name in ("microbatches", "order", "rank_of_position"):
        if name in event:
            return " ".join(str(value) for value in event[name])
    return ""


def actions(run):
    told = [f'{event["step"]}: {"back from " if event["event"] == "revert" else ""}{event["strategy"]} ({shown(event)})'
            for event in events(run, "mitigate", "revert")]
    return "; ".join(told) or "nothing done"


def bought(run):
    return all(0 < event["expected_cost_seconds"] <= event["lost_seconds"] for event in events(run, "mitigate"))


def main(command, *arguments):
    if command == "optimum":
        data, factor, slow, microbatches = arguments
        print(f"{optimum(int(data), float(factor), int(slow), int(microbatches)):.4f}")
    elif command == "ratio":
        print(f"{ratio(arguments[0], int(arguments[1]), int(arguments[2])):.4f}")
    elif command == "actions":
        print(actions(arguments[0]))
    elif command == "bought":
        return 0 if bought(arguments[0]) else 1
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
