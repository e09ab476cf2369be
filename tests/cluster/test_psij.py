"""The launcher of PSI/J with its executor `local`: a job is a process here that outlives its supervisor."""

import sys

import pytest
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.settings import PsijSettings, limit_seconds
from hooke.errors import LaunchError

from tests.cluster.bench import kill9
from tests.waiting import LIMIT, wait_for

SITE = PsijSettings(kind="psij", slots=4, executor="local", poll_seconds=1)


def test_without_the_library_a_sentence_says_what_to_install(bench, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "psij", None)
    with pytest.raises(LaunchError, match="pip install psij-python"):
        make(SITE).submit(None, tmp_path)


def test_an_executor_that_is_not_there_is_named_with_those_that_are(psij, bench):
    run, supervisor = bench.start(launcher=SITE.model_copy(update={"executor": "nowhere"}))
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    assert "no executor 'nowhere'" in end.why and "local" in end.why and "lsf" in end.why


def test_a_run_succeeds_and_the_job_is_told(psij, bench):
    run, supervisor = bench.start("--steps", "20", launcher=SITE)
    bench.finish(supervisor)
    assert bench.api.states(run)[-2:] == ["running", "succeeded"], bench.api.end(run)
    assert any("job" in report.why and "PSI/J (local)" in report.why for report in bench.api.reports[run, 1])
    bench.assert_complete(run)


def test_a_cancel_ends_the_ranks_together(psij, bench):
    run, supervisor = bench.start("--steps", "100000", launcher=SITE)
    bench.running(run)
    bench.api.cancel.add((run, 1))
    bench.finish(supervisor)
    assert bench.api.end(run).state == "cancelled"
    assert [bench.api.records[run, 1, rank][-1].reason for rank in (0, 1)] == ["cancelled"] * 2


def test_a_job_outlives_its_supervisor_and_is_found_again(psij, bench):
    run = bench.run_name()
    folder = bench.job([run], "--steps", "100000", launcher=SITE)
    first = bench.supervise(folder)
    bench.running(run)
    kill9(first.pid)
    first.wait()
    second = bench.supervise(folder)
    before = bench.written(run, 0)
    wait_for(lambda: bench.written(run, 0) > before + 2, "further steps")
    bench.enough(run)
    assert second.wait(LIMIT) == 0, bench.complaints()
    bench.finish(second)
    assert bench.api.end(run).state == "succeeded"
    bench.assert_complete(run)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("1:30", 90), ("4:00:00", 14400), ("1-00", 86400), ("2-01:30", 178200), ("1-00:00:05", 86405)],
)
def test_a_time_limit_is_read_as_sbatch_reads_it(text, seconds):
    assert limit_seconds(text) == seconds
