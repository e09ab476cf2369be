"""Methods with a server: workers send requests, the server replies, and its replies contain all decisions.

A request is a few control words and the worker's vector. The control words of a reply are the number of granted
steps, what follows them, the global samples so far, a number of the method, whether a vector follows, and batches.

For an evaluation the server tells every worker to stop, except in virtual time. A worker stops between two steps,
or while it waits for a reply, and reports that it stands. The server replies to requests that arrive meanwhile
afterwards, in their order. The clock runs until the last worker stands; then it stands until all may continue.

For a checkpoint the server marks its next reply to every worker: after the granted steps, before its next request,
the worker waits until all workers have got there (`meeting.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Literal

from hooke.comm.base import ANY, Vector
from hooke.loop.deaths import Deaths
from hooke.loop.decisions import REASONS, Decision, Grants
from hooke.loop.evaluate import evaluate_alone
from hooke.loop.meeting import Meeting
from hooke.loop.reached import Reached
from hooke.loop.recorder import RecordedRank
from hooke.loop.replay import ExchangeOrder, follow
from hooke.loop.server_rows import Brought
from hooke.loop.server_worker import (
    BAD,
    BYE,
    FAREWELL,
    GO,
    HERE,
    LAST,
    MEET,
    MORE,
    OVER,
    REQUEST,
    SEND,
    STANDS,
    STOP,
)
from hooke.trace.phases import Phase


class ServerLoop:
    """The loop of a server: selects the worker to reply to, until every worker has sent its farewell.

    With an `order` (a replay) it replies in that order instead of the order of arrival, and ends where the
    recorded run ended.
    """

    def __init__(self, rank: RecordedRank, order: ExchangeOrder | None = None) -> None:
        self._r = rank
        self._log = None if order is None else deque(order.workers)
        self._target_after = None if order is None else order.target_after
        self._waiting: deque[tuple[int, tuple[float, ...]]] = deque()
        """Messages that workers sent before they stopped."""
        self._stood = [0.0] * rank.workers
        """For each worker, seconds for which the clock stood since it left."""
        self._version = 0
        """Number of updates of the center in this attempt."""
        self._seen: dict[int, int] = {}
        """For each worker, the version of the center after its latest exchange."""
        self._granted: dict[int, int] = {}
        self.reached = Reached()
        self._asking: set[int] = set()
        """Workers whose request was yielded and not replied to yet."""
        self._wanted = False
        """Whether a requested checkpoint waits for replies to all workers."""
        self._last: set[int] = set()
        self._left: set[int] = set()
        self._meeting = Meeting(rank)
        self.brought = Brought(rank)
        self.deaths = Deaths(rank)

    def requests(
        self, into: Vector | None, order: Literal["arrival", "rank"], period: int, last_words: bool, holds: bool
    ) -> Iterator[int]:
        """Yield the worker to reply to; account for its request once the algorithm has handled it."""
        r = self._r
        self._period, self._last_words, self._holds = period, last_words, holds
        self._asks_empty = into is None  # vectors are sent outside of the requests
        self._base = r.samples
        self.grants = Grants(r.schedule.total_steps - r.samples // r.schedule.step_samples, r.workers)
        self._left = set(range(r.workers))
        self.deaths.watch()
        r.recorder.begin(r, self._evaluate_start)
        self._evaluate_if_due()
        while self._left:
            worker, kind = self._hear(order)
            if kind in (FAREWELL, BAD):
                self._left.discard(worker)
                if kind == BAD:
                    self._drop(worker)
                elif worker not in self._last and self._log is None:
                    r.schedule.reason = r.schedule.reason or "cancelled"  # it was asked to end within its period
                self._meeting.give_up()
                if kind == BAD or not last_words:
                    continue
            if not self.deaths.arrives(partial(self._bring, into, worker), worker, self.reached):
                self._left.add(worker)  # also after its farewell: its end is heard next
                continue
            r.ledger.enter(Phase.UPDATE)
            self._asking.add(worker)
            yield worker
            self._served(worker)
        r.ledger.enter(Phase.IDLE)
        if len(r.recorder.dropped) == r.workers:
            raise self.deaths.nobody()
        r.schedule.reason = r.schedule.reason or "budget"
        if r.recorder.evaluated_at != r.samples:
            self._evaluate()

    def _hear(self, order: Literal["arrival", "rank"]) -> tuple[int, float]:
        """Wait, in phase idle, for the next request or farewell; return (worker, kind)."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        while True:
            source = self._next(order)
            worker, (kind, step, loss, *brings) = self._receive(source)
            self.brought.expect(brings, kind == FAREWELL)
            before = self.reached.done
            self.reached[worker] = int(step)
            if r.dispatch is not None:
                r.dispatch.done(worker, (self.reached.done - before) * r.schedule.accumulation)
            self.deaths.arrived.setdefault(worker, int(step))
            r.samples = self._base + r.schedule.step_samples * self.reached.done
            r.loss = loss
            if kind != HERE:
                break
            self._meeting.arrived(worker, self._left)
        if source != ANY and self._log is None:
            self._r.turn = (worker + 1) % r.workers
        if self._log is not None:
            follow(self._log, worker, kind == REQUEST, self._last_words)
        if kind == FAREWELL:
            r.comm.control.send((0.0, BYE, float(r.samples)), worker)
            self.deaths.left(worker, self.reached, self._last_words)
        return worker, kind

    def _receive(self, source: int) -> tuple[int, tuple[float, ...]]:
        """Return the earliest message from `source` as (worker, words)."""
        for position, (worker, words) in enumerate(self._waiting):
            if source in (ANY, worker):
                del self._waiting[position]
                return worker, words
        return self.deaths.hear(source, self.reached)

    def _next(self, order: Literal["arrival", "rank"]) -> int:
        """Return the worker to receive from: the next one in the log or in rank order, or ANY."""
        if self._meeting.awaited(self._left):
            return ANY  # from here on a worker can only join the meeting or leave
        if self._log is not None:
            return self._log[0] if self._log else ANY
        gone = self._last | (set(range(self._r.workers)) - self._left)
        if order == "arrival" or len(gone) == self._r.workers:
            return ANY
        while self._r.turn in gone:
            self._r.turn = (self._r.turn + 1) % self._r.workers
        return self._r.turn

    def _bring(self, into: Vector | None, worker: int) -> None:
        """Receive what a request or a farewell comes with."""
        self.brought.hear(worker)
        if into is not None and self.brought.vector:
            self.receive(into, worker)

    def receive(self, into: Vector, worker: int) -> None:
        """Receive a vector that a worker delivers, or rows of it, and check it for NaN and Inf."""
        into = self.brought.receive(into, worker)
        self._r.check(into, "the weights", worker, self.reached[worker])

    def take(self, into: Vector, worker: int) -> None:
        """Receive the vector of a worker that asks."""
        self._r.comm.control.send((0.0, SEND, float(self._r.samples)), worker)
        self.receive(into, worker)

    def reply(self, worker: int, vector: Vector | None, asked: int | None = None, word: float = 0.0) -> int:
        """Decide, send control words and vector, none to a worker after its farewell; return the steps granted.

        `asked`: the steps to grant, if not those of a period.
        """
        r = self._r
        if worker not in self._left:
            return 0
        decision = r.decide()
        if decision in REASONS:
            r.schedule.reason = r.schedule.reason or REASONS[decision]
        self.grants.ending = r.schedule.reason is not None
        self._wanted = self._wanted or decision is Decision.CHECKPOINT
        due = self._wanted or r.schedule.checkpoint_due(r.samples)
        if due and (not self._holds or self._asking >= self._left):  # who is held would not reach the meeting
            self._call_meeting()
            self._wanted = False
        self._asking.discard(worker)
        steps, last = self.grants.next(self._period if asked is None else min(asked, self._period))
        self._granted[worker] = self._granted.get(worker, 0) + steps
        if last:
            self._last.add(worker)
            self._meeting.give_up()
        then = LAST if last else MEET if self._meeting.invite(worker) else MORE
        words = (float(steps), then, float(r.samples), word, float(vector is not None))
        ranges = () if r.dispatch is None else r.dispatch.words(worker, steps * r.schedule.accumulation)
        r.comm.control.send((*words, *ranges), worker)
        if vector is not None:
            self.deaths.completes(partial(self.brought.reply, vector, worker))
        return steps

    def _call_meeting(self) -> None:
        """Call a meeting, unless a worker has been granted its last steps, or would be before the meeting."""
        enough = self.grants.left - self._period * self._r.workers >= self._r.workers
        if enough and len(self._left) == self._r.workers and not (self._last or self.grants.ending):
            self._meeting.call()

    def _drop(self, worker: int) -> None:
        """Continue without a worker, if not so already; its unused steps go to the others."""
        r = self._r
        if worker in r.recorder.dropped:  # for NaN or Inf, and its process has ended since
            return
        unused = self._granted.get(worker, 0) - self.reached.of(worker)
        self.grants.give_back(unused, asking=worker not in self._last)
        why = self.deaths.why(worker, self.reached[worker])
        if r.dispatch is not None and (back := r.dispatch.left(worker)):
            why += f"; {back * r.spec.batch:,} samples that it held are handed out again"
        r.recorder.drop(worker, self.reached[worker], why)

    def _served(self, worker: int) -> None:
        r = self._r
        r.recorder.release()  # not before the reply, for which the worker waits
        r.charge_update()
        r.ledger.enter(Phase.IDLE)
        staleness = None
        if self.brought.vector or self._asks_empty:
            staleness = self._version - self._seen[worker] if worker in self._seen else None
            self._version += 1
        self._seen[worker] = self._version  # a request without a vector is a pull, not an update
        r.t += 1
        self._evaluate_if_due()
        self._end_like_the_log()
        r.recorder.step(r, staleness, worker)

    def _end_like_the_log(self) -> None:
        if self._r.t == self._target_after:
            self._r.schedule.reason = "target"

    def _evaluate_start(self) -> None:
        evaluate_alone(self._r)
        self._end_like_the_log()

    def _evaluate_if_due(self) -> None:
        r = self._r
        if not r.schedule.evaluation_due(r.samples):
            return
        standing = self._stop_workers() if r.spec.virtual is None else []
        stood = self._evaluate()
        for worker in standing:
            r.comm.control.send((stood, GO, float(r.samples)), worker)

    def tell_the_end(self) -> None:
        """Tell every worker for how many seconds the clock stood since it left."""
        for worker, stood in enumerate(self._stood):
            self._r.comm.control.send((stood, OVER, float(self._r.samples), self.deaths.word), worker)
        self._r.comm.control.without(self.deaths.found)

    def _stop_workers(self) -> list[int]:
        """Stop all workers that have not left; return those that stand, and keep their other messages."""
        r = self._r
        standing = []
        moving = self._listening()
        for worker in sorted(moving):
            r.comm.control.send((0.0, STOP, float(r.samples)), worker)
        while moving:
            worker, words = self.deaths.hear(ANY, self.reached)
            if words[0] == STANDS:
                standing.append(worker)
            else:
                self._waiting = deque([*self.deaths.awaited(self._waiting), (worker, words)])
            if words[0] in (STANDS, BAD):  # a worker with NaN or Inf has left its loop and receives nothing more
                moving.discard(worker)
        return standing

    def _listening(self) -> set[int]:
        """Return the workers in their loop: all except those with an unprocessed message that they leave."""
        return self._left - {worker for worker, words in self._waiting if words[0] == BAD}

    def _evaluate(self) -> float:
        """Evaluate the center; return the seconds for which the clock stood."""
        r = self._r
        before = r.ledger.seconds[Phase.EVALUATE]
        evaluate_alone(r)
        stood = r.ledger.seconds[Phase.EVALUATE] - before
        for worker in set(range(r.workers)) - self._listening():
            self._stood[worker] += stood
        return stood
