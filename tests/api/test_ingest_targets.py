"""When a run met its target, and whether it diverged: what ingest stores of evaluations and ends."""

import math

import pytest
from hooke.spec.events import Checkpointed
from hooke_api.models import Run

from tests.api.databases import ONE_KIND
from tests.api.hands import scored, start
from tests.api.test_ingest import rank
from tests.api.test_scheduler import end_pauses


@ONE_KIND
def test_time_to_target_is_the_first_that_reached_it(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), scored(1, 64, 0.5), scored(2, 128, 0.95, reached=True, clock=1.5)))
    supervisor.send(rank(0, scored(3, 256, 0.97, reached=True, clock=3.0)))
    run = service.run(supervisor.id)
    assert (run["time_to_target"], run["accuracy"]) == (1.5, 0.97)


def crossing(service, run):
    with service.database.read() as session:
        row = session.get_one(Run, run)
        return row.target_after, row.time_to_target, row.diverged


@ONE_KIND
def test_the_last_evaluation_before_the_target_is_kept(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), scored(1, 64, 0.5, clock=0.5)))
    supervisor.send(rank(0, scored(2, 128, 0.6, clock=1.0)))
    assert crossing(service, supervisor.id) == (None, None, False)
    supervisor.send(rank(0, scored(3, 192, 0.95, reached=True, clock=1.5)))
    supervisor.send(rank(0, scored(4, 256, 0.85, clock=2.0), scored(5, 320, 0.97, reached=True, clock=2.5)))
    assert crossing(service, supervisor.id) == (1.0, 1.5, False)


@ONE_KIND
def test_all_evaluations_of_one_request_count(service):
    supervisor = service.launch()
    met = scored(3, 192, 0.95, reached=True, clock=1.5)
    supervisor.send(rank(0, start(), scored(1, 64, 0.5, clock=0.5), scored(2, 128, 0.6, clock=1.0), met))
    assert crossing(service, supervisor.id) == (1.0, 1.5, False)


@ONE_KIND
def test_a_target_met_by_the_first_evaluation_was_met_after_the_start(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), scored(1, 64, 0.95, reached=True, clock=0.5)))
    assert crossing(service, supervisor.id) == (0.0, 0.5, False)


@pytest.mark.parametrize(("status", "diverged"), [(5, True), (3, False)])
def test_divergence_is_told_by_its_exit_status(service, status, diverged):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.report("failed_user", exit_code=status)
    assert service.run(supervisor.id)["state"] == "failed_user"
    assert crossing(service, supervisor.id) == (None, None, diverged)


def test_a_diverged_evaluation_is_stored_as_null(service):
    supervisor = service.launch()
    supervisor.send(rank(0, start(), scored(1, 64, 0.1, loss=math.nan)))
    assert service.run(supervisor.id)["loss"] is None
    assert service.run(supervisor.id)["accuracy"] == 0.1


def checkpoint(seq, samples, of=0):
    path = f"r/1/checkpoints/{samples}/rank.{of}.npz"
    return Checkpointed(seq=seq, step=samples // 64, samples=samples, path=path, bytes=9, sha256="0" * 64)


def resumed(service, supervisor):
    """End an attempt, and return the supervisor of the next one."""
    supervisor.report("failed_infra")
    end_pauses(service)
    return service.next()


@ONE_KIND
def test_evaluations_behind_the_checkpoint_of_a_further_attempt_do_not_count(service):
    """The first attempt was slow: what it saw behind the checkpoint was at other clocks than the second one's."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    before = [scored(1, 128, 0.5, clock=1.0), checkpoint(2, 192)]
    supervisor.send(rank(0, start(), *before, scored(3, 256, 0.6, clock=4.0), scored(4, 320, 0.6, clock=5.0)))
    second = resumed(service, supervisor)
    second.report("starting", "running")
    met = scored(2, 384, 0.95, reached=True, clock=4.5)
    second.send(rank(0, start(restored_step=3), scored(1, 256, 0.6, clock=2.5), met))
    assert crossing(service, second.id) == (2.5, 4.5, False)


def test_a_further_attempt_that_meets_the_target_at_once_has_seen_it_missed_before_its_checkpoint(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    before = [scored(1, 128, 0.5, clock=1.0), checkpoint(2, 192)]
    supervisor.send(rank(0, start(), *before, scored(3, 256, 0.6, clock=4.0)))
    second = resumed(service, supervisor)
    second.report("starting", "running")
    second.send(rank(0, start(restored_step=3), scored(1, 320, 0.95, reached=True, clock=4.5)))
    assert crossing(service, second.id) == (1.0, 4.5, False)


@ONE_KIND
def test_an_attempt_that_starts_over_has_not_seen_what_the_one_before_saw(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), scored(1, 128, 0.5, clock=1.0), checkpoint(2, 192)))
    supervisor.report("failed_user", exit_code=3)
    service.client.post(f"/runs/{supervisor.id}/retry", json={"resume": False}).raise_for_status()
    second = service.next()
    second.report("starting", "running")
    second.send(rank(0, start(), scored(1, 192, 0.95, reached=True, clock=4.5)))
    assert crossing(service, second.id) == (0.0, 4.5, False)
