"""Workers of kinds of their own: devices, threads that share the weights, and what these take in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.groups import RATE
from hooke.catalogue.workload import Objective, Place, workload
from hooke.hardware.placing import Placed
from hooke.spec.devices import DeviceGroup
from hooke.spec.specification import Compute, RunSpec

if TYPE_CHECKING:
    from hooke.objective.hogwild import Hogwild, Interleaved


def compute_of(spec: RunSpec, placed: Compute, group: DeviceGroup | None) -> Compute:
    """Return how a rank computes, or a thread of it; `placed`: without regard to its group.

    A server beside groups is on the CPU unless the run says otherwise.
    """
    if group is None:
        return placed.model_copy(update={"device": "cpu"}) if spec.groups and placed.device == "auto" else placed
    chosen: dict[str, Any] = {} if group.precision is None else {"precision": group.precision}
    if spec.virtual is None:
        chosen["device"] = "cuda" if group.kind == "cuda" else "cpu"
    if group.kind == "hogwild-cpu" or group.threads > 1:
        chosen["threads"] = 1 if group.kind == "hogwild-cpu" else group.threads
    return placed.model_copy(update=chosen)


def shared_by_threads(
    base: Objective, make: Callable[[int], Objective], spec: RunSpec, group: DeviceGroup | None
) -> Objective:
    """Return the objective of a worker whose threads share its weights, or `base` where there are none.

    `make` returns the objective of thread 1, 2, ... of the same worker.
    """
    if group is None or not group.shares_weights:
        return base
    from hooke.objective.hogwild import Interleaved, Threads

    method = algorithm(spec.algorithm.name).model_validate(spec.algorithm.parameters)  # with its defaults
    eta = float(getattr(method, RATE))
    if spec.virtual is not None:
        return Interleaved(base, eta, group.parts, group.threads, 1 / spec.virtual.memory_bandwidth)
    return Threads(base, [make(thread) for thread in range(1, group.threads)], eta, group.parts)


def built(spec: RunSpec, rank: int, placed: Placed | None) -> Objective:
    """Return the objective of a rank: of the device, precision and threads of its group, if it has one."""
    chosen, group = workload(spec.workload.name).model_validate(spec.workload_parameters), spec.group(rank)
    compute = compute_of(spec, placed.compute(spec.compute) if placed else spec.compute, group)

    scoring = spec.compute.precision if compute.precision != spec.compute.precision else None

    def make(thread: int) -> Objective:
        return chosen.build(Place(compute, spec.seed, rank, thread, scoring))

    return shared_by_threads(make(0), make, spec, group)


def virtual_seconds(
    objective: Objective, group: DeviceGroup | None, batch: Any, draw: Callable[[int | None, bool], float]
) -> float:
    """Return the virtual seconds of the next gradient; of threads, until the last sub-batch has ended.

    `draw` returns the seconds of so many items, None: of a whole batch; True: they are more of the same one.
    """
    if group is None or not group.shares_weights:
        return draw(None, False)
    return cast("Interleaved", objective).plan([draw(len(part), k > 0) for k, part in enumerate(batch)])


def updates(objective: Objective, group: DeviceGroup | None) -> tuple[float, float]:
    """Return the L1 norms of the lost and of all updates by threads that share a rank's weights."""
    if group is None or not group.shares_weights:
        return 0.0, 0.0
    threaded = cast("Hogwild", objective)
    return threaded.lost, threaded.pushed
