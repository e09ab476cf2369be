"""Steps per second of one rank, in its real loop with journal, against plain PyTorch loops on the same device.

The plain loops have all items on the device, select a batch there, and step by torch.optim.SGD. `waits` reads the
loss after every step, as a loop that tells its loss does; `runs ahead` never does. fp32 without TF32 everywhere.
"""

from __future__ import annotations

import copy
import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place
from hooke.comm.mpi.communicator import MpiComm
from hooke.loop.train import train_rank
from hooke.objective.batches import Batches
from hooke.objective.device import exactly
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.models.resnet import resnet
from hooke.objective.samples import Samples
from hooke.spec.specification import Compute
from torch import nn

ITEMS = 20_000
LONGEST = 0.6
"""Seconds of one measurement, about."""
FIRST = 4
"""Ways that are measured of all networks before the others."""
FEWEST, MOST = 20, 2000
RATE = 0.01


@dataclass(frozen=True)
class Net:
    """A network and the shape of its items."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


NETS = (
    Net("LeNet", lenet, (1, 28, 28)),
    Net("MLP 784-512-512-10", mlp, (784,)),
    Net("ResNet-20", lambda: resnet(3), (3, 32, 32)),
)
BATCHES = (64, 512)


@functools.cache
def items(net: Net, count: int) -> Samples:
    generator = torch.Generator().manual_seed(count)
    pixels = torch.randint(0, 256, (count, *net.shape), dtype=torch.uint8, generator=generator)
    return Samples(pixels, torch.randint(0, 10, (count,), generator=generator), 1 / 256)


def objective_of(net: Net, device: str, recorded: bool, precision: str = "fp32") -> FlatObjective:
    os.environ["HOOKE_CUDA_GRAPHS"] = str(int(recorded))
    place = Place(Compute(device=device, precision=precision))
    return FlatObjective(net.make, items(net, ITEMS), items(net, 512), place=place)


def document(steps: int, batch: int) -> dict[str, Any]:
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},  # in place of which the objective is given
        "algorithm": {"name": "sgd", "parameters": {"lr": RATE}},
        "batch": batch,
        "budget": {"samples": steps * batch},
        "evaluation": {"every": 10**9},
        "checkpoint": "never",
    }


def ours(net: Net, batch: int, device: str, steps: int, recorded: bool, precision: str = "fp32") -> dict[str, Any]:
    """Return steps per second of the real loop, and the seconds of a step by phase."""
    objective, starts = objective_of(net, device, recorded, precision), list[float]()
    real = objective.gradient

    def gradient(of: Any) -> float:
        starts.append(time.perf_counter())
        return real(of)

    objective.gradient = gradient  # type: ignore[method-assign]
    spec = validate_run(document(steps, batch))
    with tempfile.TemporaryDirectory() as folder:
        done = train_rank(MpiComm("tree"), spec, Path(folder), objective).done
    objective.close()
    warm = len(starts) // 10
    found: dict[str, Any] = {"steps_per_second": (len(starts) - 1 - warm) / (starts[-1] - starts[warm])}
    found |= {f"{phase}_us": 1e6 * done.phases[phase] / steps for phase in ("data", "compute", "update", "idle")}
    refused = objective._replayed.refused if objective._replayed is not None else "not wanted"
    return found | ({"not_recorded": refused} if recorded and refused else {})


def plain(net: Net, batch: int, device: str, steps: int, **how: bool) -> dict[str, Any]:
    """Return steps per second of a plain loop; `how`: waits, last (channels), defaults (of PyTorch)."""
    exactly()
    torch.backends.cudnn.allow_tf32 = how.get("defaults", False)
    torch.backends.cudnn.deterministic = not how.get("defaults", False)
    train = items(net, ITEMS)
    data, labels = train.inputs.to(device), train.labels.to(device)
    model = net.make().to(device)
    if how.get("last"):
        model = model.to(memory_format=torch.channels_last)
    optimizer, batches = torch.optim.SGD(model.parameters(), lr=RATE), Batches(ITEMS, batch, 0, 0, 1, "iid")
    began = 0.0
    for step in range(steps):
        if step == steps // 10:
            wait(device)
            began = time.perf_counter()
        index = torch.from_numpy(batches.next()).to(device, non_blocking=True)
        inputs: Any = data[index].float() * (1 / 256)
        if how.get("last"):
            inputs = inputs.to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels[index])
        loss.backward()
        optimizer.step()
        if how.get("waits"):
            loss.item()
    wait(device)
    exactly()
    return {"steps_per_second": (steps - steps // 10) / (time.perf_counter() - began)}


def plain_recorded(net: Net, batch: int, device: str, steps: int) -> dict[str, Any]:
    """Return steps per second of a plain loop that replays forward, backward and step as one CUDA graph."""
    exactly()
    train = items(net, ITEMS)
    data, labels = train.inputs.to(device), train.labels.to(device)
    model = copy.deepcopy(net.make()).to(device)
    optimizer, batches = torch.optim.SGD(model.parameters(), lr=RATE), Batches(ITEMS, batch, 0, 0, 1, "iid")
    index = torch.from_numpy(batches.next()).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(data[index].float() * (1 / 256)), labels[index])
        loss.backward()
        optimizer.step()
        return loss

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    began = time.perf_counter()
    for _ in range(steps):
        index.copy_(torch.from_numpy(batches.next()), non_blocking=True)
        graph.replay()
        loss.item()
    return {"steps_per_second": steps / (time.perf_counter() - began)}


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def ways(net: Net, device: str) -> dict[str, Callable[[int, int], dict[str, Any]]]:
    """Return what is compared, most important first: functions of the batch and the number of steps."""
    found: dict[str, Callable[[int, int], dict[str, Any]]] = {
        "Hooke": lambda b, n: ours(net, b, device, n, True),
        "plain PyTorch, waits": lambda b, n: plain(net, b, device, n, waits=True),
        "plain PyTorch, runs ahead": lambda b, n: plain(net, b, device, n),
        "Hooke, not recorded": lambda b, n: ours(net, b, device, n, False),
    }
    if len(net.shape) == 3:
        found["plain PyTorch, channels last"] = lambda b, n: plain(net, b, device, n, last=True)
        found["plain PyTorch, TF32, not deterministic"] = lambda b, n: plain(net, b, device, n, defaults=True)
    if device == "cuda":
        found["plain PyTorch, one CUDA graph"] = lambda b, n: plain_recorded(net, b, device, n)
        found["Hooke, bf16"] = lambda b, n: ours(net, b, device, n, True, "bf16")
    return found


def measured(way: Callable[[int, int], dict[str, Any]], batch: int) -> dict[str, Any]:
    """Return the figures of as many steps as take about LONGEST."""
    steps = max(FEWEST, min(MOST, int(way(batch, FEWEST)["steps_per_second"] * LONGEST)))
    return way(batch, steps) | {"steps": steps}


def measure(device: str) -> Iterator[dict[str, Any]]:
    torch.set_num_threads(1)
    best: dict[tuple[str, int], float] = {}
    todo = [
        (net, batch, number, *way)
        for batch in BATCHES
        for net in NETS
        for number, way in enumerate(ways(net, device).items())
    ]
    for net, batch, _, name, way in sorted(todo, key=lambda each: each[2] >= FIRST):
        about: dict[str, Any] = {"net": net.name, "batch": batch, "way": name}
        try:
            found = measured(way, batch)
        except Exception as error:  # noqa: BLE001 - the others are worth measuring
            yield about | {"error": f"{type(error).__name__}: {error}"}
            continue
        ours_took = best.setdefault((net.name, batch), found["steps_per_second"])
        yield about | found | {"hooke_over_it": ours_took / found["steps_per_second"]}
