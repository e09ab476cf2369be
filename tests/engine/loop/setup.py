"""One run of one method on a quadratic, and what its ranks report; the same in both worlds."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from hooke.catalogue.algorithm import ranks_of
from hooke.catalogue.validation import validate_run
from hooke.comm.base import Comm, Control, Slice
from hooke.comm.touched import Rows, Touched
from hooke.comm.virtual.communicator import run_virtual
from hooke.loop.flag import Flag
from hooke.loop.state import RankOptions
from hooke.loop.train import train_rank
from hooke.spec.journal import records
from hooke.spec.specification import RunSpec, canonical

from tests.engine.contract.objective import Behaviour, Quadratic, Quadratics
from tests.engine.loop.methods import known
from tests.waiting import wait_for

World = Literal["mpi", "virtual"]
BATCH = 4
NETWORK = {"latency": 1e-5, "seconds_per_byte": 1e-8, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.3}


LATE = 0.03
HELD = 80
"""Gradients of all other workers together that a slow one waits for, under MPI."""


class Late:
    """Control words of a rank that gets no core for a while after each all-reduce."""

    def __init__(self, inner: Control) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        sums = self._inner.allreduce(words)
        time.sleep(LATE)
        return sums


class Ordered(Quadratic):
    """Under MPI, what real processes do comes in the order that a setup asks for, however busy the machine is."""

    setup: Setup
    folder: Path
    saved: list[int]
    """Batches that were picked before each checkpoint."""
    norms: float
    """Sum of the L1 norms of all gradients."""

    def gradient(self, batch: Any) -> float:
        if not self.virtual:
            self._keep_the_order()
        if len(self.picked) == self.setup.told:
            self.cancel_requested.set()
        loss = super().gradient(batch)
        self.norms += float(self._gradient.abs().sum())
        return loss

    def local_state(self) -> dict[str, np.ndarray]:
        self.saved.append(len(self.picked))
        return {}

    def _keep_the_order(self) -> None:
        setup, mine, count = self.setup, self.comm.rank, len(self.picked)
        if setup.slow and setup.slow[0] == mine and count == 2:
            others = [self._mark(rank) for rank in range(setup.workers) if rank != mine]
            taken = lambda: sum(mark.stat().st_size for mark in others if mark.exists())  # noqa: E731
            wait_for(lambda: taken() >= HELD, f"{HELD} gradients of all others")
        elif setup.slow and setup.slow[0] != mine:
            with self._mark(mine).open("ab", buffering=0) as mark:
                mark.write(b".")
        for bad, step in setup.poison:
            if bad == mine and count > step:
                self._mark(mine).touch()
            elif bad != mine and count == 5 and setup.every > 15:  # before an evaluation or a checkpoint is due
                wait_for(self._mark(bad).exists, f"the bad gradient of worker {bad}")
        if setup.cancel and setup.cancel[0] != mine and self.evaluations >= setup.cancel[1]:
            time.sleep(0.02)  # so that the rank that was asked to stop can say so before the others are done

    def _mark(self, rank: int) -> Path:
        return self.folder / f"went.{rank}"


class Moody(Ordered):
    """Its gradients depend on how many there were: a state of its own, beside every vector."""

    moods = 0

    def gradient(self, batch: Any) -> float:
        loss = super().gradient(batch)
        self.moods += 1
        self._gradient.mul_(1 + 0.1 * (self.moods % 7))
        return loss

    def local_state(self) -> dict[str, np.ndarray]:
        return {"moods": np.array([self.moods])}

    def restore_local(self, state: dict[str, np.ndarray]) -> None:
        (self.moods,) = map(int, state["moods"])


class InRows(Ordered):
    """Its gradient consists of some rows, which it tells: item i of a batch touches row 7 i mod n of n."""

    @staticmethod
    def layout_of(family: Quadratics) -> tuple[Slice, ...]:
        sizes, stops = family.layers, np.cumsum(family.layers).tolist()
        shapes = [(size // 5, 5) if size % 5 == 0 else (size,) for size in sizes]
        return tuple(
            Slice(f"layer{k}", stop - size, stop, shape)
            for k, (size, stop, shape) in enumerate(zip(sizes, stops, shapes, strict=True))
        )

    def gradient(self, batch: Any) -> float:
        loss = super().gradient(batch)
        every = self.setup.rows == "all"
        self.touched = Touched(tuple(Rows(part, self._rows(part.shape[0], every)) for part in self.layout))
        whole = self._gradient.clone()
        self._gradient.zero_()
        for rows in self.touched:
            rows.matrix(self._gradient).copy_(rows.of(whole)) if rows.ids is None else rows.put(
                self._gradient, rows.of(whole)
            )
        self.spent += self._gradient.double().numpy() - whole.double().numpy()
        return loss

    def _rows(self, count: int, every: bool) -> torch.Tensor | None:
        if count == 1:
            return None
        return torch.arange(count) if every else torch.from_numpy(np.unique(touched_rows(count, self.picked[-1])))


def touched_rows(count: int, items: list[int]) -> np.ndarray:
    """Return the row, of `count`, that each item touches."""
    return 7 * np.array(items, np.int64) % count


@dataclass(frozen=True)
class Setup:
    """A run. `steps` are gradients of all workers together."""

    algorithm: str
    parameters: tuple[tuple[str, Any], ...] = ()
    workers: int = 3
    steps: int = 90
    every: int = 30
    """Gradients between evaluations."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Further keys of the specification."""
    slow: tuple[int, float] | None = None
    """(worker, extra virtual seconds per gradient); under MPI its second one waits for HELD of all others each."""
    poison: tuple[tuple[int, int], ...] = ()
    """(worker, its step whose gradient is NaN)."""
    sleeps: int | None = None
    """Seed of random sleeps in every gradient."""
    cancel: tuple[int, int] | None = None
    """(rank, evaluation): a stop is asked for on this rank, during this evaluation."""
    told: int | None = None
    """The gradient of every worker during which it is asked to stop, as by a signal; a server is not."""
    late: int | None = None
    """Under MPI: the rank that waits LATE seconds for a core whenever an all-reduce of control words has ended."""
    moody: bool = False
    rows: Literal["", "some", "all"] = ""
    """Whether the gradient tells the rows that it consists of, and which they are."""
    apart: bool = False
    """Under MPI: windows share no memory, as on several hosts."""
    speeds: tuple[float, ...] = ()
    """Of each worker, at most 1; under MPI the product slows processes down. Empty: all alike."""
    groups: tuple[dict[str, Any], ...] = ()
    """Kinds of the workers, instead of speeds."""
    pause: float = 0.0
    """Seconds of every gradient under MPI, so that speeds are the workers' own, however busy the machine is."""
    cut: int | None = None
    """Run again from the oldest checkpoint on disk, which has to lie before this many gradients."""

    def spec(self, world: World) -> RunSpec:
        document: dict[str, Any] = {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": self.algorithm, "parameters": dict(self.parameters)},
            "batch": BATCH,
            "workers": self.workers,
            "seed": 5,
            "world": world,
            "virtual": dict(NETWORK) if world == "virtual" else None,
            "budget": {"samples": self.steps * BATCH},
            "evaluation": {"every": self.every * BATCH},
        }
        document |= dict(self.changes)
        if self.speeds and world == "virtual":
            document["virtual"] |= {"speeds": list(self.speeds)}
        elif self.speeds:
            document["groups"] = [{"kind": "cpu", "speed": speed} for speed in self.speeds]
        if self.groups:
            place = document["virtual"] if world == "virtual" else document
            place["devices" if world == "virtual" else "groups"] = list(self.groups)
        if world == "mpi":
            document["virtual"] = None
        with known():
            return validate_run(document)

    @property
    def ranks(self) -> int:
        with known():
            return ranks_of(self.spec("virtual"))


@dataclass
class Report:
    weights: np.ndarray
    center: np.ndarray | None
    done: Any
    scores: list[tuple[int, float]]
    picked: int
    spent: np.ndarray
    start: np.ndarray
    mass: float
    """Sum of the L1 norms of all updates of a shared center, counted by the method."""
    items: list[list[int]]
    """Those of every batch."""
    saved: list[int]
    """Number of batches before each checkpoint."""
    norms: float
    """Sum of the L1 norms of all gradients."""


def _pause(setup: Setup, rank: int, world: World) -> float:
    """Return the extra seconds of a gradient: virtual ones of a slow worker, or real ones of all."""
    if world == "mpi":
        return setup.pause
    return setup.slow[1] if setup.slow and setup.slow[0] == rank else 0.0


def run_rank(comm: Comm, setup: Setup, world: World, folder: Path | None, resume: bool = False) -> Report:
    """Train on this rank."""
    spec = setup.spec(world)
    bad = dict(setup.poison).get(comm.rank)
    behaviour = Behaviour(
        sleeps=setup.sleeps,
        slow=_pause(setup, comm.rank, world),
        poison=None if bad is None else (bad, np.nan),
        cancel_at=setup.cancel[1] if setup.cancel and setup.cancel[0] == comm.rank and not resume else None,
    )
    family = Quadratics(spread=0.3, layers=(100, 1, 37)) if setup.rows else Quadratics(spread=0.3)
    kind = InRows if setup.rows else Moody if setup.moody else Ordered
    objective = kind(family, comm, behaviour, Flag(), world == "virtual")
    objective.setup, objective.folder = setup, folder
    objective.mass, objective.norms, objective.saved = 0.0, 0.0, []
    if folder is not None and comm.rank == 0:
        folder.mkdir(exist_ok=True)
        (folder / "spec.json").write_text(canonical(spec))
    comm.barrier()
    control = comm.control
    if setup.late == comm.rank and world == "mpi":
        comm.control = Late(control)
    with known():
        out = train_rank(comm, spec, folder, objective, resume, options=RankOptions(objective.cancel_requested))
    scores = [(score.samples, score.loss) for score in out.evaluations]
    picked, start = len(objective.picked), family.start(spec.seed)
    comm.control = control
    counted = (objective.spent, start, objective.mass, objective.picked, objective.saved, objective.norms)
    return Report(out.weights, out.center, out.done, scores, picked, *counted)


def play(comm: Comm, setup: Setup, world: World, folder: Path) -> list[Report]:
    """Run, and run again from the oldest checkpoint that was kept, where the setup asks for it."""
    first = run_rank(comm, setup, world, folder)
    if setup.cut is None:
        return [first]
    comm.barrier()
    if comm.rank == 0:
        found = sorted((folder / "checkpoints").iterdir(), key=lambda p: int(p.name))
        assert len(found) == 2, found
        assert int(found[0].name) < setup.cut * BATCH, found
        (found[1] / "complete.json").unlink()
    comm.barrier()
    return [first, run_rank(comm, setup, world, folder, resume=True)]


def play_virtual(setup: Setup, folder: Path) -> list[list[Report]]:
    """Return what every rank reports, in the virtual world."""
    network = setup.spec("virtual").virtual
    assert network is not None
    return run_virtual(setup.ranks, network, lambda comm: play(comm, setup, "virtual", folder))


def journal(folder: Path, rank: int, kind: str) -> list[Any]:
    """Return the records of one kind that a rank wrote."""
    return [record for record in records(folder / f"journal.{rank}.jsonl") if record.kind == kind]


def spec_in(folder: Path) -> dict[str, Any]:
    """Return the document in a run's folder."""
    document: dict[str, Any] = json.loads((folder / "spec.json").read_text())
    return document
