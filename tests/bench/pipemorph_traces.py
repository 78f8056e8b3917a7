#!/usr/bin/env python3
"""Makes the link-delay traces of inputs/pipemorph (seconds,delay_ms), which are committed: equal on every machine.

    python3 tests/bench/pipemorph_traces.py inputs/pipemorph

a, b, c: PipeMorph (NSDI 2026), Figure 18: a delay from N(30, 10) ms for U(50, 100), U(100, 200), U(200, 400) ms, on each of
three links. hour: like Figure 22's hour of a production job, whose numbers are a median of 13, a mean of 22.3 and a 99th
percentile of 79.3 ms: bursts of congestion on a quieter floor; time and delay divided by 10.
"""
import math
import random
import statistics
import sys


def write(path, comment, points):
    with open(path, "w") as file:
        file.write(f"# {comment}\nseconds,delay_ms\n")
        file.writelines(f"{seconds:.3f},{delay:.2f}\n" for seconds, delay in points)


def figure_18(random, low_ms, high_ms, length_s=24):
    points, now = [], 0.0
    while now < length_s:
        points.append((now, max(0.0, random.gauss(30, 10))))
        now += random.uniform(low_ms, high_ms) / 1000
    return points


def congestion(share):
    """The delay (ms) that a share of the hour stays below: a Weibull tail, cut off where queues are full."""
    return min(79.3, 0.5 + 12.5 * (math.log(1 / (1 - share)) / math.log(2)) ** 1.35)


def hour(random, length_s=360.0, scale=0.1):
    """A value every second of the hour: noise with a memory of a minute, given the distribution of congestion()."""
    count, level, memory, noise = int(length_s / scale), 0.0, 1 - 1 / 60, []
    for _ in range(count):
        level = memory * level + math.sqrt(1 - memory ** 2) * random.gauss(0, 1)
        noise.append(level + 0.25 * random.gauss(0, 1))
    delays = [0.0] * count
    for rank, second in enumerate(sorted(range(count), key=noise.__getitem__)):
        delays[second] = congestion((rank + 0.5) / count)
    return [(second * scale, delay * scale) for second, delay in enumerate(delays)]


def main(folder):
    for name, low, high in (("a", 50, 100), ("b", 100, 200), ("c", 200, 400)):
        for link in range(3):
            write(f"{folder}/trace-{name}-{link}.csv", f"trace {name.upper()} of Figure 18, link {link}",
                  figure_18(random.Random(f"{name}{link}"), low, high))
    points = hour(random.Random("hour"))
    write(f"{folder}/trace-hour.csv", "an hour of a production job's link, time and delay divided by 10", points)
    delays = sorted(10 * delay for _, delay in points)
    print(f"hour: median {statistics.median(delays):.1f}, mean {statistics.mean(delays):.1f}, "
          f"99th percentile {delays[int(0.99 * len(delays))]:.1f} ms")


main(sys.argv[1])
