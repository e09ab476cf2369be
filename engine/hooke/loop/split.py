"""Measures the workers before a run, for a method whose batches are split by measured speed.

Sizes depend on speeds, and the speed of a device on its size, because it computes all batches of a step in one
pass: the sizes of a round are those by the speeds of the round before. The clock of the run has not begun, and
what is measured is thrown away: another objective is built for it, so that no state of the run's own has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.workload import Objective
from hooke.comm.base import Comm
from hooke.loop import checkpoint
from hooke.loop.governor import Governor
from hooke.loop.passes import Passes
from hooke.methods.split import by_speed
from hooke.spec.specification import RunSpec

ROUNDS, TURNS = 4, 5
"""Rounds, and timings of a worker's batches in each, after one that does not count; the median is taken."""


def settled(
    chosen: Algorithm,
    comm: Comm,
    spec: RunSpec,
    place: Path | None,
    make: Callable[[], Objective],
    most: Sequence[int] = (),
) -> tuple[Algorithm, list[int] | None]:
    """Return the method with its sizes, and these if they are measured; collective.

    `place`: the checkpoint from which the run goes on: its sizes are not measured again. `most`: bounds of the
    sizes.
    """
    mean = chosen.unmeasured()
    if not mean:
        return chosen, None
    kept = None if place is None else checkpoint.sizes(place, comm.rank)
    sizes = kept or measured_sizes(comm, spec, mean, make, most)
    return chosen.measured(sizes), sizes


def told(sizes: Sequence[int] | None) -> dict[str, str]:
    """Return a note on measured sizes."""
    return {} if sizes is None else {"batches of a step": f"{', '.join(map(str, sizes))} by measured speed"}


def measured_sizes(
    comm: Comm, spec: RunSpec, mean: int, make: Callable[[], Objective], most: Sequence[int] = ()
) -> list[int]:
    """Return the batches of each worker's step, the same on all ranks; collective. `make`: builds an objective."""
    sizes = [mean] * spec.workers
    seconds = _simulated(spec, comm.rank) if spec.virtual is not None else _timer(spec, comm.rank, make())
    for _ in range(ROUNDS):
        own = sizes[comm.rank] if comm.rank < spec.workers else 0
        speed = own / max(seconds(own), 1e-9) if own else 0.0
        sizes = by_speed([_told(comm, speed, worker) for worker in range(spec.workers)], mean, most)
    return sizes


def _told(comm: Comm, speed: float, worker: int) -> float:
    """Return the speed that a worker has measured."""
    (found,) = comm.control.allreduce((speed if comm.rank == worker else 0.0,))
    return found


def _simulated(spec: RunSpec, worker: int) -> Callable[[int], float]:
    """Return the virtual seconds of so many batches at the beginning, without jitter; each step exchanges."""
    network, group = spec.virtual, spec.group(worker)
    assert network is not None  # noqa: S101 - the caller asked
    profile = network.profile(worker)
    threads = group.at_once(spec.batch) if group is not None else 1.0

    def seconds(batches: int) -> float:
        mean = batches * spec.batch * network.compute_seconds_per_sample / threads
        mean = mean / profile.speed + profile.overhead if profile else mean
        more = network.compute_seconds_per_step
        more += network.compute_seconds_after_exchange if spec.workers > 1 else 0.0
        return (mean + more) / network.speed(worker, 0.0)

    return seconds


def _timer(spec: RunSpec, worker: int, objective: Objective) -> Callable[[int], float]:
    """Return the measured seconds of so many batches, as in the run, sleep of a slowed worker included."""
    weights, gradient = objective.initial(spec.seed), objective.allocate()
    objective.bind(weights, gradient)
    random = np.random.default_rng([spec.seed, worker])
    governor = Governor.of(spec.group(worker), lambda: 0.0, lambda _: False)
    whole = Passes(objective.device).whole

    def compute(batches: int) -> None:
        for _ in range(1 if whole else batches):
            count = spec.batch * (batches if whole else 1)
            objective.gradient(objective.pick(random.integers(0, objective.train_size, count)))
        objective.synchronize()

    def seconds(batches: int) -> float:
        took = []
        for _ in range(1 + TURNS):
            began = time.perf_counter()
            compute(batches)
            took.append(time.perf_counter() - began)
        return float(np.median(took[1:])) / (governor.share if governor else 1.0)

    return seconds
