"""One worker's loop compared with a plain PyTorch loop, in samples per processor second.

The plain loop gathers the same batches, uses the same memory format for the convolutions, and steps with
torch.optim.SGD. Both are measured alternately; the best of several rounds counts.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from hooke.catalogue.validation import validate_run
from hooke.comm.mpi.communicator import MpiComm
from hooke.loop.train import train_rank
from hooke.objective.batches import Batches
from hooke.objective.flat import FlatObjective
from hooke.spec.specification import RunSpec
from torch import nn

from benchmarks.core._objectives import Timed, items_of, make_digits, make_lenet

Result = tuple[str, float, str, float | None]
BATCH = 32
TURNS = 5


def spec(steps: int) -> RunSpec:
    return validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": "sgd", "parameters": {"lr": 0.01}},
            "batch": BATCH,
            "budget": {"samples": steps * BATCH},
            "evaluation": {"every": 10**9},
            "checkpoint": "never",
        }
    )


def hooke_seconds(objective: FlatObjective, steps: int) -> float:
    """Seconds per step of the real loop under MPI with one rank, journal included."""
    timed = Timed(objective)
    with tempfile.TemporaryDirectory() as folder:
        train_rank(MpiComm("tree"), spec(steps), Path(folder), timed)
    return timed.seconds_per_step()


def plain_seconds(objective: FlatObjective, steps: int) -> float:
    """Seconds per step of a plain PyTorch loop over the same data and model."""
    model = copy.deepcopy(objective.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, labels = items_of(objective)
    scale = objective.train.scale
    images = data.dim() == 4
    batches = Batches(objective.train_size, BATCH, 0, 0, 1, "iid")
    model.load_state_dict({name: view for name, view in objective.views(objective.initial(0)).items()})
    began = 0.0
    for step in range(steps):
        if step == steps // 10:
            began = time.thread_time()
        index = torch.from_numpy(batches.next())
        inputs: Any = data[index].float() * scale
        if images:
            n, _, h, w = inputs.shape
            inputs = inputs.as_strided((n, 1, h, w), (h * w, 1, w, 1))  # channels last, as in the workload
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels[index])
        loss.backward()
        optimizer.step()
        loss.item()
    return (time.thread_time() - began) / (steps - steps // 10)


def in_turns(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Return the best of several rounds of each."""
    pairs = [(first(), second()) for _ in range(TURNS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    for name, make, steps in (("LeNet", make_lenet, 60), ("digits", make_digits, 1000)):
        objective = make()
        ours, plain = in_turns(partial(hooke_seconds, objective, steps), partial(plain_seconds, objective, steps))
        yield f"{name}, plain PyTorch", BATCH / plain, "samples/s", None
        yield f"{name}, Hooke with P=1", BATCH / ours, "samples/s", None
        yield f"{name}, Hooke over plain", 100 * (ours / plain - 1), "%", 2.0 if name == "LeNet" else None
