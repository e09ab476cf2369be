"""Positions, reasons and predicted times, on hand-made queues."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hooke_api.queue.outlook import outlooks
from hooke_api.queue.policies import following
from hooke_api.queue.prediction import Prediction
from hooke_api.queue.settings import QueuePolicy
from hooke_api.queue.state import Active, Batch, Calibrating, Elsewhere, Entry, QueueState

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp()


def entry(name, runs=1, ranks=2, seconds=600.0, at=0.0, **more):
    batch = Batch(runs, ranks, None if seconds is None else Prediction(seconds, spread=60.0))
    return Entry(name, "ada", at, (batch,), **more)


def queue(*entries, active=(), **more):
    return QueueState("lab", 8, NOON, tuple(entries), tuple(active), **({"seen_at": NOON} | more))


def reasons(state):
    return [each.reason for each in outlooks(state)]


def test_an_idle_cluster_starts_the_first_now_and_the_others_after_it():
    first, second = outlooks(queue(entry("a", runs=3), entry("b", at=1)))
    assert (first.position, first.reason, first.start.at) == (1, "next to start", NOON)
    assert (second.position, second.reason) == (2, "behind 1 experiment (3 runs)")
    assert (second.experiments_ahead, second.runs_ahead) == (1, 3)
    assert second.start.at == first.end.at == NOON + 1800
    assert second.end.at == NOON + 2400


def test_the_interval_grows_with_the_root_of_independent_runs():
    (found,) = outlooks(queue(entry("a", runs=4)))
    assert found.end.latest - found.end.at == pytest.approx(1.645 * 60 * 2)
    assert found.end.at - found.end.earliest == pytest.approx(1.645 * 60 * 2)
    assert found.start.earliest == NOON, "nothing starts in the past"


def test_a_taken_cluster_says_by_whom_and_until_when():
    active = [Active("x", "bob", 4, left=(5 * 60.0, 0.0), number=7)]
    assert reasons(queue(entry("a"), active=active)) == [
        "the cluster is taken by experiment 7 until about 12:05 UTC: timed runs share no cores"
    ]
    assert outlooks(queue(entry("a"), active=active))[0].start.at == NOON + 300


def test_another_cluster_on_the_machine_is_waited_for():
    state = queue(entry("a"), entry("b", at=1), elsewhere=Elsewhere("hpc", "is timing a run", (300.0, 0.0)))
    told = "another cluster on the same machine, hpc, is timing a run"
    assert reasons(state) == [f"{told} until about 12:05 UTC", "behind 1 experiment (1 run)"]
    assert [each.start.at for each in outlooks(state)] == [NOON + 300, NOON + 900]
    for left in (None, (1e13, 0.0)):
        unknown = replace(state, elsewhere=Elsewhere("hpc", "is timing a run", left))
        assert (reasons(unknown)[0], outlooks(unknown)[0].start) == (told, None)


def test_too_few_slots_say_how_many_are_free_until_when():
    active = [Active("x", "bob", 4, left=(125 * 60.0, 0.0))]
    state = queue(entry("a", ranks=8), active=active)
    assert reasons(state) == ["needs 8 slots, 4 are free until about 14:05 UTC"]
    assert reasons(replace(state, exclusive=False)) == ["needs 8 slots, 4 are free until about 14:05 UTC"]
    tomorrow = replace(state, active=(replace(active[0], left=(13 * 3600.0, 0.0)),))
    assert reasons(tomorrow) == ["needs 8 slots, 4 are free until about 2026-03-02 01:00 UTC"]
    unknown = replace(state, active=(replace(active[0], left=None),))
    assert reasons(unknown) == ["needs 8 slots, 4 are free for an unknown time"]
    assert outlooks(unknown)[0].start is None


def test_slots_that_become_free_one_after_the_other_are_added_up():
    active = [Active("x", "bob", 4, left=(600.0, 0.0)), Active("y", "eve", 3, left=(60.0, 0.0))]
    state = queue(entry("a", ranks=5), entry("b", at=1, ranks=2), active=active, exclusive=False)
    first, second = outlooks(state)
    assert first.reason == "needs 5 slots, 1 is free until about 12:10 UTC"
    assert (first.start.at - NOON, second.start.at - NOON) == (600, 600), "nothing overtakes the first"


def test_offline_and_drained_clusters_promise_nothing():
    for more, reason in (
        ({"online": False, "seen_at": NOON + 62 * 60.0 - 3600}, "cluster offline since 12:02 UTC"),
        ({"drained": True}, "cluster is drained"),
    ):
        (found,) = outlooks(queue(entry("a"), **more))
        assert (found.reason, found.start, found.end) == (reason, None, None)


def test_behind_an_unknown_duration_nothing_is_predicted():
    first, second = outlooks(queue(entry("a", seconds=None), entry("b", at=1)))
    assert first.start.at == NOON
    assert (first.end, second.start, second.end) == (None, None, None)


def test_one_that_is_held_says_why_and_does_not_delay_others():
    policy, active = QueuePolicy(max_active_runs=2), [Active("x", "ada", 2, runs=2, left=(60.0, 0.0))]
    other = replace(entry("b", at=1), user="bob")
    found = outlooks(queue(entry("a"), other, active=active, policy=policy, exclusive=False))
    assert [(each.entry.experiment, each.position) for each in found] == [("b", 1), ("a", 2)]
    assert found[1].reason == "held: 2 runs of ada are active, the limit is 2"
    assert (found[0].start.at, found[1].start) == (NOON, None)


def test_a_later_run_of_an_experiment_starts_after_those_before_it():
    active = [Active("x", "bob", 2, left=(60.0, 30.0), number=7)]
    (found,) = outlooks(queue(entry("a", runs=5), active=active))
    start, reason = found.after(2, [(2, Prediction(600.0, spread=20.0, error=10.0))], NOON)
    assert start.at == NOON + 60 + 1200
    assert (start.latest - start.at) / 1.645 == pytest.approx((30**2 + 2 * 20**2 + 20**2) ** 0.5)
    assert reason.endswith("share no cores, then 2 runs of its experiment")
    assert found.after(0, [], NOON) == (found.start, found.reason)
    assert found.after(1, [(1, None)], NOON)[0] is None


def test_a_limit_of_active_runs_lets_nobody_pass_where_launches_follow_one_another():
    """When the launch has ended, no run of the user is active any more: the one that has begun goes on."""
    policy, active = QueuePolicy(max_active_runs=2), [Active("a", "ada", 2, runs=2, left=(60.0, 0.0))]
    other = replace(entry("b", at=-1), user="bob")
    found = outlooks(queue(entry("a", begun=True), other, active=active, policy=policy))
    assert [(each.entry.experiment, each.start.at - NOON) for each in found] == [("a", 60), ("b", 660)]
    assert found[0].reason == "held: 2 runs of ada are active, the limit is 2"
    assert found[1].reason == "behind 1 experiment (1 run)"


def test_a_run_that_is_over_its_predicted_end_is_told_to_be_late():
    active = [Active("x", "bob", 4, left=(5 * 60.0, 100.0), number=7, late=12 * 60.0)]
    (said,) = reasons(queue(entry("a"), active=active))
    assert said.startswith("the cluster is taken by experiment 7 until about 12:05 UTC, already 12 min late: ")
    assert reasons(queue(entry("a", ranks=8), active=active)) == [
        "needs 8 slots, 4 are free until about 12:05 UTC, already 12 min late"
    ]
    (longer,) = reasons(queue(entry("a", ranks=8), active=[replace(active[0], late=125 * 60.0)]))
    assert longer.endswith("already 2 h 05 min late")


def test_a_calibration_comes_first():
    active = [Active("x", "bob", 4, left=(300.0, 0.0), number=7)]
    waits = queue(entry("a"), active=active, calibration=Calibrating(False, (60.0, 30.0)))
    (found,) = outlooks(waits)
    assert (found.reason, found.start.at) == ("behind a calibration of the cluster", NOON + 360)
    assert (found.start.latest - found.start.at) / 1.645 == pytest.approx(30)
    runs = queue(entry("a"), entry("b", at=1), calibration=Calibrating(True, (120.0, 30.0)))
    assert reasons(runs) == [
        "the cluster is being calibrated until about 12:02 UTC",
        "behind 1 experiment (1 run)",
    ]
    assert outlooks(runs)[0].start.at == NOON + 120
    assert following(runs) is None


@pytest.mark.parametrize("seconds", [1e10, 1e15, math.inf])
def test_what_ends_in_centuries_is_not_predicted(seconds):
    """A budget of 10^12 samples with a wall limit means minutes; no time of it may break the queue."""
    active = [Active("x", "bob", 4, left=(seconds, seconds), number=7)]
    first, second = outlooks(queue(entry("a", seconds=seconds), entry("b", at=1)))
    assert (first.start.at, first.end, second.start) == (NOON, None, None)
    (found,) = outlooks(queue(entry("a"), active=active))
    assert found.reason == "the cluster is taken by experiment 7 for an unknown time: timed runs share no cores"
    assert (found.start, found.end) == (None, None)
