"""What has to hold on a CUDA device: functions that raise AssertionError; `device` is `cuda`, for a trial `cpu`.

`python -m tests.engine.device.checks [--device cpu] [--out FILE] [NAME...]` runs them without pytest, a line of
JSON for each.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Place, workload
from hooke.comm.base import Comm
from hooke.comm.virtual.communicator import run_virtual
from hooke.comm.wrappers.cuda import Cuda, staging
from hooke.comm.wrappers.timed import connect
from hooke.loop.train import run_spec_virtual
from hooke.objective.flat import FlatObjective
from hooke.objective.loader import Loader
from hooke.objective.models.lenet import lenet
from hooke.objective.models.resnet import resnet
from hooke.objective.samples import Samples, Windows
from hooke.spec.specification import Communication, Compute, VirtualCluster
from hooke.trace.phases import Ledger, Phase
from torch import nn

CLOSE = 1e-4
"""Largest difference between devices after some steps, relative to the largest element: orders of sums differ."""


def images(count: int, seed: int, channels: int = 3, side: int = 32, **options: Any) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (count, channels, side, side), dtype=torch.uint8, generator=generator)
    return Samples(pixels, torch.randint(0, 10, (count,), generator=generator), **{"scale": 1 / 255, **options})


def dropping() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 10))


def objective(kind: str, device: str, rank: int = 0, recorded: bool = True) -> FlatObjective:
    """Return a small problem; kinds: mlp, lenet, resnet, dropout, and resnet-bf16."""
    place = Place(Compute(device=device, precision="bf16" if kind.endswith("bf16") else "fp32"), 3, rank)
    with variable("HOOKE_CUDA_GRAPHS", str(int(recorded))):
        if kind == "mlp":
            return workload("digits-mlp")(hidden1=40, hidden2=30).build(place)  # type: ignore[return-value]
        if kind == "lenet":
            return FlatObjective(lenet, images(300, 1, 1, 28), images(60, 2, 1, 28), "linear", place=place)
        make: Callable[[], nn.Module] = dropping if kind == "dropout" else lambda: resnet(1)
        return FlatObjective(make, images(300, 1, crop=4, flip=True), images(60, 2), place=place)


@contextlib.contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.__setitem__(name, before)


def trained(of: FlatObjective, steps: int, weights: torch.Tensor | None = None, first: int = 0) -> torch.Tensor:
    """Return the weights after some steps of plain SGD, in place of those given."""
    x, g = of.initial(0) if weights is None else weights, of.allocate()
    of.bind(x, g)
    for step in range(first, first + steps):
        loss = of.gradient(of.pick(np.random.default_rng(step).integers(0, of.train_size, 32)))
        assert np.isfinite(loss)
        x.add_(g, alpha=-0.02)
    of.close()
    return x


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    one, other = one.detach().double().cpu(), other.detach().double().cpu()
    return float((one - other).abs().max() / other.abs().max())


KINDS = ("mlp", "lenet", "resnet", "dropout", "resnet-bf16")


def copies_move_every_bit(device: str) -> None:
    if device == "cpu":
        return
    bits = torch.randint(-(2**31), 2**31 - 1, (100_003,), dtype=torch.int32)
    kept, other, cuda = bits.to(device).view(torch.float32), bits.flip(0).to(device).view(torch.float32), Cuda()
    made: list[Any] = []
    cuda.keep(kept, made.append)
    for x in (kept, other, kept[7:99]):
        truth = x.cpu().view(torch.int32)
        host = cuda.out(x)
        assert host.is_pinned()
        assert torch.equal(host.view(torch.int32), truth)
        host.view(torch.int32).bitwise_xor_(0x5A5A5A5A)
        cuda.back(host, x)
        assert torch.equal(x.cpu().view(torch.int32), truth.bitwise_xor(0x5A5A5A5A))
    assert len(made) == 1
    large, x = torch.ones(3000, 3000, device=device), torch.zeros(1000, device=device)
    for _ in range(50):
        large = large @ large * 1e-4
        x.add_(1)  # queued behind a product
    host = cuda.out(x)
    assert host.eq(50).all(), "copied before what was queued was done"
    cuda.back(host.fill_(3), x)
    host.fill_(9)  # as the next message does
    assert x.eq(3).all(), "the buffer was still being read"


def sums_by_host_buffers_are_those_of_the_host(device: str) -> None:
    def main(comm: Comm) -> bool:
        draw = np.random.default_rng(comm.rank)
        numbers = torch.from_numpy((draw.standard_normal(4097) * 10.0 ** draw.integers(-3, 4, 4097)).astype("f4"))
        found = []
        for wire, feedback in (("fp32", False), ("bf16", True), ("int8", True), ("top-k", True)):
            words = Communication(wire=wire, error_feedback=feedback) if feedback else Communication()
            for where in ("cpu", device):
                x = numbers.to(where, copy=True)
                timed = connect(comm, words, (), Ledger(comm.clock), staging(x.device), 5).sending("updates")
                timed.label(x, "x")
                for _ in range(3):
                    timed.allreduce(x)
                    x.mul_(0.5)
                timed.broadcast(x, comm.size - 1)
                pending = timed.iallreduce(x)
                pending.wait()
                found.append(x.cpu().numpy().tobytes())
        return found[0::2] == found[1::2]

    assert all(run_virtual(3, VirtualCluster(), main))


def batches_are_those_of_the_cpu(device: str) -> None:
    codes = torch.randint(0, 50, (5000,), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    vectors = Samples(torch.randn(200, 17, generator=torch.Generator().manual_seed(1)), torch.arange(200))
    sources = {
        "images": images(200, 1, crop=2, flip=True, scale=[0.1, 0.2, 0.3], shift=[-0.5, 0.0, 0.25]),
        "vectors": vectors,
        "text": Windows(codes, 16, 8),
    }
    for name, source in sources.items():
        for dtype in (torch.float32, torch.bfloat16):
            plain = Loader(source, torch.device("cpu"), dtype)
            for last, holds in itertools.product((True, False), (True, False)):
                place = torch.device(device, 0) if device == "cuda" else torch.device(device)
                other = Loader(source, place, dtype, last, holds=holds)
                for turn in range(12):
                    draw, size = np.random.default_rng(turn), (32, 32, 7)[turn % 3]
                    at = draw.integers(0, len(source), size)
                    if turn % 4 == 1:
                        other.prefetch(at, np.random.default_rng([turn]))
                    if turn % 4 == 3:
                        other.prefetch(at[::-1].copy(), np.random.default_rng([9]))  # in vain
                    mine = other.load(at, np.random.default_rng([turn]))
                    truth = plain.load(at, np.random.default_rng([turn]))
                    assert torch.equal(mine.inputs.cpu(), truth.inputs), (name, last, holds, turn)
                    assert torch.equal(mine.labels.cpu(), truth.labels), (name, last, holds, turn)
                other.close()


def steps_are_those_of_the_cpu(device: str) -> None:
    for kind in ("mlp", "lenet", "resnet"):
        mine, plain = objective(kind, device), objective(kind, "cpu")
        x, truth = trained(mine, 5), trained(plain, 5)
        assert apart(x, truth) < CLOSE, (kind, apart(x, truth))
        both = (mine, truth.to(device)), (plain, truth)
        scores = [each.evaluate(w, 0, each.validation_size) for each, w in both]
        assert abs(scores[0].loss_sum - scores[1].loss_sum) < 1e-3 * scores[1].loss_sum, (kind, scores)
        assert abs(scores[0].correct - scores[1].correct) <= 1, (kind, scores)


def recorded_gradients_have_the_same_bits(device: str) -> None:
    for kind in KINDS:
        results = []
        for recorded in (True, False, True):
            of = objective(kind, device, recorded=recorded)
            of.bind(of.initial(0), of.allocate())
            before = of.local_state()
            of.warm(32)
            assert all(np.array_equal(before[name], value) for name, value in of.local_state().items()), kind
            x = trained(of, 6)
            results.append((x.cpu(), of.local_state()))
            if device == "cuda" and recorded and kind != "dropout":
                assert of._replayed is not None
                assert not of._replayed.refused, of._replayed.refused
                assert of._replayed._recorded
        for x, state in results[1:]:
            assert torch.equal(x, results[0][0]), (kind, apart(x, results[0][0]))
            assert all(np.array_equal(state[name], value) for name, value in results[0][1].items()), kind


def masks_are_a_function_of_seed_rank_and_step(device: str) -> None:
    one, again, other = (trained(objective("dropout", device, rank), 4) for rank in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def run(kind: str, device: str, samples: int, folder: Path, resume: bool = False, **changes: Any) -> list[bytes]:
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},  # in place of which the objective is given
        "algorithm": {"name": "local-sgd", "parameters": {"lr": 0.02, "momentum": 0.5, "period": 3}},
        "compute": {"device": device},
        "workers": 2,
        "batch": 16,
        "seed": 3,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": samples},
        "evaluation": {"every": 16 * 2 * 5},
        "checkpoint_every": 16 * 2 * 4,
    } | changes
    made: list[int] = []

    def make() -> FlatObjective:
        made.append(len(made))
        return objective(kind, device, made[-1])

    outcomes = run_spec_virtual(validate_run(document), folder, make, resume=resume)
    return [each.weights.tobytes() for each in outcomes]


def a_resumed_run_has_the_same_bits(device: str) -> None:
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            whole = run(kind, device, 16 * 2 * 10, place / "whole")
            places = sorted((place / "whole/checkpoints").iterdir(), key=lambda each: int(each.name))
            shutil.copytree(places[0], place / "again/checkpoints" / places[0].name)
            assert run(kind, device, 16 * 2 * 10, place / "again", resume=True) == whole, kind


def work_is_charged_to_the_phase_that_began_it(device: str) -> None:
    if device == "cpu":
        return
    large = torch.ones(8192, 8192, device=device)

    def work() -> None:
        for _ in range(4):
            large.copy_(large @ large * 1e-4)

    work()
    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began

    def main(comm: Comm) -> dict[Phase, float]:
        ledger = Ledger(time.perf_counter)
        timed = connect(comm, Communication(), (), ledger, staging(large.device))
        x = torch.zeros(1000, device=device)
        timed.allreduce(x)  # makes buffers
        ledger.begin()
        work()
        timed.allreduce(x)
        ledger.enter(Phase.IDLE)
        return ledger.seconds

    (found,) = run_virtual(1, VirtualCluster(), main)
    assert found[Phase.UPDATE] > 0.9 * seconds, (found, seconds)
    assert found[Phase.COMMUNICATE] < 0.1 * seconds, (found, seconds)


def float32_is_not_tf32(device: str) -> None:
    objective("lenet", device)  # chooses
    draw = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=draw) for _ in range(2))
    pictures, filters = torch.randn(8, 32, 16, 16, generator=draw), torch.randn(32, 32, 3, 3, generator=draw)
    product, truth = (a.to(device) @ b.to(device)).cpu(), a.double() @ b.double()
    assert apart(product, truth) < 1e-5, apart(product, truth)
    mine = nn.functional.conv2d(pictures.to(device), filters.to(device)).cpu()
    truth = nn.functional.conv2d(pictures.double(), filters.double())
    assert apart(mine, truth) < 1e-5, apart(mine, truth)


CHECKS: dict[str, Callable[[str], None]] = {
    each.__name__: each
    for each in (
        copies_move_every_bit,
        batches_are_those_of_the_cpu,
        steps_are_those_of_the_cpu,
        recorded_gradients_have_the_same_bits,
        a_resumed_run_has_the_same_bits,
        sums_by_host_buffers_are_those_of_the_host,
        masks_are_a_function_of_seed_rank_and_step,
        work_is_charged_to_the_phase_that_began_it,
        float32_is_not_tf32,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    failed = 0
    for name in options.names or CHECKS:
        began, fault = time.perf_counter(), ""
        try:
            CHECKS[name](options.device)
        except Exception:  # noqa: BLE001 - told, and the others follow
            fault, failed = traceback.format_exc(), failed + 1
        print(f"{name}: {'FAILED' if fault else 'ok'}, {time.perf_counter() - began:.1f} s\n{fault}", flush=True)
        if options.out:
            with options.out.open("a") as file:
                record = {"check": name, "seconds": time.perf_counter() - began, "fault": fault[-1500:]}
                file.write(json.dumps(record) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
