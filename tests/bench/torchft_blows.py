"""The blows of replicas_figures.py to torchft's replicas on this host's CPUs, for the same table.

  torchft_blows.py [--replicas 8] [--blows 5] [--timeout 5]

Each replica is a process: a quorum, 192 ms of sleep for the passes, an all-reduce over gloo of two numbers, and the vote.
--timeout: seconds of torchft's collectives, 60 by default there; its quorums keep their 60. The lighthouse takes a second of
silence for death, as `dead_ms` here. A killed replica is started again at once, a stopped one after the survivors have gone on.
"""
import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta

STEP_S = 0.192
PATIENCE_S = 60  # twelve of its timeouts


def work(number, folder, timeout_s):
    import torch
    import torch.distributed as dist
    from torchft import Manager, ProcessGroupGloo

    state = {"weights": torch.zeros(2)}
    timeout = timedelta(seconds=timeout_s)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(pg=ProcessGroupGloo(timeout=timeout), min_replica_size=1, load_state_dict=state.update,
                      state_dict=lambda: dict(state), replica_id=f"replica_{number}", store_addr="127.0.0.1",
                      store_port=store.port, rank=0, world_size=1, timeout=timeout, hostname="127.0.0.1")
    with open(f"{folder}/{number}.log", "a") as log:
        while True:
            manager.start_quorum()
            time.sleep(STEP_S)
            manager.allreduce(torch.ones(2)).wait()
            committed = manager.should_commit()
            print(time.time(), manager.current_step(), manager.num_participants(), int(committed), file=log, flush=True)


class Run:
    def __init__(self, folder, replicas, timeout_s, lighthouse):
        self.folder, self.replicas, self.timeout_s = folder, replicas, timeout_s
        self.environment = dict(os.environ, TORCHFT_LIGHTHOUSE=lighthouse, PYTHONWARNINGS="ignore", OMP_NUM_THREADS="1")
        self.processes = {}
        for number in range(replicas):
            self.start(number)

    def start(self, number):
        self.processes[number] = subprocess.Popen(
            [sys.executable, __file__, "--work", str(number), "--folder", self.folder, "--timeout", str(self.timeout_s)],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=open(f"{self.folder}/{number}.err", "a"))

    def commits(self, number):
        try:
            with open(f"{self.folder}/{number}.log") as log:
                lines = [line.split() for line in log if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [(float(at), int(count)) for at, _, count, committed in lines if committed == "1"]

    def await_steady(self):
        end = time.time() + 180
        while time.time() < end:
            last = [self.commits(number)[-8:] for number in range(self.replicas)]
            if all(len(c) == 8 and c[-1][0] > time.time() - 1 and all(n == self.replicas for _, n in c) for c in last):
                return
            time.sleep(0.1)
        sys.exit("torchft does not become steady")

    def blow(self, kind):
        """Seconds that a survivor took from its last commit before the blow to the next, less a step."""
        victim = random.randrange(self.replicas)
        watched = (victim + 1) % self.replicas
        self.await_steady()
        time.sleep(random.random() * STEP_S)
        at = time.time()
        self.processes[victim].send_signal(kind)
        while not [c for c in self.commits(watched) if c[0] > at + 2 * STEP_S and c[1] < self.replicas]:
            if self.processes[watched].poll() is not None:
                sys.exit(f"torchft: a survivor of {kind.name} ended with {self.processes[watched].returncode}")
            if time.time() > at + PATIENCE_S:
                sys.exit(f"torchft: a survivor of {kind.name} has not gone on within {PATIENCE_S} s")
            time.sleep(0.05)
        self.processes[victim].kill()
        self.processes[victim].wait()
        times = [c[0] for c in self.commits(watched)]
        self.start(victim)
        return max(b - a for a, b in zip(times, times[1:]) if b > at) - STEP_S

    def end(self):
        for process in self.processes.values():
            process.kill()


def main(options):
    from torchft.coordination import LighthouseServer

    random.seed(1)
    lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=1, join_timeout_ms=1000, heartbeat_timeout_ms=1000)
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder, options.replicas, options.timeout, lighthouse.address())
        try:
            for kind in (signal.SIGKILL, signal.SIGSTOP):
                stalls = [run.blow(kind) for _ in range(options.blows)]
                print(f"torchft, {options.replicas} replicas, timeout {options.timeout} s: survivors stand after {kind.name}: "
                      f"median {1000 * statistics.median(stalls):.0f} ms, worst {1000 * max(stalls):.0f} ms ({len(stalls)})",
                      flush=True)
        finally:
            run.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--blows", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=5)
    parser.add_argument("--work", type=int)
    parser.add_argument("--folder")
    chosen = parser.parse_args()
    if chosen.work is None:
        main(chosen)
    else:
        work(chosen.work, chosen.folder, chosen.timeout)
