"""The records that a rank writes: a row per step, every evaluation, and how the rank ended."""

from __future__ import annotations

import math
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hooke.hardware.description import describe
from hooke.loop.clock import start_clock
from hooke.loop.state import RankSetup, RankState
from hooke.spec.events import STEP_COLUMNS, Checkpointed, Done, Dropped, Evaluation, Start
from hooke.spec.journal import EVERY_RANK_WRITES, JournalWriter
from hooke.trace.phases import PHASES

GROWING = list(STEP_COLUMNS).index(PHASES[0])
"""Index of the first column of a row whose sums over rows are totals."""


@dataclass(frozen=True)
class Stop:
    """The clock of a run stood at `clock`, for `seconds` from the time `since` of `comm.clock()`; in seconds."""

    clock: float
    since: float
    seconds: float


class Recorder:
    """The journal of one rank; without a folder, only its evaluations, in memory.

    The latest row is held back until another step begins, and the last row until the rank is done: time and
    traffic after the last step (a last push, an evaluation, waiting for other ranks) are added to it, so that rows
    sum to the totals of `done`. Its clock stays that of the end of the step. For a worker that leaves the run
    early nothing is added: its rows are the steps that it finished.

    `oversubscribed`: this host has more ranks than cores.
    """

    def __init__(self, folder: Path | None, rank: int, oversubscribed: bool = False) -> None:
        self._journal: JournalWriter | None = None
        if folder is not None:
            self._journal = JournalWriter(folder / f"journal.{rank}.jsonl", time.monotonic)
        self._oversubscribed = oversubscribed
        self.evaluations: list[Evaluation] = []
        self.evaluated_at = -1
        """Samples at the latest evaluation; -1 before the first."""
        self.staleness: Counter[int] = Counter()
        """Exchanges by staleness."""
        self.dropped: list[int] = []
        """Dropped workers, in the order in which they left."""
        self.lost_mass: float | None = None
        self.test: tuple[float, float, float] | None = None
        """Loss and accuracy of the final center on the test part, and seconds for which the clock stood."""
        self.test_further: dict[str, float] = {}
        """Further metrics of the final center on the test part."""
        self._restored: dict[str, float] = {}
        """Of a resumed run: hidden seconds and traffic up to its checkpoint, as `counted` returned them."""
        self._held: tuple[float, ...] | None = None
        self._running = False
        """Whether the clock has been started."""

    def begin(self, r: RankState, evaluate: Callable[[], None] | None = None) -> bool:
        """Start the clock on all ranks at once and empty the ledger; collective.

        Before that every rank writes its `start` record, and a run that begins at 0 samples calls `evaluate`: the
        initial weights are scored at clock 0. Return whether this evaluation has ended the run.
        """
        self._rows = r.workers <= EVERY_RANK_WRITES or r.rank in (0, r.workers - 1, r.server)
        self._introduce(r)
        if evaluate is not None and r.samples == 0:
            evaluate()
        (ended,) = r.comm.control.allreduce((float(r.schedule.reason is not None),))
        start_clock(r)
        self._running = True
        self._at_start = replace(r.comm.traffic)
        self._before = self._totals(r)
        return ended > 0

    def _introduce(self, r: RankState) -> None:
        if self._journal is None:
            return
        hardware, versions = describe()
        self._journal.record(
            lambda seq: Start(
                seq=seq,
                role="server" if r.is_server else "worker",
                host=socket.gethostname(),
                pid=os.getpid(),
                unix=time.time(),
                monotonic=time.monotonic(),
                world=r.spec.world,
                ranks=r.comm.size,
                oversubscribed=self._oversubscribed,
                hardware=hardware,
                versions=versions,
                restored_step=r.t or None,
                evaluated_part="validation",
                notes=r.notes,
                further_metrics=list(r.objective.further_metrics),
            )
        )

    def counted(self, r: RankState) -> dict[str, float]:
        """Return hidden seconds, bytes and messages since the start of the run, also of earlier attempts."""
        traffic, began, before = r.comm.traffic, self._at_start, self._restored
        return {
            "hidden": r.ledger.hidden + before.get("hidden", 0.0),
            **{
                name: getattr(traffic, name) - getattr(began, name) + int(before.get(name, 0))
                for name in ("payload", "wire", "messages")
            },
        }

    def restore(self, counted: dict[str, float], staleness: dict[str, int]) -> None:
        """Continue from the counts of a checkpoint; those of earlier versions have none."""
        self._restored = counted
        self.staleness.update({int(each): number for each, number in staleness.items()})

    def _totals(self, r: RankState) -> tuple[float, ...]:
        seconds, traffic = r.ledger.seconds, r.comm.traffic
        return (
            *[seconds[phase] for phase in PHASES],
            r.ledger.hidden,
            traffic.payload,
            traffic.wire,
            traffic.messages,
        )

    def step(self, r: RankState, staleness: int | None = None, worker: int = -1) -> None:
        """Make the row of the step that has just ended (on a server: of the exchange with `worker`)."""
        if staleness is not None:
            self.staleness[staleness] += 1
        if self._journal is None or not self._rows:
            return
        self.release()
        clock = r.ledger.train()  # also brings the running phase up to date
        loss = math.nan if r.is_server else r.loss
        stale = math.nan if staleness is None else staleness
        wall = r.ledger.since - r.ledger.began
        joined = int(r.joined) if r.algorithm.grants_updates and not r.is_server else -1
        self._held = (r.t, r.samples, clock, wall, loss, *self._growth(r), stale, worker, joined)

    def _growth(self, r: RankState) -> list[float]:
        """Return the increase of each total since the latest row."""
        totals = self._totals(r)
        before, self._before = self._before, totals
        return [now - then for now, then in zip(totals, before, strict=True)]

    def release(self) -> None:
        """Write the row that is held back, because another step begins."""
        if self._held is not None and self._journal is not None:
            self._journal.step(self._held)
            self._held = None

    def flush(self) -> None:
        """Write all collected rows to the journal now."""
        self.release()
        if self._journal is not None:
            self._journal.flush()

    def secure(self, last: bool) -> None:
        """Write rows to the journal before a checkpoint is complete: the next attempt goes on behind them.

        `last`: also the row that is held back, because another step follows.
        """
        if last:
            self.release()
        if self._journal is not None:
            self._journal.flush()

    @property
    def latest_clock(self) -> float:
        """Return the clock of the latest evaluation of this attempt; 0 before the first."""
        return self.evaluations[-1].clock if self.evaluations else 0.0

    def train_clock(self, r: RankState) -> float:
        """Return the train clock; 0 before it has been started."""
        return r.ledger.train() if self._running else 0.0

    def note_evaluation(
        self,
        r: RankState,
        loss: float,
        accuracy: float,
        stop: Stop,
        reached: bool,
        further: dict[str, float] | None = None,
    ) -> None:
        """Record an evaluation, with further metrics. Only the deciding rank writes it."""
        self.evaluated_at = r.samples

        def make(seq: int) -> Evaluation:
            return Evaluation(
                seq=seq,
                step=r.t,
                samples=r.samples,
                clock=stop.clock,
                wall=stop.since - r.ledger.began if self._running else 0.0,
                loss=loss,
                accuracy=accuracy,
                seconds=stop.seconds,
                reached=reached,
                further=further or {},
            )

        self.evaluations.append(make(0))
        if self._journal is not None and r.deciding:
            self._journal.record(make)

    def checkpointed(self, r: RankState, path: Path, size: int, digest: str, seconds: float) -> None:
        """Write the path of this rank's part of a complete checkpoint, for which the clock stood for `seconds`."""
        if self._journal is not None:
            self._journal.record(
                lambda seq: Checkpointed(
                    seq=seq,
                    step=r.t,
                    samples=r.samples,
                    path=str(path),
                    bytes=size,
                    sha256=digest,
                    seconds=seconds,
                )
            )

    def drop(self, worker: int, step: int, why: str) -> None:
        """Record that the run continues without a worker; called on the deciding rank."""
        self.dropped.append(worker)
        if self._journal is not None:
            self._journal.record(lambda seq: Dropped(seq=seq, worker=worker, step=step, why=why))

    def done(self, r: RankState) -> Done:
        """Write and return the `done` record of this rank."""
        clock = r.ledger.train()
        if r.deciding or r.spec.virtual is not None:  # a transfer's rest ends then, except for rounding
            clock = max(clock, self.latest_clock)
        last = self.evaluations[-1] if self.evaluations and r.deciding else None
        loss, accuracy, stood = self.test or (None, None, 0.0)
        counted = self.counted(r)

        def make(seq: int) -> Done:
            return Done(
                seq=seq,
                reason=r.schedule.reason or "budget",
                step=r.t,
                samples=r.samples,
                clock=clock,
                wall=r.ledger.since - r.ledger.began,
                phases={str(phase): seconds for phase, seconds in r.ledger.seconds.items()},
                hidden=counted["hidden"],
                payload=int(counted["payload"]),
                wire=int(counted["wire"]),
                messages=int(counted["messages"]),
                final_loss=last.loss if last else None,
                final_accuracy=last.accuracy if last else None,
                test_loss=loss if r.deciding else None,
                test_accuracy=accuracy if r.deciding else None,
                test_seconds=stood,
                test_further=self.test_further if r.deciding else {},
                staleness=dict(sorted(self.staleness.items())),
                lost_mass=self.lost_mass,
                dropped=self.dropped,
                returned=0 if r.dispatch is None else r.dispatch.returned * r.spec.batch,
                slowed_to=None if r.governor is None else r.governor.achieved,
                batches=None if r.measured is None or r.is_server else r.measured[r.rank],
            )

        if self._journal is not None:
            self._complete(r)
            self._journal.record(make)
        return make(0)

    def _complete(self, r: RankState) -> None:
        """Write the last row, including all time and traffic after its step."""
        if self._held is not None:
            grown = self._growth(r)
            end = GROWING + len(grown)
            more = [then + now for then, now in zip(self._held[GROWING:end], grown, strict=True)]
            self._held = (*self._held[:GROWING], *more, *self._held[end:])
            self.release()

    def close(self) -> None:
        """Write the steps collected so far, and close the journal."""
        self.release()
        if self._journal is not None:
            self._journal.close()


class RecordedRank(RankState):
    """A rank with its recorder; used by the loops, evaluations and checkpoints."""

    def __init__(self, setup: RankSetup, recorder: Recorder) -> None:
        self.recorder = recorder
        super().__init__(setup)
