"""Lock-free methods: exact at meetings, nobody waits between them, and what is lost is known."""

from collections import Counter

import numpy as np
import pytest
from hooke.spec.journal import unpack

from tests.engine.loop.setup import BATCH, HELD, NETWORK, Setup, journal, play_virtual
from tests.engine.loop.setups import ONE_HOST

WORLDS = ("virtual", "mpi")


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["atomic", "plain", "atomic every third"])
def test_the_budget_is_spent_exactly_and_evaluations_are_due(played, name, world):
    reports = played(name, world).first
    assert sum(report.done.step for report in reports) == sum(report.picked for report in reports) == 150
    assert {report.done.samples for report in reports} == {150 * BATCH}
    assert {report.done.reason for report in reports} == {"budget"}
    period = 3 if "third" in name else 1
    for report in reports:
        samples = [samples for samples, _ in report.scores]
        assert (samples[0], samples[-1], len(samples)) == (0, 150 * BATCH, 5)
        for k, at in enumerate(samples[1:-1], 1):  # of the steps taken, each worker may still have a period to do
            assert 47 * k - 3 * period <= at / BATCH <= 47 * k + period
        assert report.scores == reports[0].scores
        assert report.picked > 1 or world == "mpi", "who is how quick there is the machine's affair"


@pytest.mark.parametrize("world", WORLDS)
def test_all_ranks_score_one_center(played, world):
    reports = played("atomic", world).first
    assert all(np.array_equal(report.center, reports[0].center) for report in reports)


@pytest.mark.parametrize("world", WORLDS)
def test_atomic_updates_lose_nothing(played, world):
    """I1: c and all x_i together move by the gradients alone, summed here from what the problem returned."""
    reports = played("atomic", world).first
    moved = sum(r.weights.astype(float) - r.start for r in reports) + reports[0].center - reports[0].start
    gradients = -0.05 * sum(report.spent for report in reports)
    assert np.abs(moved - gradients).max() < 1e-5
    assert 0 <= reports[0].done.lost_mass < 1e-5
    assert [report.done.lost_mass for report in reports[1:]] == [None, None]


@pytest.mark.parametrize("world", WORLDS)
def test_every_step_that_was_counted_is_in_the_center(played, world):
    """Also those of a period that the end has cut short: the gradients are summed as the problem returned them."""
    reports = played("pushed, every fourth", world).first
    assert sum(report.picked for report in reports) == 151
    moved = reports[0].center.astype(float) - reports[0].start
    np.testing.assert_allclose(moved, -0.05 * sum(report.spent for report in reports), atol=1e-5)
    assert 0 <= reports[0].done.lost_mass < 1e-5


def lost(reports):
    """From outside: what pulls took from the workers, but did not arrive at the center, of all that was pushed."""
    missing = sum(r.weights.astype(float) - r.start + 0.05 * r.spent for r in reports)
    missing += reports[0].center - reports[0].start
    return np.abs(missing).sum() / sum(report.mass for report in reports)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["atomic", "plain"])
def test_lost_mass_is_what_is_missing_from_the_center(played, name, world):
    reports = played(name, world).first
    assert reports[0].done.lost_mass == pytest.approx(lost(reports), rel=1e-2, abs=2e-6)


def test_plain_stores_are_refused_where_no_memory_is_shared(played):
    """On every rank: nobody who asks for plain stores gets figures of something else."""
    said = played("plain, apart", "mpi").ranks
    assert said == [said[0]] * 3
    (objective,) = said[0]
    assert objective.pointer == "/algorithm/parameters/updates"
    assert "2 of 3 ranks share no memory with rank 0" in objective.message
    assert "`atomic`" in objective.message


def test_what_may_choose_says_what_it_chose(played):
    run = played("whatever, apart", "mpi")
    assert sum(report.done.step for report in run.first) == 60
    said = [journal(run.folder, rank, "start")[0].notes["updates of center"] for rank in range(3)]
    assert said[0] == "plain loads and stores in shared memory", "it has the center"
    assert set(said[1:]) == {"element-wise atomic additions (memory is not shared)"}


@pytest.mark.parametrize("updates", ["plain", "atomic"])
def test_additions_that_overlap_are_lost_if_plain(updates, tmp_path):
    """In virtual time, with a memory so slow that workers add at the same time."""
    slow = (("virtual", dict(ONE_HOST)["virtual"] | {"memory_bandwidth": 1e5}),)
    crowded = Setup("unlocked", (("updates", updates),), steps=150, changes=slow)
    reports = [ranks[0] for ranks in play_virtual(crowded, tmp_path / "run")]
    assert reports[0].done.lost_mass == pytest.approx(lost(reports), rel=1e-3, abs=2e-6)
    assert (reports[0].done.lost_mass > 0.01) == (updates == "plain")


@pytest.mark.parametrize("world", WORLDS)
def test_staleness_is_counted_from_each_exchange_to_the_next(played, world):
    run = played("atomic", world)
    for rank, report in enumerate(run.first):
        stale = report.done.staleness
        assert sum(stale.values()) == max(0, report.done.step - 1)
        assert min(stale, default=0) >= 0
        notes = journal(run.folder, rank, "start")[0].notes
        assert "passed the conformance test" in notes["one-sided operations"]
        assert notes["updates of center"].startswith("element-wise atomic")
    together = sum(sum(report.done.staleness.values()) for report in run.first)
    assert together == 150 - sum(report.done.step > 0 for report in run.first)
    assert played("plain", world).first[0].done.lost_mass is not None


def test_a_slow_worker_lowers_only_its_own_rate(played):
    steps = [report.done.step for report in played("a slow one", "virtual").first]
    assert sum(steps) == 150
    assert 1 <= steps[1] < min(steps[0], steps[2]) / 3


def test_nobody_waits_for_a_worker_that_waits_for_all_others(played):
    """With real processes: its second gradient ends when all others have taken many; else the run would hang."""
    steps = [report.done.step for report in played("a slow one", "mpi").first]
    assert sum(steps) == 150
    assert steps[0] + steps[2] >= HELD
    assert steps[1] >= 2


@pytest.mark.parametrize("world", WORLDS)
def test_a_wish_brings_all_together_before_the_segment_ends(played, world):
    reports = played("cancelled", world).first
    assert {report.done.reason for report in reports} == {"cancelled"}
    (samples,) = {report.done.samples for report in reports}
    assert samples == BATCH * sum(report.picked for report in reports)
    assert 200 * BATCH <= samples < 300 * BATCH, "it was asked for in the evaluation after 200 steps"
    assert (played("cancelled", world).folder / "checkpoints" / str(samples) / "complete.json").exists()


@pytest.mark.parametrize("world", WORLDS)
def test_meetings_are_off_the_clock(played, world):
    for report in played("atomic", world).first:
        done = report.done
        assert done.phases["evaluate"] > 0
        assert sum(done.phases.values()) == pytest.approx(done.wall, rel=1e-6)
        assert done.clock == pytest.approx(done.wall - done.phases["evaluate"], rel=1e-6)


@pytest.mark.property("P12", of=("hogwild-sgd",), workers=3)
def test_equal_workers_are_as_stale_as_the_others_are_many(tmp_path):
    """P12: P - 1 in steady state; a few updates fall together at the start."""
    even = (("virtual", NETWORK | {"compute_jitter": 0.0}),)
    setup = Setup("hogwild-sgd", steps=150, every=150, changes=even)
    reports = [ranks[0] for ranks in play_virtual(setup, tmp_path)]
    counted = sum((Counter(report.done.staleness) for report in reports), Counter())
    assert counted[2] >= 140
    assert counted.total() == 150 - 3, "the first exchange of a worker has none before it"
    blocks = journal(tmp_path, 2, "steps")
    rows = [row for block in blocks for row in unpack("staleness", block.columns["staleness"])]
    assert np.isnan(rows.pop(0))
    assert Counter(map(int, rows)) == reports[2].done.staleness, "a row per step says the same"


def test_virtual_time_makes_it_deterministic(played, tmp_path):
    again = [reports[0] for reports in play_virtual(played("plain", "virtual").setup, tmp_path / "again")]
    for one, other in zip(played("plain", "virtual").first, again, strict=True):
        assert one.weights.tobytes() == other.weights.tobytes()
