"""The server's account of workers whose processes end at an awkward time; their ends are told, not real."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from hooke.catalogue.validation import validate_run
from hooke.errors import RankLost
from hooke.loop.deaths import Deaths
from hooke.loop.server import ServerLoop
from hooke.loop.server_worker import BAD, FAREWELL, REQUEST, STANDS
from hooke.loop.state import RankState
from hooke.loop.train import run_spec_virtual

STEPS = 60


def spec():
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
            "algorithm": {"name": "hogbatch", "parameters": {"lr": 0.02}},
            "batch": 8,
            "workers": 3,
            "sharding": "dispatched",
            "on_bad_worker": "drop",
            "world": "virtual",
            "virtual": {"latency": 1e-5, "compute_seconds_per_sample": 1e-4, "compute_jitter": 0.3},
            "budget": {"samples": STEPS * 8},
            "evaluation": {"every": STEPS * 8},
        }
    )


@pytest.fixture
def ends(monkeypatch):
    """Workers whose end the server hears next, instead of a message."""
    told, hear = [], Deaths.hear

    def heard(self, source, reached):
        if not told:
            return hear(self, source, reached)
        self.found.append(told[0])
        return told[0], (BAD, float(reached.get(told.pop(0), 0)), self._r.loss)

    monkeypatch.setattr(Deaths, "hear", heard)
    return told


def test_a_worker_that_was_dropped_for_nan_and_is_killed_then_is_dropped_once(ends, monkeypatch):
    """Its steps go back once: the others do exactly the rest of the budget."""
    plain, drop, again = RankState._next_gradient, Deaths.why, []

    def poisoned(rank, of=1):
        loss = plain(rank, of)
        if (rank.rank, rank.t) == (1, 4):
            rank._gradient[0] = float("nan")
        return loss

    def why(self, worker, step):
        if not again:
            again.append(worker)
            ends.append(worker)
        return drop(self, worker, step)

    monkeypatch.setattr(RankState, "_next_gradient", poisoned)
    monkeypatch.setattr(Deaths, "why", why)
    outcomes = run_spec_virtual(spec())
    server = outcomes[3].done
    assert again == [1] and not ends
    assert server.dropped == [1] and server.reason == "budget"
    assert sum(each.done.step for each in outcomes[:3]) == STEPS


def test_a_worker_whose_last_update_does_not_arrive_is_dropped(ends, monkeypatch):
    """Killed between its farewell and the vector: also if it is the last one, and no message follows."""
    completes, farewells = Deaths.completes, []

    def lost(self, exchange):
        arrived, worker = completes(self, exchange), exchange.args[-1]
        if exchange.func.__name__ != "_bring" or worker in self._r.server_loop._left:
            return arrived
        farewells.append(worker)
        if len(farewells) < 3:
            return arrived
        ends.append(worker)
        return False

    monkeypatch.setattr(Deaths, "completes", lost)
    outcomes = run_spec_virtual(spec())
    server = outcomes[3].done
    assert len(farewells) == 3 and server.dropped == farewells[-1:]
    assert server.returned >= 8, "what it had used, too: its update is lost"


class Told:
    """Control words that come in this order; a rank alone: that its process has ended."""

    def __init__(self, *messages):
        self._messages, self.sent = list(messages), []

    def recv(self, source):
        rank, *words = self._messages.pop(0)
        if not words:
            raise RankLost(rank)
        return rank, tuple(words)

    def send(self, words, to):
        self.sent.append(to)

    def forget(self, rank):
        pass


@pytest.mark.parametrize("kind", [REQUEST, FAREWELL])
def test_what_a_worker_announced_before_it_was_killed_is_not_waited_for(kind):
    """While the server stops all for an evaluation: the vector may never arrive, and its steps go back."""
    asked, stand = (0, REQUEST, 5.0, 0.5, 1.0), [(worker, STANDS, 5.0, 0.5) for worker in (2, 0)]
    control = Told((1, kind, 7.0, 0.5, 1.0), asked, (1,), *stand)
    rank = SimpleNamespace(
        workers=3,
        dispatch=None,
        loss=0.5,
        recorder=SimpleNamespace(dropped=[]),
        comm=SimpleNamespace(control=control, under=lambda phase: nullcontext()),
        samples=0,
    )
    loop = ServerLoop(rank)
    loop._left, loop.reached = {0, 1, 2}, {0: 4, 1: 6, 2: 4}
    assert sorted(loop._stop_workers()) == [0, 2]
    assert sorted(control.sent) == [0, 1, 2]
    assert [(worker, words[:2]) for worker, words in loop._waiting] == [(0, (REQUEST, 5.0)), (1, (BAD, 6.0))]
