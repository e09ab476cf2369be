"""What one request takes of the coordinator's processor: the server of a method, with so many workers.

    python -m benchmarks.unequal.coordinating [--workers 2 32 128] [--before FOLDER]

The server runs as in a real run, with its journal and its words over MPI; what the workers would send comes from
the same process, as soon as the request before is done, and is not counted. Vectors are not sent, and the model is
tiny. Processor time hardly depends on other load of the machine. `--before`: a checkout of another version, which
is measured in turn with this one, in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.store import ROOT

METHODS = {
    "adaptive-sgd": {"largest": 1, "scaling": 0.0, "mega_batch": 10**6, "at_once": 1e-9},
    "hogbatch": {"largest": 1},
    "heterogeneous-easgd": {"period": 1, "longest": 1},
}
"""A step of one batch for each request."""
REQUESTS, REPEATS, TURNS = 4000, 3, 3
TINY = {"hidden1": 2, "hidden2": 2}
Seconds = dict[str, dict[str, float]]
"""By method: processor seconds of a request as a whole, and `replied`, of it until the reply is sent."""


class Words:
    """The server's control words; what workers say is sent to itself, and read again where it answers them."""

    def __init__(self, workers: int, control: Any, brings: bool) -> None:
        self._control, self._brings = control, brings
        self._asking = deque((worker, True) for worker in range(workers))
        """Who asks next, and whether it does not rather take its leave."""
        self._steps = [0] * workers
        self._began: float | None = None
        self._apart = self.whole = self.replied = 0.0
        self.count = 0

    def recv(self, source: int = -1) -> tuple[int, tuple[float, ...]]:
        """Return what the next worker says."""
        from hooke.loop.server_worker import FAREWELL, REQUEST

        self._end()
        worker, asks = self._asking.popleft()
        kind = REQUEST if asks else FAREWELL
        self._control.send((kind, float(self._steps[worker]), 0.5, float(self._brings)), 0)
        self._began, self._apart = time.process_time(), 0.0
        return worker, self._control.recv(source)[1]

    def send(self, words: tuple[float, ...], to: int) -> None:
        """Send words, and let the worker go on."""
        from hooke.loop.server_worker import LAST, MORE

        self._control.send(words, 0)
        sent = time.process_time()
        self._control.recv(0)
        if words[1] in (MORE, LAST) and self._began is not None:
            self.replied += sent - self._began - self._apart
            self.count += 1
            self._steps[to] += int(words[0])
            self._asking.append((to, words[1] == MORE))
        self._apart += time.process_time() - sent

    def poll(self, source: int = -1) -> None:
        """Return that nothing has arrived."""

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        """Return what this rank adds."""
        self._end()
        return words

    def without(self, ranks: Sequence[int]) -> None:
        """Do nothing: none is gone."""

    def _end(self) -> None:
        if self._began is not None:
            self.whole += time.process_time() - self._began - self._apart
        self._began = None


class Alone:
    """The server's communicator, whose vectors arrive and leave at once."""

    def __init__(self, workers: int, words: Words) -> None:
        from hooke.comm.base import Traffic

        self.rank, self.size, self.control = workers, workers + 1, words
        self.traffic, self.implementation = Traffic(), "a server alone"

    def clock(self) -> float:
        """Return seconds."""
        return time.perf_counter()

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing."""

    charge = pause = barrier = broadcast = send = allreduce = _nothing

    def recv(self, into: Any, source: int, tag: int = 0) -> Any:
        """Return that a vector has arrived."""
        from hooke.comm.base import Message

        del into, tag
        return Message(source)


def requests(name: str, workers: int) -> tuple[float, float]:
    """Return the processor seconds of a request, as a whole and until the reply is sent."""
    from hooke.catalogue.validation import validate_run
    from hooke.catalogue.workload import workload
    from hooke.comm.mpi.communicator import MpiComm
    from hooke.loop.train import train_rank

    from benchmarks.core._objectives import Weightless

    document = {
        "workload": {"name": "digits-mlp", "parameters": TINY},
        "algorithm": {"name": name, "parameters": METHODS[name]},
        "batch": 32,
        "sharding": "dispatched",
        "workers": workers,
        "budget": {"samples": 32 * REQUESTS},
        "evaluation": {"every": 10**9},
        "checkpoint": "never",
    }
    world = MpiComm("tree")
    words = Words(workers, world.control, name != "adaptive-sgd")
    with tempfile.TemporaryDirectory() as folder:
        objective, server = Weightless(workload("digits-mlp")(**TINY).build()), Alone(workers, words)
        train_rank(server, validate_run(document), Path(folder), objective)  # type: ignore[arg-type]
    world.close()
    return words.whole / words.count, words.replied / words.count


def once(workers: int) -> Seconds:
    """Return the least of some repetitions, of every method."""
    found: Seconds = {}
    for name in METHODS:
        wholes, replied = zip(*(requests(name, workers) for _ in range(REPEATS)), strict=True)
        found[name] = {"whole": min(wholes), "replied": min(replied)}
    return found


def of_version(folder: Path, workers: int) -> Seconds:
    """Return what `once` finds with the engine of a checkout, in a process of its own."""
    paths = os.pathsep.join([str(folder / "engine"), str(ROOT)])
    command = [sys.executable, "-m", "benchmarks.unequal.coordinating", "--once", "--workers", str(workers)]
    ended = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, check=True, stdout=subprocess.PIPE, text=True
    )
    found: Seconds = json.loads(ended.stdout.splitlines()[-1])
    return found


def compared(before: Path | None, workers: int) -> Mapping[str, Mapping[str, float]]:
    """Return, by method, the least microseconds, and with another version those of it and the median ratio."""
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs += [] if before is None else [of_version(before, workers)]
        ours.append(of_version(ROOT, workers))
    found: dict[str, dict[str, float]] = {}
    for name in METHODS:
        row = found[name] = {}
        for what in ("whole", "replied"):
            row[what] = round(1e6 * min(each[name][what] for each in ours), 1)
            if theirs:
                row[f"{what}, before"] = round(1e6 * min(each[name][what] for each in theirs), 1)
                ratios = [a[name][what] / b[name][what] for a, b in zip(theirs, ours, strict=True)]
                row[f"{what}, ratio"] = round(statistics.median(ratios), 2)
    return found


def main() -> int:
    """Measure, and print a line for each number of workers."""
    parser = argparse.ArgumentParser(prog="benchmarks.unequal.coordinating", description=__doc__)
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 32, 128])
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    parser.add_argument("--once", action="store_true", help="this version alone, in this process, in seconds")
    options = parser.parse_args()
    for workers in options.workers:
        found = once(workers) if options.once else {"workers": workers, "us": compared(options.before, workers)}
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
