"""Measures the time of a gradient on this machine, as the compute time of a virtual cluster."""

from __future__ import annotations

import statistics
import time

from hooke.catalogue.workload import Objective, Place, workload
from hooke.hardware.description import cpu_model
from hooke.objective.batches import Batches
from hooke.spec.specification import RunSpec

SECONDS = 1.0
"""Minimum duration of the measurement, s, after one gradient of warm-up."""
LEAST = 9
"""Minimum number of measured gradients, for meaningful quartiles."""


def calibrated(spec: RunSpec, seconds: float = SECONDS) -> RunSpec:
    """Return a virtual run with the compute time of this machine, measured on one rank; imports torch.

    The time is the median of forward and backward over batches of the run's own size, in s per sample; its
    quartiles are in `compute_source`.
    """
    import torch

    from hooke.objective.device import threads

    if spec.virtual is None:
        raise ValueError("only a virtual run has a compute time to measure")
    chosen = workload(spec.workload.name).model_validate(spec.workload_parameters)
    torch.set_num_threads(threads(spec.compute))
    objective = chosen.build(Place(spec.compute, spec.seed, 0))
    taken = [each / spec.batch for each in _gradients(objective, spec, seconds)]
    low, middle, high = statistics.quantiles(taken, n=4, method="inclusive")
    source = (
        f"measured on {threads(spec.compute)} thread(s) of {cpu_model()[:60]}: median of {len(taken)} batches of "
        f"{spec.batch}, quartiles {low * 1e6:.4g} to {high * 1e6:.4g} us"
    )
    # the measured time is that of whole batches: nothing is left per step
    update = {"compute_seconds_per_sample": middle, "compute_source": source, "compute_seconds_per_step": 0.0}
    return spec.model_copy(update={"virtual": spec.virtual.model_copy(update=update)})


def _gradients(objective: Objective, spec: RunSpec, seconds: float) -> list[float]:
    """Return the seconds of each gradient."""
    wait = objective.synchronize
    objective.bind(objective.initial(spec.seed), objective.allocate())
    batches = Batches(objective.train_size, spec.batch, spec.seed, 0, 1, "iid")
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) <= LEAST or time.perf_counter() - began < seconds:
        batch = objective.pick(batches.next())
        wait()
        started = time.perf_counter()
        objective.gradient(batch)
        wait()
        taken.append(time.perf_counter() - started)
    return taken[1:]
