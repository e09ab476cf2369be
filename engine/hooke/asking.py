"""What a worker of a method with a server says and hears: requests, answers, and the steps between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hooke.comm.base import Pending, Vector
from hooke.phases import Phase

if TYPE_CHECKING:
    from hooke.rank import Rank

REQUEST, FAREWELL, HERE, BAD = 0.0, 1.0, 2.0, 3.0
"""What a worker says: it asks; it is done; it has come to the meeting; its numbers went bad, and it leaves."""
MORE, LAST, MEET = 0.0, 1.0, 2.0
"""What follows the granted steps: another request, the end, a meeting."""


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
        self._meet_at: int | None = None
        self._outstanding: list[Pending] | None = None
        self._evaluated = 0.0

    def steps(self) -> Iterator[int]:
        """Yield step numbers until the granted ones are done and were the last."""
        r = self._r
        r.recorder.begin(r)
        while self._until is None or r.t < self._until:
            r.recorder.release()
            r.ledger.enter(Phase.UPDATE)
            yield r.t
            r.charge_update()
            r.ledger.enter(Phase.IDLE)
            r.t += 1
            if r.t == self._meet_at:
                self._meet()
            r.recorder.step(r)
        r.comm.control.send((FAREWELL, float(r.t), r.loss), r.server)

    def request(self, vector: Vector | None, into: Vector) -> Answer:
        """Post the request and both transfers."""
        r = self._r
        if vector is not None and r.drops:
            r.check(vector, "the vector to send")  # with `fail` the server finds out, and says so
        r.comm.control.send((REQUEST, float(r.t), r.loss, float(vector is not None)), r.server)
        parts = [] if vector is None else [r.comm.isend(vector, r.server)]
        parts.append(r.comm.irecv(into, r.server))
        self._outstanding = parts
        return Answer(self, parts)

    def hear(self, parts: list[Pending]) -> None:
        """Wait for the answer; charge to evaluation what the server spent on it meanwhile."""
        r = self._r
        self._outstanding = None
        before = r.ledger.seconds[Phase.COMMUNICATE]
        for part in parts:
            part.wait()
        _, (steps, then, samples, evaluated) = r.comm.control.recv(r.server)
        blocked = r.ledger.seconds[Phase.COMMUNICATE] - before
        r.ledger.move(min(evaluated - self._evaluated, blocked), Phase.COMMUNICATE, Phase.EVALUATE)
        self._evaluated = evaluated
        r.samples = int(samples)
        if then == LAST:
            self._until = r.t + int(steps)
        elif then == MEET:
            self._meet_at = r.t + int(steps)

    def _meet(self) -> None:
        """Say that this worker has come; take part in the checkpoint, if it comes to one."""
        r = self._r
        self._meet_at = None
        before = r.ledger.enter(Phase.EVALUATE)
        with r.comm.under(Phase.EVALUATE):
            r.comm.control.send((HERE, float(r.t), r.loss), r.server)
            _, (together,) = r.comm.control.recv(r.server)
        r.ledger.enter(before)
        if together:
            r.checkpoint()

    def leave(self) -> None:
        """Go, because this worker's numbers went bad: consume the answer under way, then say so."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        if self._outstanding is not None:
            self.hear(self._outstanding)
        r.recorder.flush()  # nothing follows until the run ends
        r.comm.control.send((BAD, float(r.t), r.loss), r.server)
