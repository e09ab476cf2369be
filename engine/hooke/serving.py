"""Methods with a server: workers ask, the server answers, and the answer carries every decision.

A request is a few control words beside the worker's vector; an answer carries how many steps it grants,
whether they are the last, the global samples so far, and the server's evaluation seconds so far, which the
worker moves out of its communication: a wait for somebody's evaluation is not a price of the method.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from hooke.comm.base import ANY, Pending, Vector
from hooke.decisions import REASONS, Grants, Word
from hooke.evaluate import evaluate_alone
from hooke.phases import Phase

if TYPE_CHECKING:
    from hooke.rank import Rank

REQUEST, FAREWELL = 0.0, 1.0


class Answer:
    """An answer under way to a worker, together with the vector on its way to the server."""

    def __init__(self, asking: Asking, parts: list[Pending]) -> None:
        self._asking = asking
        self._parts = parts
        self.hidden = 0.0

    def wait(self) -> None:
        """Return when both vectors may be used; take note of what the server decided."""
        self._asking.hear(self._parts)


class Asking:
    """The step loop of a worker that has a server."""

    def __init__(self, rank: Rank) -> None:
        self._r = rank
        self._until: int | None = None
        self._evaluated = 0.0

    def steps(self) -> Iterator[int]:
        """Yield step numbers until the granted ones are done and were the last."""
        r = self._r
        r.recorder.begin(r)
        while self._until is None or r.t < self._until:
            r.ledger.enter(Phase.UPDATE)
            yield r.t
            r.charge_update()
            r.ledger.enter(Phase.IDLE)
            r.t += 1
            r.recorder.step(r)
        r.comm.control.send((FAREWELL, float(r.t), r.loss), r.server)

    def request(self, vector: Vector | None, into: Vector) -> Answer:
        """Post the request and both transfers."""
        r = self._r
        r.comm.control.send((REQUEST, float(r.t), r.loss), r.server)
        parts = [] if vector is None else [r.comm.isend(vector, r.server)]
        parts.append(r.comm.irecv(into, r.server))
        return Answer(self, parts)

    def hear(self, parts: list[Pending]) -> None:
        """Wait for the answer; charge to evaluation what the server spent on it meanwhile."""
        r = self._r
        before = r.ledger.seconds[Phase.COMMUNICATE]
        for part in parts:
            part.wait()
        _, (steps, last, samples, evaluated) = r.comm.control.recv(r.server)
        blocked = r.ledger.seconds[Phase.COMMUNICATE] - before
        r.ledger.move(min(evaluated - self._evaluated, blocked), Phase.COMMUNICATE, Phase.EVALUATE)
        self._evaluated = evaluated
        r.samples = int(samples)
        if last:
            self._until = r.t + int(steps)


class Serving:
    """The loop of a server: whom to answer next, until every worker has said farewell."""

    def __init__(self, rank: Rank) -> None:
        self._r = rank
        self.turn = 0
        """Whose turn it is in rank order; part of a checkpoint."""
        self._evaluated = 0.0
        self._version = 0
        self._seen: dict[int, int] = {}
        self._began: dict[int, int] = {}
        self.reached: dict[int, int] = {}
        """Steps that each worker had done when it was last heard of."""
        self._last: set[int] = set()

    def requests(self, into: Vector | None, order: Literal["arrival", "rank"], period: int) -> Iterator[int]:
        """Yield the worker to answer; account for its request once the algorithm has handled it."""
        r = self._r
        self._period = period
        self._base = r.samples
        self._grants = Grants(r.course.total_steps - r.samples // r.spec.batch, r.workers)
        left = set(range(r.workers))
        r.recorder.begin(r)
        self._evaluate_if_due()
        while left:
            worker, kind = self._hear(order)
            if kind == FAREWELL:
                left.discard(worker)
                continue
            if into is not None:
                r.receive(into, worker)
            r.ledger.enter(Phase.UPDATE)
            yield worker
            self._served(worker)
        r.ledger.enter(Phase.IDLE)
        r.course.reason = r.course.reason or "budget"
        if r.recorder.scored_at != r.samples:
            evaluate_alone(r)

    def _hear(self, order: Literal["arrival", "rank"]) -> tuple[int, float]:
        """Wait for the next request or farewell; until it comes, the server is idle."""
        r = self._r
        source = ANY
        if order == "rank" and len(self._last) < r.workers:
            while self.turn in self._last:
                self.turn = (self.turn + 1) % r.workers
            source, self.turn = self.turn, (self.turn + 1) % r.workers
        r.ledger.enter(Phase.IDLE)
        with r.comm.under(Phase.IDLE):
            worker, (kind, step, loss) = r.comm.control.recv(source)
        self._began.setdefault(worker, int(step))  # steps before this attempt are in the restored samples
        self.reached[worker] = int(step)
        steps = sum(reached - self._began[w] for w, reached in self.reached.items())
        r.samples = self._base + r.spec.batch * steps
        r.loss = loss
        return worker, kind

    def answer(self, worker: int, vector: Vector) -> None:
        """Decide, then send the words and the vector."""
        r = self._r
        word = r.wish()
        if word is not Word.GO_ON:
            r.course.reason = r.course.reason or REASONS[word]
        self._grants.stopping = r.course.reason is not None
        steps, last = self._grants.next(self._period)
        if last:
            self._last.add(worker)
        r.comm.control.send((float(steps), float(last), float(r.samples), self._evaluated), worker)
        r.comm.send(vector, worker)

    def _served(self, worker: int) -> None:
        r = self._r
        r.charge_update()
        r.ledger.enter(Phase.IDLE)
        staleness = self._version - self._seen[worker] if worker in self._seen else None
        self._version += 1
        self._seen[worker] = self._version
        r.t += 1
        self._evaluate_if_due()
        r.recorder.step(r, staleness, worker)

    def _evaluate_if_due(self) -> None:
        if self._r.course.evaluation_due(self._r.samples):
            self._evaluated += evaluate_alone(self._r)
