"""Measurement of a workload's gradients: rate, spread, and the overhead of a step in the training loop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from hooke.calibration import exchanging, updating
from hooke.calibration.documents import ROUNDS, BatchTime, ComputeRate, Duration
from hooke.calibration.fitting import BLOCK, block_mean, estimate, jitter, line
from hooke.calibration.request import WorkloadRequest
from hooke.calibration.sharing import outnumber_cores
from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.workload import Objective, Place, workload
from hooke.objective.batches import Batches
from hooke.spec.specification import Compute, RunSpec

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

BATCHES = (8, 32, 128)
LOOP_BATCH = 32
LOCAL = {"lr": 1e-4, "period": 10_000}
"""Local SGD whose ranks exchange nothing but decisions within the steps of a measurement."""
_MOST_BLOCKS = 64
_SHARE_LOOP, _SHARE_ALONE, _SHARE_EXCHANGING, _SHARE_UPDATING = 0.2, 0.1, 0.35, 0.05
"""Shares of the time: the training loop, gradients of one rank alone, all-reduces among gradients, AdamW."""


def measure(comm: MpiComm, wanted: WorkloadRequest, seconds: float) -> ComputeRate | None:
    """Time gradients on all ranks at once within about `seconds`; None on all ranks but 0."""
    import torch

    torch.set_num_threads(1)
    options = Compute(device="auto", precision=wanted.precision)
    chosen = workload(wanted.name).model_validate(wanted.parameters)
    objective = chosen.build(Place(options, 0, comm.rank))
    gradient = objective.allocate()
    objective.bind(objective.initial(0), gradient)
    elements = int(gradient.numel())
    share = seconds * (1 - _SHARE_LOOP - _SHARE_ALONE - _SHARE_EXCHANGING - _SHARE_UPDATING) / ROUNDS
    series: dict[int, list[Any]] = {batch: [] for batch in BATCHES}
    alone: list[list[float]] = []
    for _ in range(ROUNDS):
        for batch in BATCHES:
            part = 0.5 if batch == LOOP_BATCH else 0.25
            series[batch].append(_series(comm, objective, batch, share * part))
        taken = _series(comm, objective, LOOP_BATCH, seconds * _SHARE_ALONE / ROUNDS, only=0)
        alone.append(block_mean(taken[:1])[0])
    loop = [_loop(comm, wanted, objective, seconds * _SHARE_LOOP / ROUNDS) for _ in range(ROUNDS)]
    batches = Batches(objective.train_size, LOOP_BATCH, 0, comm.rank, comm.size, "iid")

    def compute() -> None:
        objective.gradient(objective.pick(batches.next()))
        objective.synchronize()

    objective.bind(objective.initial(0), gradient)
    among = exchanging.measure(comm, compute, gradient, seconds * _SHARE_EXCHANGING)
    adamw = updating.measure(comm, compute, gradient, seconds * _SHARE_UPDATING)
    oversubscribed = outnumber_cores(comm)
    if comm.rank != 0:
        return None
    points = [_batch_time(batch, found, oversubscribed) for batch, found in series.items()]
    fitted = line([1.0] * len(points), [float(p.batch) for p in points], points)
    assert fitted is not None  # noqa: S101 - there are three batches
    return ComputeRate(
        workload=wanted.name,
        parameters=wanted.parameters,
        precision=wanted.precision,
        elements=elements,
        points=points,
        line=fitted,
        alone=estimate(alone),
        loop=estimate(loop),
        loop_batch=LOOP_BATCH,
        accesses=algorithm("local-sgd").model_validate(LOCAL).vector_accesses(server=False),
        jitter=jitter(np.concatenate(series[LOOP_BATCH], axis=1)),
        adamw=adamw,
        exchanging=among,
    )


def _batch_time(batch: int, rounds: list[Any], oversubscribed: bool = False) -> BatchTime:
    """Return the usual time of a gradient: the median over blocks of steps of their means, over all ranks.

    `oversubscribed`: ranks share cores, so a block is all steps of a round: in a shorter one a rank may have its
    core for itself, or wait for it most of the time.
    """
    blocks = [block_mean(taken, taken.shape[1] if oversubscribed else BLOCK) for taken in rounds]
    means = [[value for rank in found for value in rank] for found in blocks]
    found: Duration = estimate(means)
    return BatchTime(**found.model_dump(), batch=batch)


def _series(comm: MpiComm, objective: Objective, batch: int, seconds: float, only: int | None = None) -> Any:
    """Return the seconds of gradients, shape (ranks, steps); equally many on all ranks, side by side.

    `only`: the rank that computes while the others wait.
    """
    batches = Batches(objective.train_size, batch, 0, comm.rank, comm.size, "iid")
    mine = only in (None, comm.rank)
    once = max(_gradients(objective, batches, 3)[1:]) if mine else 0.0
    once = comm.control.allreduce((once,))[0] / (comm.size if only is None else 1)
    blocks = max(2, min(_MOST_BLOCKS, int(seconds / once / BLOCK)))
    comm.barrier()
    taken = np.array(_gradients(objective, batches, blocks * BLOCK) if mine else [0.0] * blocks * BLOCK)
    comm.barrier()
    found = np.empty((comm.size, len(taken)))
    comm.world.Allgather(taken, found)
    return found if only is None else found[only : only + 1]


def _gradients(objective: Objective, batches: Batches, count: int) -> list[float]:
    wait, taken = objective.synchronize, []
    for _ in range(count):
        wait()
        began = time.perf_counter()
        objective.gradient(objective.pick(batches.next()))
        wait()
        taken.append(time.perf_counter() - began)
    return taken


def _loop(comm: MpiComm, wanted: WorkloadRequest, objective: Objective, seconds: float) -> list[float]:
    """Return the seconds of a step in the training loop, one value per rank: Local SGD that never averages."""
    from hooke.comm.mpi.communicator import MpiComm as World
    from hooke.loop.train import train_rank

    batches = Batches(objective.train_size, LOOP_BATCH, 0, comm.rank, comm.size, "iid")
    once = comm.control.allreduce((min(_gradients(objective, batches, 3)),))[0] / comm.size
    steps = max(8, min(4000, int(seconds / once)))
    world = World("tree", comm.world)
    done = train_rank(world, _local(wanted, steps, comm.size), objective=objective).done
    world.close()
    taken = np.array([done.clock / done.step])
    found = np.empty(comm.size)
    comm.world.Allgather(taken, found)
    times: list[float] = found.tolist()
    return times


def _local(wanted: WorkloadRequest, steps: int, workers: int) -> RunSpec:
    samples = steps * LOOP_BATCH * workers
    return RunSpec.model_validate(
        {
            "workload": {"name": wanted.name, "parameters": wanted.parameters},
            "algorithm": {"name": "local-sgd", "parameters": LOCAL},
            "batch": LOOP_BATCH,
            "workers": workers,
            "budget": {"samples": samples},
            "evaluation": {"every": samples},
            "compute": {"precision": wanted.precision},
            "checkpoint": "never",
        }
    )
