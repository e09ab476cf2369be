"""What a worker of a method with a server says and hears: requests, replies, and the steps between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from hooke.comm.base import Pending, Vector
from hooke.loop import checkpoint
from hooke.loop.recorder import RecordedRank
from hooke.trace.phases import Phase

REQUEST, FAREWELL, HERE, BAD, STANDS = 0.0, 1.0, 2.0, 3.0, 4.0
"""What a worker says: it asks; it is done; it has come to the meeting; its numbers went bad, and it leaves; it
stands still."""
MORE, LAST, MEET, STOP, GO, MET, BYE, OVER = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0
"""What the server says. A reply: behind the granted steps follows another request, the end, a meeting. Else:
stop between two steps; go on; the meeting is over; the farewell was heard; all have left, and for so many seconds
the clock stood since this worker did."""


class Reply:
    """A reply under way to a worker, together with the vector on its way to the server."""

    def __init__(self, loop: ServerWorkerLoop, parts: list[Pending]) -> None:
        self._loop = loop
        self._parts = parts
        self.hidden = 0.0

    def wait(self) -> None:
        """Return when both vectors may be used; take note of what the server decided."""
        self._loop.hear(self._parts)


class ServerWorkerLoop:
    """The step loop of a worker that has a server.

    For an evaluation the server stops every worker between two of its steps, or where it waits for a reply.
    """

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self._until: int | None = None
        self._meet_at: int | None = None
        self._outstanding: list[Pending] | None = None
        self._heard: deque[tuple[float, ...]] = deque()
        """Replies that came while this worker looked for a word to stop."""

    def steps(self) -> Iterator[int]:
        """Yield step numbers until the granted ones are done and were the last."""
        r = self._r
        if r.recorder.begin(r):
            self._until = r.t  # the initial weights meet the target
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
            self._stop_if_told()
        r.comm.control.send((FAREWELL, float(r.t), r.loss), r.server)
        with r.comm.under(Phase.IDLE):
            self._listen()

    def request(self, vector: Vector | None, into: Vector) -> Reply:
        """Post the request and both transfers."""
        r = self._r
        if vector is not None and r.drops:
            r.check(vector, "the vector to send")  # with `fail` the server finds out, and says so
        r.comm.control.send((REQUEST, float(r.t), r.loss, float(vector is not None)), r.server)
        parts = [] if vector is None else [r.comm.isend(vector, r.server)]
        parts.append(r.comm.irecv(into, r.server))
        self._outstanding = parts
        return Reply(self, parts)

    def hear(self, parts: list[Pending]) -> None:
        """Wait for the reply."""
        r = self._r
        self._outstanding = None
        steps, then, samples = self._heard.popleft() if self._heard else self._listen()
        for part in parts:
            part.wait()
        r.samples = int(samples)
        if then == LAST:
            self._until = r.t + int(steps)
        elif then == MEET:
            self._meet_at = r.t + int(steps)

    def _listen(self) -> tuple[float, ...]:
        """Return the server's next words, standing still before where they are told to."""
        r = self._r
        while True:
            _, words = r.comm.control.recv(r.server)
            if words[1] != STOP:
                return words
            self._stand()

    def _stop_if_told(self) -> None:
        """Stand still if the server has said so by now; in virtual time it never does (see `server.py`)."""
        r = self._r
        if r.spec.virtual is not None:
            return
        while (found := r.comm.control.poll(r.server)) is not None:
            if found[1][1] == STOP:
                self._stand()
            else:
                self._heard.append(found[1])

    def _stand(self) -> None:
        """Say that this worker stands, and do so until told to go on; the clock stands for a part of that."""
        r = self._r
        before = r.ledger.enter(Phase.IDLE)
        since = r.ledger.since
        with r.comm.under(Phase.IDLE):
            r.comm.control.send((STANDS, float(r.t), r.loss), r.server)
            _, (stood, _, _) = r.comm.control.recv(r.server)
        r.ledger.enter(before)
        r.ledger.move(min(stood, r.ledger.since - since), Phase.IDLE, Phase.EVALUATE)

    def _meet(self) -> None:
        """Say that this worker has come; take part in the checkpoint, if it comes to one."""
        r = self._r
        self._meet_at = None
        with r.comm.under(Phase.IDLE):
            r.comm.control.send((HERE, float(r.t), r.loss), r.server)
            together, _, _ = self._listen()
        if together:
            checkpoint.save(r)

    def hear_the_end(self) -> float:
        """Return for how many seconds the clock stood since this worker left, when all have."""
        while True:  # a worker whose numbers went bad may have been told to stop before the server knew
            _, (stood, what, _) = self._r.comm.control.recv(self._r.server)
            if what == OVER:
                return stood

    def leave(self) -> None:
        """Go, because this worker's numbers went bad: consume the reply under way, then say so."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        if self._outstanding is not None:
            self.hear(self._outstanding)
        r.recorder.flush()  # nothing follows until the run ends
        r.comm.control.send((BAD, float(r.t), r.loss), r.server)
