"""Samples per second of a device and of the CPU beside it, by batch.

The real condition with a device is laid out by them: the split by speed, and the samples between evaluations.

`python -m benchmarks.unequal.rates` measures and prints them: the device, threads that share one vector of
weights, and one process with as many intra-op threads. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Who = Literal["device", "threads", "process", "one"]
WHO: tuple[Who, ...] = ("device", "threads", "process", "one")
"""`process`: with as many intra-op threads as there are threads; `one`: with one."""
BATCHES = tuple(2**k for k in range(14))
"""1 to 8192."""
AT_LEAST, TURNS = 0.12, 3
"""Seconds of a measurement, and steps, whichever takes longer; two steps before do not count."""
LONGEST = 1.0
"""Seconds of a step; larger batches are not measured."""
EXCHANGE = 2e-3
"""Seconds of an exchange of a worker with the server, assumed: evaluations alone are spaced by it."""
BESIDE, LEAST_THREADS = 4, 2
"""Cores for the process that feeds the device and for the server; and threads of the CPU worker at least."""


@dataclass(frozen=True)
class Rates:
    """A device, and the CPU beside it; without measured rates those of a pair with speeds 8 : 1 are assumed."""

    kind: Literal["cuda", "cpu"] = "cuda"
    """`cpu`: a process in the place of the device, to try out everything but speeds."""
    threads: int = 8
    """Of the CPU worker."""
    beside: int = 1
    """Intra-op threads of the process that feeds the device, and of the server."""
    about: Mapping[str, Any] | None = None
    """The device, the machine and the versions, in words; `notes`: sentences on how they were measured."""
    tasks: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None
    """Task -> who -> batch -> samples per second."""

    def rate(self, task: str, who: Who, batch: float) -> float:
        """Return samples per second at a batch, between measured batches by their logarithms."""
        known = (self.tasks or {}).get(task) or next(iter((self.tasks or {}).values()), None)
        if known is None:
            return 8000.0 if who == "device" else 1000.0
        who = who if who in known else "process"  # measured before there were several processes
        points = sorted((int(size), rate) for size, rate in known[who].items())
        x, xs = math.log(max(1.0, batch)), [math.log(size) for size, _ in points]
        if x >= xs[-1]:
            return points[-1][1]
        k = next(k for k in range(len(xs)) if x < xs[k + 1])
        share = (x - xs[k]) / (xs[k + 1] - xs[k])
        return math.exp((1 - share) * math.log(points[k][1]) + share * math.log(points[k + 1][1]))

    def seconds(self, task: str, who: Who, batch: float) -> float:
        """Return the seconds of a gradient."""
        return batch / self.rate(task, who, batch)

    def together(
        self, task: str, algorithm: str, alone: str, settings: Mapping[str, Any], plain: int = 0
    ) -> float:
        """Return about how many samples per second a run takes: its evaluations are spaced by them.

        `plain`: CPU workers that are processes of their own; 0: there is one, whose threads share its weights.
        """
        b, many = float(settings["batch"]), plain or 1
        who: Who = "one" if plain else "threads"

        def device(batches: float) -> float:
            return self.seconds(task, "device", batches * b)

        def cpu(batches: float) -> float:
            return self.seconds(task, who, batches * b)

        if alone:
            return b / device(1) if alone == "fastest" else many * b / (cpu(1) + EXCHANGE * (many > 1))
        if algorithm == "sync-sgd":
            return (1 + many) * b / (max(device(1), cpu(1)) + EXCHANGE)
        if algorithm == "weighted-sync-sgd":
            fast, slow = map(float, settings.get("sizes") or ((1 + many) * settings["mean"] - many, 1))
            return (fast + many * slow) * b / (max(device(fast), cpu(slow)) + EXCHANGE)
        if algorithm == "adaptive-sgd":
            return float(settings["mega_batch"]) * b / (cpu(settings["largest"]) + 2 * EXCHANGE)
        if algorithm == "heterogeneous-easgd":
            own = EXCHANGE / float(settings["period"])
            return b / (device(1) + own) + many * b / (cpu(1) + own)
        large = float(settings["largest"])
        return large * b / (device(large) + EXCHANGE) + many * b / (cpu(1) + EXCHANGE)


def read(path: Path) -> Rates:
    """Return what was measured; the assumption if there is no such file."""
    return Rates(**json.loads(path.read_text())) if path.exists() else Rates()


def write(path: Path, rates: Rates) -> None:
    """Keep what was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(rates), indent=1, sort_keys=True) + "\n")


def usual(cores: int) -> tuple[int, int]:
    """Return the threads of the CPU worker, and of the processes beside it, on so many cores."""
    return max(LEAST_THREADS, cores - BESIDE), max(1, min(BESIDE, cores // 2) // 2)


def measured(kind: str, threads: int, beside: int, tasks: Sequence[str]) -> Rates:
    """Measure in a process of its own, which leaves nothing on the device."""
    command = [sys.executable, "-m", "benchmarks.unequal.rates", "--kind", kind, "--threads", str(threads)]
    command += ["--beside", str(beside), "--tasks", *tasks]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return Rates(**json.loads(said.stdout.splitlines()[-1]))


def timed(step: Callable[[int], None], batch: int) -> float:
    """Return samples per second of steps with so many items."""
    for _ in range(2):
        step(batch)
    began, count = time.perf_counter(), 0
    while count < TURNS or time.perf_counter() - began < AT_LEAST:
        step(batch)
        count += 1
    return batch * count / (time.perf_counter() - began)


def by_batch(step: Callable[[int], None]) -> dict[str, float]:
    """Return the rates of all batches, up to those whose step would take too long."""
    found: dict[str, float] = {}
    for batch in BATCHES:
        found[str(batch)] = float(f"{timed(step, batch):.4g}")
        if 2 * batch / found[str(batch)] > LONGEST:
            break
    return found


def _measure(task: str, kind: str, threads: int, beside: int) -> dict[str, dict[str, float]]:
    import numpy as np
    import torch
    from hooke.catalogue.workload import Place, workload
    from hooke.objective.hogwild import Threads
    from hooke.spec.specification import Compute

    from benchmarks.unequal.tasks import TASKS

    what = TASKS[task].workload
    chosen = workload(what["name"]).model_validate(what["parameters"])
    random = np.random.default_rng(0)

    def built(device: str, count: int, thread: int = 0) -> Any:
        compute = Compute.model_validate({"device": device, "threads": count})
        return chosen.build(Place(compute, 0, 0, thread))

    def stepping(objective: Any, of_host: int) -> Callable[[int], None]:
        weights, gradient = objective.initial(0), objective.allocate()
        objective.bind(weights, gradient)
        torch.set_num_threads(of_host)

        def step(batch: int) -> None:
            if isinstance(objective, Threads):
                objective.parts = min(batch, threads)
            objective.gradient(objective.pick(random.integers(0, objective.train_size, batch)))
            objective.synchronize()

        return step

    found = {"device": by_batch(stepping(built(kind, beside), beside))}
    found["process"] = by_batch(stepping(built("cpu", threads), threads))
    found["one"] = by_batch(stepping(built("cpu", 1), 1))
    lanes = [built("cpu", 1, thread) for thread in range(threads)]
    found["threads"] = by_batch(stepping(Threads(lanes[0], lanes[1:], 1e-6, threads), 1))
    return found


def _about(kind: str) -> dict[str, str]:
    from importlib.metadata import version

    import torch

    from benchmarks.evidence import machine

    device = "a process on the CPU"
    if kind == "cuda":
        of = torch.cuda.get_device_properties(0)
        device = f"{of.name}, {of.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
    return {
        "device": device,
        "machine": machine.title_of(machine.hardware()),
        "torch": version("torch").partition("+")[0],
    }


def main() -> int:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.unequal.rates", description=__doc__)
    parser.add_argument("--kind", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--beside", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", default=["w8a-deep"])
    chosen = parser.parse_args()
    tasks = {task: _measure(task, chosen.kind, chosen.threads, chosen.beside) for task in chosen.tasks}
    found = Rates(chosen.kind, chosen.threads, chosen.beside, _about(chosen.kind), tasks)
    print(json.dumps(asdict(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
