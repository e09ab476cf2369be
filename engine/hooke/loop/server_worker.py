"""The worker's side of methods with a server: requests, replies, and the steps between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from hooke.comm.base import Pending, Vector
from hooke.comm.touched import Touched, front, packed
from hooke.comm.union import hear, tell
from hooke.loop import checkpoint
from hooke.loop.recorder import RecordedRank
from hooke.objective.dispatched import DispatchedBatches
from hooke.trace.phases import Phase

REQUEST, FAREWELL, HERE, BAD, STANDS = 0.0, 1.0, 2.0, 3.0, 4.0
"""Messages of a worker: a request; it is done; it has arrived at the meeting; it holds NaN or Inf and leaves; it
stands still."""
MORE, LAST, MEET, STOP, GO, MET, BYE, OVER, SEND = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0
"""Messages of the server. MORE, LAST, MEET in a reply: after the granted steps follows another request, the end,
or a meeting. Others: stop between two steps; continue; the meeting is over; the farewell was received; all workers
have left (with the seconds for which the clock stood since this one left); send the vector that was offered."""


MOST_TOLD = 50
"""Workers of which OVER tells which are gone: by a float64 with a bit for each."""


def of_word(word: float) -> list[int]:
    """Return the workers that are gone by the last word of OVER."""
    return [worker for worker in range(MOST_TOLD) if int(word) >> worker & 1]


class Reply:
    """A pending reply to a worker, and the pending transfer of the worker's vector to the server."""

    def __init__(self, loop: ServerWorkerLoop, parts: list[Pending]) -> None:
        self._loop = loop
        self._parts = parts
        self.hidden = 0.0

    def wait(self) -> None:
        """Return when both vectors may be used; apply the server's decision."""
        self._loop.hear(self._parts)


class ServerWorkerLoop:
    """The step loop of a worker in a method with a server.

    For an evaluation the server stops every worker between two of its steps, or while it waits for a reply.
    """

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self._until: int | None = None
        self._meet_at: int | None = None
        self.left_at: float | None = None
        """When the farewell was sent; the server may score the center before this worker has the answer."""
        self.rows: Touched | None = None
        """The rows of the latest request; None: all."""
        self.answered: Touched | None = None
        """The rows that the server told with its latest reply; None: all."""
        self._into: Vector | None = None
        """Where such a reply is received."""
        self._outstanding: list[Pending] | None = None
        self._heard: deque[tuple[float, ...]] = deque()
        """Replies that arrived while this worker polled for a message to stop."""

    def steps(self) -> Iterator[int]:
        """Yield step numbers until the last granted step is done."""
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
            r.recorder.step(r)
            saved = r.t == self._meet_at and self._meet()
            self._stop_if_told()
            waits = self._outstanding is not None or r.passes.ahead > 0
            ends = r.cancel_requested.is_set() and self._until is None and not waits
            if ends and not saved:  # a row that a checkpoint needs is written, and another one takes what follows
                self._until = r.t  # not after the rest of a period, which may take long
        self.left_at = r.ledger.since
        self.rows = None  # ids come with requests alone: a vector that follows is whole
        r.comm.control.send((FAREWELL, float(r.t), r.loss), r.server)
        with r.comm.under(Phase.IDLE):
            self._listen()

    def request(
        self, vector: Vector | None, into: Vector, rows: Touched | None = None, told: bool = False
    ) -> Reply:
        """Post the request and all transfers; with `told` only those to the server."""
        r, self.rows = self._r, rows
        if vector is not None and r.drops:
            r.check(vector, "the vector to send")  # with `fail` the server checks it and raises
        brings = float(vector is not None), float(rows is not None)
        r.comm.control.send((REQUEST, float(r.t), r.loss, *brings), r.server)
        parts = [] if rows is None else tell(r.comm, rows, r.server)
        if vector is not None:
            parts.append(r.pushing.isend(packed(vector, rows), r.server))
        self._into = into if told else None
        if not told:
            parts.append(r.comm.irecv(front(into, rows), r.server))
        self._outstanding = parts
        return Reply(self, parts)

    def hear(self, parts: list[Pending]) -> None:
        """Wait for the reply."""
        self._outstanding = None
        words = self._heard.popleft() if self._heard else self._listen()
        for part in parts:
            part.wait()
        if self._into is not None:
            self.answered = hear(self._r.comm, self._r.layout, self._r.server)
            self._r.comm.recv(front(self._into, self.answered), self._r.server)
        self._granted(words)

    def ask(self, vector: Vector) -> None:
        """Ask for steps and wait for them; send the vector if the server takes it, receive one if it follows."""
        r = self._r
        if r.drops:
            r.check(vector, "the vector to send")
        r.comm.control.send((REQUEST, float(r.t), r.loss, 0.0), r.server)
        words = self._listen()
        while words[1] == SEND:
            r.pushing.send(vector, r.server)
            words = self._listen()
        if words[4]:
            r.comm.recv(vector, r.server)
        self._granted(words)

    def _granted(self, words: tuple[float, ...]) -> None:
        """Apply the decision in the words of a reply."""
        r = self._r
        steps, then, samples, r.word, _, *ranges = words
        r.samples, r.granted = int(samples), int(steps)
        if ranges:
            self._take(*map(int, ranges))
        if then == LAST:
            self._until = r.t + int(steps)
        elif then == MEET:
            self._meet_at = r.t + int(steps)

    def _take(self, first: int, count: int, rest: int) -> None:
        """Add the batches of the latest grant to this worker's."""
        r = self._r
        assert isinstance(r.batches, DispatchedBatches)  # noqa: S101 - the server has an account of them
        r.batches.grant(first, count)
        if rest >= 0:
            r.batches.grant(rest, r.granted * r.schedule.accumulation - count)

    def _listen(self) -> tuple[float, ...]:
        """Return the server's next control words; stand still first if they say so."""
        r = self._r
        while True:
            _, words = r.comm.control.recv(r.server)
            if words[1] != STOP:
                return words
            self._stand()

    def _stop_if_told(self) -> None:
        """Stand still if the server has asked for it; in virtual time it never does (see `server.py`)."""
        r = self._r
        if r.spec.virtual is not None:
            return
        while (found := r.comm.control.poll(r.server)) is not None:
            if found[1][1] == STOP:
                self._stand()
            else:
                self._heard.append(found[1])

    def _stand(self) -> None:
        """Report that this worker stands, and wait until told to continue; the clock stands for a part of this."""
        r = self._r
        before = r.ledger.enter(Phase.IDLE)
        since = r.ledger.since
        with r.comm.under(Phase.IDLE):
            r.comm.control.send((STANDS, float(r.t), r.loss), r.server)
            _, (stood, _, _) = r.comm.control.recv(r.server)
        r.ledger.enter(before)
        r.ledger.move(min(stood, r.ledger.since - since), Phase.IDLE, Phase.EVALUATE)

    def _meet(self) -> bool:
        """Report that this worker has arrived; take part in the checkpoint, if one is written, and return that."""
        r = self._r
        self._meet_at = None
        with r.comm.under(Phase.IDLE):
            r.comm.control.send((HERE, float(r.t), r.loss), r.server)
            together, _, _ = self._listen()
        if together:
            checkpoint.save(r, followed=True)
        return bool(together)

    def hear_the_end(self) -> float:
        """Wait until all workers have left; return the seconds for which the clock stood since this one left."""
        while True:  # a worker with NaN or Inf may have been told to stop before the server knew
            _, (stood, what, _, *more) = self._r.comm.control.recv(self._r.server)
            if what == OVER:
                self._r.comm.control.without(of_word(more[0]))
                return stood

    def leave(self) -> None:
        """Leave, because this worker holds NaN or Inf: consume the pending reply, then tell the server."""
        r = self._r
        r.ledger.enter(Phase.IDLE)
        if self._outstanding is not None:
            self.hear(self._outstanding)
        r.recorder.flush()  # nothing follows until the run ends
        r.comm.control.send((BAD, float(r.t), r.loss), r.server)
