"""What a rank writes down: a row per step, every evaluation, and how it ended."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.workload import Objective
from hooke.comm.wrappers.timed import Timed
from hooke.hardware.description import describe
from hooke.loop.state import RankOptions, RankState
from hooke.spec.events import STEP_COLUMNS, Checkpointed, Done, Dropped, Evaluation, Start
from hooke.spec.journal import EVERY_RANK_WRITES, JournalWriter
from hooke.spec.specification import RunSpec
from hooke.trace.phases import PHASES

GROWING = list(STEP_COLUMNS).index(PHASES[0])
"""Where in a row the columns begin whose sums are totals."""


class Recorder:
    """The journal of one rank, or (without a folder) only its last evaluation.

    The latest row is held back until another step begins, and the last one until the rank is done: what follows
    the last step (a last push, an evaluation, waiting for the others) is added to it, so that rows sum to the
    totals of `done`. Its clock stays that of the end of the step. A worker that leaves the run early is the
    exception: its rows tell the steps that it finished.

    `oversubscribed`: more ranks than cores share this host.
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
        """Workers that the run went on without, in the order in which they left."""
        self.lost_mass: float | None = None
        self.test: tuple[float, float, float] | None = None
        """Of the final center on the test part: loss, accuracy, and seconds for which the clock stood."""
        self._held: tuple[float, ...] | None = None
        self._running = False
        """Whether the clock has been started."""

    def begin(self, r: RankState, evaluate: Callable[[], None] | None = None) -> bool:
        """Start the clock on all ranks at once and empty the ledger; collective.

        Before that every rank says who it is, and a run that begins at 0 samples calls `evaluate`: the
        initial weights are scored at clock 0. Return whether that has ended the run.
        """
        self._rows = r.workers <= EVERY_RANK_WRITES or r.rank in (0, r.workers - 1, r.server)
        self._introduce(r)
        if evaluate is not None and r.samples == 0:
            evaluate()
        (ended,) = r.comm.control.allreduce((float(r.schedule.reason is not None),))
        r.ledger.begin(r.restored_seconds)
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
            )
        )

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
        """Make the row of what grew in the step that has just ended (on a server: the exchange with `worker`)."""
        if staleness is not None:
            self.staleness[staleness] += 1
        if self._journal is None or not self._rows:
            return
        self.release()
        clock = r.ledger.train()  # also brings the running phase up to date
        loss = math.nan if r.is_server else r.loss
        stale = math.nan if staleness is None else staleness
        wall = r.ledger.since - r.ledger.began
        self._held = (r.t, r.samples, clock, wall, loss, *self._growth(r), stale, worker)

    def _growth(self, r: RankState) -> list[float]:
        """Return by how much each total has grown since the latest row."""
        totals = self._totals(r)
        before, self._before = self._before, totals
        return [now - then for now, then in zip(totals, before, strict=True)]

    def release(self) -> None:
        """Write the row that is held back: another step begins."""
        if self._held is not None and self._journal is not None:
            self._journal.step(self._held)
            self._held = None

    def flush(self) -> None:
        """Write down at once what has been collected so far."""
        self.release()
        if self._journal is not None:
            self._journal.flush()

    def note_evaluation(self, r: RankState, loss: float, accuracy: float, stopped: float, reached: bool) -> None:
        """Take note of an evaluation; the clock has stood since `stopped`. The deciding rank writes it."""
        self.evaluated_at = r.samples
        clock = r.ledger.train() if self._running else 0.0

        def make(seq: int) -> Evaluation:
            return Evaluation(
                seq=seq,
                step=r.t,
                samples=r.samples,
                clock=clock,
                wall=stopped - r.ledger.began if self._running else 0.0,
                loss=loss,
                accuracy=accuracy,
                seconds=r.comm.clock() - stopped,
                reached=reached,
            )

        self.evaluations.append(make(0))
        if self._journal is not None and r.deciding:
            self._journal.record(make)

    def checkpointed(self, r: RankState, path: Path, size: int, digest: str, stopped: float) -> None:
        """Write where this rank's part of a complete checkpoint lies; the clock has stood since `stopped`."""
        if self._journal is not None:
            self._journal.record(
                lambda seq: Checkpointed(
                    seq=seq,
                    step=r.t,
                    samples=r.samples,
                    path=str(path),
                    bytes=size,
                    sha256=digest,
                    seconds=r.comm.clock() - stopped,
                )
            )

    def drop(self, worker: int, step: int) -> None:
        """Take note that the run goes on without a worker; the rank that decides calls this."""
        self.dropped.append(worker)
        why = f"NaN or Inf on rank {worker} at its step {step}: the run goes on without it"
        if self._journal is not None:
            self._journal.record(lambda seq: Dropped(seq=seq, worker=worker, step=step, why=why))

    def done(self, r: RankState) -> Done:
        """Write and return how this rank ended."""
        clock = r.ledger.train()
        last = self.evaluations[-1] if self.evaluations and r.deciding else None
        loss, accuracy, stood = self.test or (None, None, 0.0)
        traffic = r.comm.traffic

        def make(seq: int) -> Done:
            return Done(
                seq=seq,
                reason=r.schedule.reason or "budget",
                step=r.t,
                samples=r.samples,
                clock=clock,
                wall=r.ledger.since - r.ledger.began,
                phases={str(phase): seconds for phase, seconds in r.ledger.seconds.items()},
                hidden=r.ledger.hidden,
                payload=traffic.payload - self._at_start.payload,
                wire=traffic.wire - self._at_start.wire,
                messages=traffic.messages - self._at_start.messages,
                final_loss=last.loss if last else None,
                final_accuracy=last.accuracy if last else None,
                test_loss=loss if r.deciding else None,
                test_accuracy=accuracy if r.deciding else None,
                test_seconds=stood,
                staleness=dict(sorted(self.staleness.items())),
                lost_mass=self.lost_mass,
                dropped=self.dropped,
            )

        if self._journal is not None:
            self._complete(r)
            self._journal.record(make)
        return make(0)

    def _complete(self, r: RankState) -> None:
        """Write the last row, with all that has followed its step."""
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
    """A rank with its recorder: what the loops, evaluations and checkpoints work on."""

    def __init__(
        self,
        comm: Timed,
        algorithm: Algorithm,
        objective: Objective,
        spec: RunSpec,
        recorder: Recorder,
        cancel_requested: threading.Event | None = None,
        folder: Path | None = None,
        options: RankOptions | None = None,
    ) -> None:
        self.recorder = recorder
        super().__init__(comm, algorithm, objective, spec, cancel_requested, folder, options)
