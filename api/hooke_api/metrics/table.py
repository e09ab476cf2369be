"""The curves of one run, aggregated over its ranks: one row for every P gradients.

A row covers P gradients, one round of the run:

- with synchronous `coordination`, row s is step s of every worker, with or without a server;
- with a parameter server or without locks, all gradients are sorted by wall time since the common start, and every
P
  of them are a row. (Averaging equal step numbers instead would combine a late step of a slow worker with an early
  one of a fast worker.)

Rows are computed only as far as every worker has reported, so that a row never changes; a dropped worker counts
until its last step has arrived. With more than 32 workers only some of them write steps; samples and bytes are
then scaled up.

A table may be continued: of the steps behind those of its rows, and `Before`, the next rows follow, bit for bit as
if they were computed of all steps, as sums are made in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.discovery import built_in
from hooke.spec.journal import EVERY_RANK_WRITES
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Column = NDArray[Any]

COLUMNS = ("step", "samples", "clock", "wall", "loss", "communicate", "wire", "staleness")
"""The columns of a journal from which curves are computed."""


@dataclass(frozen=True)
class RankColumns:
    """The steps of one rank without superseded ones: arrays of equal length, one per name in COLUMNS."""

    rank: int
    server: bool
    columns: dict[str, Column]
    left: bool = False
    """Whether this worker was dropped and all of its steps are present."""
    done: int = 0
    """How many of these steps, the first ones, are in rows that were computed before."""
    sent: float = 0.0
    """Bytes that it had sent before the first of these steps."""
    exposed: float = 0.0
    """Its exposed communication before the first of these steps, s."""

    def __len__(self) -> int:
        return len(self.columns["step"])

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name].astype(np.float64, copy=False)

    def so_far(self, name: str) -> Floats:
        """Return what `wire` or `communicate` adds up to before the first step and after each; shape (n + 1,)."""
        before = {"wire": self.sent, "communicate": self.exposed}[name]
        return np.cumsum(np.concatenate(([before], self[name])))


@dataclass(frozen=True)
class Before:
    """What is before the rows that are to be computed: number of rows, and wall time and clock of the last one."""

    rows: int = 0
    wall: float = -math.inf
    clock: float = -math.inf


@dataclass(frozen=True)
class Table:
    """Rows of one run, ascending in samples, clock, wall and bytes."""

    samples: Floats
    """Global samples after the row."""
    clock: Floats
    """Train clock at the end of the last gradient of the row, s."""
    wall: Floats
    bytes: Floats
    """Bytes sent so far by all ranks, including the server."""
    loss: Floats
    """Mean loss of the row's batches."""
    fraction: Floats
    """Exposed communication so far divided by the train clock so far, mean over workers."""
    staleness_at: Indices
    """Rows with at least one exchange of known staleness."""
    staleness: Floats
    """Mean staleness in those rows, center updates."""

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        return sum(int(array.nbytes) for array in vars(self).values())


SPLIT = "batches of a step"
"""The note of a rank with the batches of each worker, where they were measured (`hooke.loop.split`)."""
_NONE = np.empty(0)
NOTHING = Table(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, np.empty(0, dtype=np.int64), _NONE)
"""The table of a run without steps."""


def unequal_batches(algorithm: str, sizes: list[int] | None, workers: int) -> tuple[int, ...]:
    """Return the batches of every worker's step where a built-in method gives them unequal ones, else ().

    `sizes`: the parameter of that name of the algorithm, if it has one.
    """
    item = built_in("algorithm").get(algorithm)
    if not sizes or item is None or item.cls.batches_of is Algorithm.batches_of:
        return ()
    method = item.cls.model_validate({"sizes": sizes})
    return tuple(method.batches_of(worker, workers) for worker in range(workers))


def sizes_of(parameters: Mapping[str, Any], notes: Mapping[str, str] | None = None) -> list[int] | None:
    """Return the parameter `sizes` of a method; where the workers measure them, what a rank has noted.

    Without the note of a rank, their mean for all.
    """
    if parameters.get("split") != "measured":
        found: list[int] | None = parameters.get("sizes")
        return found
    told = (notes or {}).get(SPLIT, "").partition(" by ")[0]
    return [int(each) for each in told.split(",")] if told else [int(parameters.get("mean") or 1)]


def writing_workers(workers: int) -> tuple[int, ...]:
    """Return the ranks of the workers that write their steps."""
    return tuple(range(workers)) if workers <= EVERY_RANK_WRITES else (0, workers - 1)


START = Before()


def aggregate(
    ranks: Sequence[RankColumns],
    workers: int,
    batch: int,
    lockstep: bool,
    ended: bool,
    weights: Sequence[float] = (),
    before: Before = START,
) -> Table:
    """Return the table of a run of `workers` workers, or the rows of it that follow on those before.

    `ended`: no more steps will follow, so an incomplete last row is included. `weights`: batches of every worker's
    step, where they step together with unequal ones; empty: equal ones.
    """
    writers = [r for r in ranks if not r.server and len(r)]
    silent = [r for r in ranks if not r.server and not len(r)]
    if not writers or (not ended and not all(r.left for r in silent)):
        return NOTHING
    rows = _Lockstep(writers) if lockstep else _Merged(writers, ended)
    gradients = before.rows * float(len(writers)) + rows.gradients
    scale = workers / (len(writers) + sum(r.left for r in silent))
    wall = rows.reduce("wall", np.maximum)
    servers = [r for r in ranks if r.server and len(r)]
    sent = scale * _sent(writers, rows.latest, len(wall))
    sent += _sent(servers, [_latest(s, wall) for s in servers], len(wall))
    samples = scale * batch * gradients
    if lockstep:
        samples = writers[0]["samples"][rows.latest[0]]  # a resumed run does not begin at 0
    at, staleness = _staleness(ranks, wall, before.wall)
    clock = np.concatenate(([before.clock], rows.reduce("clock", np.maximum)))
    return Table(
        samples=samples,
        clock=np.maximum.accumulate(clock)[1:],
        wall=wall,
        bytes=sent,
        loss=_weighted(rows, weights) if weights else rows.reduce("loss", np.add) / rows.sizes,
        fraction=_fraction(writers, rows.latest),
        staleness_at=at,
        staleness=staleness,
    )


def _weighted(rows: _Lockstep | _Merged, weights: Sequence[float]) -> Floats:
    """Return the mean loss of the batches of each row; workers have so many of them in a step."""
    assert isinstance(rows, _Lockstep)  # noqa: S101 - elsewhere a row has one batch of each step
    return rows.mean("loss", weights)


class _Lockstep:
    """Row s is step s of every worker."""

    def __init__(self, writers: Sequence[RankColumns]) -> None:
        self._writers = writers
        self._n = min(len(w) - w.done for w in writers)
        self.latest: list[Indices] = [np.arange(w.done, w.done + self._n) for w in writers]
        """For each worker, the index of its last step within or before each row; -1 if it has none."""
        self.sizes = np.full(self._n, len(writers), dtype=np.float64)
        self.gradients = np.cumsum(self.sizes)

    def mean(self, name: str, weights: Sequence[float]) -> Floats:
        """Return the weighted mean of a column over the workers of each row."""
        own = [weights[writer.rank] for writer in self._writers]
        total = sum((w * self._of(n, name) for n, w in enumerate(own)), np.zeros(self._n))
        return total / sum(own)

    def reduce(self, name: str, by: np.ufunc) -> Floats:
        """Return the sum or maximum of a column over the gradients of each row."""
        total = self._of(0, name).copy()
        for n in range(1, len(self._writers)):
            by(total, self._of(n, name), out=total)
        return total

    def _of(self, n: int, name: str) -> Floats:
        done = self._writers[n].done
        return self._writers[n][name][done : done + self._n]


class _Merged:
    """A row is P consecutive gradients in the order of wall time."""

    def __init__(self, writers: Sequence[RankColumns], ended: bool) -> None:
        self._writers = writers
        walls = np.concatenate([w["wall"][w.done :] for w in writers])
        self._order = np.argsort(walls, kind="stable")
        if not ended:  # after this time some worker may report more steps
            reported = min((w["wall"][-1] for w in writers if not w.left), default=np.inf)
            known = np.searchsorted(walls[self._order], reported, side="right")
            self._order = self._order[: known // len(writers) * len(writers)]
        self._starts = np.arange(0, len(self._order), len(writers))
        ends = np.append(self._starts[1:], len(self._order)) if len(self._starts) else self._starts
        self.sizes = (ends - self._starts).astype(np.float64)
        self.gradients = ends.astype(np.float64)
        wall = walls[self._order[ends - 1]]
        self.latest = [_latest(w, wall) for w in writers]

    def reduce(self, name: str, by: np.ufunc) -> Floats:
        """Return the sum or maximum of a column over the gradients of each row."""
        values = np.concatenate([w[name][w.done :] for w in self._writers])[self._order]
        return np.asarray(by.reduceat(values, self._starts)) if len(values) else values


def _latest(rank: RankColumns, wall: Floats) -> Indices:
    """Return the index of the rank's last step at each of these times; -1: none yet."""
    return np.searchsorted(rank["wall"], wall, side="right") - 1


def _sent(ranks: Sequence[RankColumns], latest: Sequence[Indices], n: int) -> Floats:
    """Return the bytes that these ranks had sent at the end of each of `n` rows."""
    total = np.zeros(n)
    for rank, index in zip(ranks, latest, strict=True):
        total += rank.so_far("wire")[index + 1]
    return total


def _fraction(writers: Sequence[RankColumns], latest: Sequence[Indices]) -> Floats:
    """Return communicate so far / train clock, mean over the workers that have started."""
    total, count = np.zeros(len(latest[0])), np.zeros(len(latest[0]))
    for worker, index in zip(writers, latest, strict=True):
        begun = (index >= 0) & (worker["clock"][index] > 0)
        exposed = worker.so_far("communicate")[index + 1]
        total += np.divide(exposed, worker["clock"][index], out=np.zeros(len(index)), where=begun)
        count += begun
    mean: Floats = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return mean


def _staleness(ranks: Sequence[RankColumns], wall: Floats, after: float) -> tuple[Indices, Floats]:
    """Return the rows in which staleness was recorded by any rank after a time, and its mean there."""
    known = [np.isfinite(r["staleness"]) & (r["wall"] > after) for r in ranks]
    values = np.concatenate([r["staleness"][k] for r, k in zip(ranks, known, strict=True)])
    at = np.searchsorted(
        wall, np.concatenate([r["wall"][k] for r, k in zip(ranks, known, strict=True)]), side="left"
    )
    inside = at < len(wall)  # the last rows are still incomplete
    count = np.bincount(at[inside], minlength=len(wall))
    total = np.bincount(at[inside], weights=values[inside], minlength=len(wall))
    rows = np.flatnonzero(count)
    return rows, total[rows] / count[rows]
