"""Figures of runs that went on from a checkpoint: what came before it counts, what was repeated does not."""

import pytest

from tests.api.databases import ONE_KIND
from tests.api.hands import done, scored, start, steps
from tests.api.test_ingest import rank
from tests.api.test_ingest_targets import checkpoint, resumed


def figures(service):
    experiment = service.runs()[0]["experiment_id"]
    [row] = service.get(f"/experiments/{experiment}/comparison")["rows"]
    return row["best_accuracy"]["mean"], row["target_accuracy"]["mean"], row["accuracy"]["mean"]


def end(supervisor, seq):
    supervisor.send(rank(0, done(seq)), rank(1, done(0)))
    supervisor.report("succeeded")


@ONE_KIND
def test_the_best_accuracy_may_be_that_of_an_earlier_attempt(service):
    """0.8 before the checkpoint; 0.99 behind it was done again, with 0.7."""
    supervisor = service.launch(target=None)
    supervisor.report("starting", "running")
    before = [scored(1, 64, 0.8), scored(2, 128, 0.6), checkpoint(3, 192)]
    supervisor.send(rank(0, start(), *before, scored(4, 256, 0.99)))
    second = resumed(service, supervisor)
    second.report("starting", "running")
    second.send(rank(0, start(restored_step=3), scored(1, 256, 0.7), scored(2, 320, 0.65)))
    end(second, 3)
    assert figures(service) == (pytest.approx(0.8), None, pytest.approx(0.65))


@ONE_KIND
def test_an_attempt_that_starts_over_has_its_own_best_accuracy(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), scored(1, 64, 0.8), scored(2, 128, 0.95, reached=True), checkpoint(3, 192)))
    supervisor.report("failed_user", exit_code=3)
    service.client.post(f"/runs/{supervisor.id}/retry", json={"resume": False}).raise_for_status()
    second = service.next()
    second.report("starting", "running")
    second.send(rank(0, start(), scored(1, 256, 0.91, reached=True), scored(2, 320, 0.7)))
    end(second, 3)
    assert figures(service) == (pytest.approx(0.91), pytest.approx(0.91), pytest.approx(0.7))


@ONE_KIND
def test_a_resumed_attempt_that_goes_on_has_the_communication_of_its_own_steps(service):
    """A fifth of each step, as before its checkpoint at step 50."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(*(rank(number, start(), steps(1, 50)) for number in (0, 1)))
    assert service.run(supervisor.id)["communication_fraction"] == pytest.approx(0.2)
    second = resumed(service, supervisor)
    second.report("starting", "running")
    second.send(*(rank(number, start(restored_step=50), steps(1, 10, first=51)) for number in (0, 1)))
    assert service.run(supervisor.id)["communication_fraction"] == pytest.approx(0.2)
