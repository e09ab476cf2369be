"""The train clock where ranks wait for a core after a stop: nobody works while it stands, and all stand alike."""

import pytest
from hooke.spec import invariants

from tests.engine.loop.setup import LATE, journal

STOPS = ("evaluation", "checkpoint")


@pytest.mark.parametrize("name", ["the first is late", "another is late", "the first is late, lock-free"])
def test_a_rank_that_gets_its_core_late_hides_no_work(played, name, monkeypatch):
    """The defect: the deciding rank restarted the clock when it got its core; the others worked before that."""
    run = played(name, "mpi")
    for bound in ("LEAST_PER_STOP", "SHARE_PER_STOP", "SLACK_PER_STOP"):
        monkeypatch.setattr(invariants, bound, 0.0)
    monkeypatch.setattr(invariants, "SLACK", 1e-4)
    assert invariants.faults(run.folder) == []


@pytest.mark.parametrize("name", ["the first is late", "another is late", "the first is late, lock-free"])
def test_all_ranks_are_off_the_clock_for_the_same_seconds(played, name):
    run = played(name, "mpi")
    stops = [record.seconds for kind in STOPS for record in journal(run.folder, 0, kind) if record.samples]
    assert len(stops) >= 10
    assert all(seconds > 0 for seconds in stops)
    for report in run.first:
        off = report.done.phases["evaluate"] - report.done.test_seconds
        assert off == pytest.approx(sum(stops), abs=1e-4)
        assert report.done.phases["idle"] >= LATE * len(stops) * (report is run.first[run.setup.late])
