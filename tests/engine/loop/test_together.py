"""A server that steps together with its workers: Sync EASGD with the center on the host."""

import numpy as np
import pytest
from hooke.objective.batches import Batches
from hooke.spec.events import Checkpointed

from tests.engine.contract.objective import TRAIN, Quadratics
from tests.engine.loop.setup import BATCH, journal

WORLDS = ("virtual", "mpi")


def by_hand(workers, steps, lr=0.05, rho=1.0):
    """Equations (1) and (2) in float64, from nothing but the batches' indices."""
    family = Quadratics(spread=0.3)
    x = np.tile(family.start(5).astype(float), (workers, 1))
    c = x[0].copy()
    streams = [Batches(TRAIN, BATCH, 5, w, workers, "iid") for w in range(workers)]
    forces = family.forces().astype(float)
    for _ in range(steps):
        g = [family.h(w) * (x[w] - family.b(w)) - forces[streams[w].next()].mean(axis=0) for w in range(workers)]
        a, old = lr * rho, x.copy()
        x = x - lr * np.array(g) - a * (x - c)
        c = c + a * (old - c).sum(axis=0)
    return x, c


@pytest.mark.parametrize("world", WORLDS)
def test_it_follows_the_equations(played, world):
    run = played("on the host", world)
    x, c = by_hand(3, 30)
    assert np.abs(run.first[3].center - c).max() < 1e-5
    for worker in range(3):
        assert np.abs(run.first[worker].weights - x[worker]).max() < 1e-5
        assert run.first[worker].center is None


def test_both_worlds_agree_bit_for_bit(played):
    for one, other in zip(played("on the host", "mpi").first, played("on the host", "virtual").first, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()


@pytest.mark.parametrize("world", WORLDS)
def test_accounts(played, world):
    run = played("on the host", world)
    assert [report.done.step for report in run.first] == [30] * 4
    assert {report.done.samples for report in run.first} == {90 * BATCH}
    assert [report.picked for report in run.first] == [30, 30, 30, 0]
    assert len({tuple(report.scores) for report in run.first}) == 1, "all ranks know every evaluation"
    assert [samples for samples, _ in run.first[0].scores] == [0, 30 * BATCH, 60 * BATCH, 90 * BATCH]
    family = Quadratics(spread=0.3)
    loss = (0.5 * family.h(3) * (run.first[3].center - family.b(3)) ** 2).sum()
    assert run.first[0].scores[-1][1] == pytest.approx(loss, rel=1e-5), "the server alone scores, and the center"
    assert len(journal(run.folder, 0, "evaluation")) == 4, "rank 0 decides, so it writes"
    assert journal(run.folder, 3, "evaluation") == []
    assert journal(run.folder, 3, "start")[0].role == "server"
    assert journal(run.folder, 0, "start")[0].notes["moving rate"] == "0.05"
    assert journal(run.folder, 0, "start")[0].notes["training items"] == str(TRAIN)
    assert "training items" not in journal(run.folder, 1, "start")[0].notes, "one rank says it"
    size = 4 * run.first[3].weights.size
    assert [report.done.payload for report in run.first] == [30 * size] * 4, "down once, up once each (P19)"


@pytest.mark.parametrize("world", WORLDS)
def test_its_restart_has_every_bit(played, world):
    twice, straight = played("on the host, twice", world), played("on the host", world)
    for one, other in zip(twice.last, straight.first, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
    saved = journal(twice.folder, 3, "checkpoint")
    assert all(isinstance(record, Checkpointed) for record in saved)
