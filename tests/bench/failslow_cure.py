"""What was done against faults, for failslow_cure.sh.

  failslow_cure.py optimum DATA FACTOR SLOW MICROBATCHES   a healthy run's iterations: 1; the best split's, with SLOW pipelines
                                                           FACTOR times as slow, filling and sums left out
  failslow_cure.py ratio RUNDIR FROM TO                    median of the last 16 steps of FROM to TO / median of those before FROM
  failslow_cure.py actions RUNDIR                          what was done, one line
  failslow_cure.py bought RUNDIR                           status 1 if an action was taken before its cost was lost
  failslow_cure.py out_of_order RUNDIR STRATEGY…           how many of the strategies were not applied first in this order
  failslow_cure.py timeline RUNDIR…                        what happened when, and how fast the run was from then on
  failslow_cure.py without DECK                            overrides that make the deck's faults harmless, one a line
  failslow_cure.py told RUNDIR                             each fault of the run's deck: when it was named, and had healed
  failslow_cure.py compare HEALTHY NONE ALL                run directories of one deck: NAME VALUE a line
"""
import statistics
import sys
import tomllib

from run_files import events, lines

WARM_UP, SETTLED = 8, 16


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


def settled(run, end):
    return statistics.median(seconds(run, end - SETTLED, end))


def ratio(run, first, end):
    return settled(run, end) / statistics.median(seconds(run, WARM_UP, first))


def shown(event):
    for name in ("microbatches", "order", "rank_of_position"):
        if name in event:
            return " ".join(str(value) for value in event[name])
    return ""


def action(event):
    return f'{"back from " if event["event"] == "revert" else ""}{event["strategy"]} ({shown(event)})'


def actions(run):
    return "; ".join(f'{event["step"]}: {action(event)}' for event in events(run, "mitigate", "revert")) or "nothing done"


def bought(run):
    return all(0 < event["expected_cost_seconds"] <= event["lost_seconds"] for event in events(run, "mitigate"))


def out_of_order(run, strategies):
    done = list(dict.fromkeys(event["strategy"] for event in events(run, "mitigate")))
    return sum(one != other for one, other in zip(done, strategies)) + abs(len(done) - len(strategies))


def name_of(component):
    return f'rank {component["rank"]}' if component["kind"] == "rank" else f'link {"-".join(map(str, component["ranks"]))}'


def happening(event):
    if event["event"] in ("mitigate", "revert"):
        return action(event)
    named = event.get("components", [event] if event["event"] == "healed" else [])
    return f'{event["event"]} {", ".join(name_of(component) for component in named)}'.strip()


def timeline(runs):
    """Seconds of training, which pauses between steps are not part of."""
    before_s = 0
    for run in runs:
        steps = [line for line in lines(f"{run}/metrics.jsonl") if "iteration_seconds" in line]
        told = [{"step": steps[0]["step"], "event": "start"}] + sorted(
            events(run, "onset", "relief", "fail_slow", "healed", "mitigate", "revert", "end"), key=lambda event: event["step"])
        for event, after in zip(told, told[1:] + [{"step": steps[-1]["step"] + 1}]):
            at_s = before_s + sum(line["seconds"] for line in steps if line["step"] < event["step"])
            stretch = [line["iteration_seconds"] for line in steps if event["step"] <= line["step"] < after["step"]]
            pace = f"{1 / statistics.median(stretch):5.1f} iterations/s" if stretch else ""
            print(f'{at_s:7.1f} s  step {event["step"]:4d}  {pace:18s}  {happening(event)}')
        before_s += sum(line["seconds"] for line in steps)


def faults_of(deck):
    with open(deck, "rb") as opened:
        return tomllib.load(opened).get("inject", [])


def without(deck):
    for i, fault in enumerate(faults_of(deck)):
        yield f"inject.{i}.factor=1" if fault["kind"] == "slow_compute" else f"inject.{i}.delay_ms=0"


def is_of(component, fault):
    if fault["kind"] == "slow_compute":
        return component["kind"] == "rank" and component["rank"] == fault["rank"]
    return component["kind"] == "link" and sorted(component["ranks"]) == sorted(fault["ranks"])


def first_of(run, name, fault, begin, end):
    """Of such events in these steps the first one about the fault."""
    for event in events(run, name):
        components = event.get("components", [event])
        if begin <= event["step"] < end and any(is_of(component, fault) for component in components):
            return event
    return None


def named(run, fault):
    return first_of(run, "fail_slow", fault, fault["from_step"], fault["to_step"] + 4)


def told(run):
    for fault in faults_of(f"{run}/deck.toml"):
        what = f'rank {fault["rank"]} x{fault["factor"]}' if fault["kind"] == "slow_compute" else \
            f'link {fault["ranks"][0]}-{fault["ranks"][1]} {fault["delay_ms"]} ms'
        found, healed = named(run, fault), first_of(run, "healed", fault, fault["to_step"], 10**9)
        print(f'{what}, steps {fault["from_step"]} to {fault["to_step"]}: ' +
              (f'named at {found["step"]}, {found["reaction_seconds"]:.1f} s' if found else "NOT NAMED") + ", " +
              (f'healed at {healed["step"]}' if healed else "NOT HEALED"))


def false_components(run):
    """Of what is named, all that no fault held for at that time or shortly before."""
    faults = faults_of(f"{run}/deck.toml")
    return sum(not any(is_of(component, fault) and fault["from_step"] <= event["step"] < fault["to_step"] + SETTLED for fault in faults)
               for event in events(run, "fail_slow") for component in event["components"])


def wall_s(run):
    return events(run, "end")[-1]["time"] - events(run, "start")[0]["time"]


def left(run):
    """Strategies whose last application was not taken back."""
    last = {(event["strategy"], *(map(name_of, event["components"]) if event["strategy"] == "ring" else ())): event["event"]
            for event in events(run, "mitigate", "revert")}
    return sum(event == "mitigate" for event in last.values())


def overlap_ends(run):
    faults = faults_of(f"{run}/deck.toml")
    return sorted({min(one["to_step"], other["to_step"]) for i, one in enumerate(faults) for other in faults[i + 1:]
                   if max(one["from_step"], other["from_step"]) < min(one["to_step"], other["to_step"])})


def compare(healthy, none, done):
    healthy_s, none_s, done_s = wall_s(healthy), wall_s(none), wall_s(done)
    reactions = [found["reaction_seconds"] for fault in faults_of(f"{done}/deck.toml") if (found := named(done, fault))]
    lost = [[100 * (1 - settled(healthy, end) / settled(run, end)) for end in overlap_ends(done)] for run in (none, done)]
    yield "missed", sum(named(done, fault) is None for fault in faults_of(f"{done}/deck.toml"))
    yield "false", false_components(done)
    yield "reaction_s", statistics.mean(reactions) if reactions else 0
    yield "none_percent", 100 * healthy_s / none_s
    yield "healthy_percent", 100 * healthy_s / done_s
    yield "gain", none_s / done_s
    yield "recovered_percent", 100 * (1 / done_s - 1 / none_s) / (1 / healthy_s - 1 / none_s)
    for at, percent in enumerate(lost[0]):
        yield f"overlap_{at}_none_percent", percent
    yield "overlap_percent", max(lost[1])
    yield "left", left(done)


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
    elif command == "out_of_order":
        print(out_of_order(arguments[0], arguments[1:]))
    elif command == "timeline":
        timeline(arguments)
    elif command == "without":
        print(*without(arguments[0]), sep="\n")
    elif command == "told":
        told(arguments[0])
    elif command == "compare":
        for name, value in compare(*arguments):
            print(name, f"{value:.4g}")
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
