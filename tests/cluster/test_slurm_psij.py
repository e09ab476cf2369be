"""The launcher of PSI/J with its executor `slurm`, against a real Slurm."""

from hooke.cluster.launchers.settings import PsijSettings

from tests.waiting import LIMIT, wait_for

SITE = PsijSettings(kind="psij", slots=4, executor="slurm", queue="main", poll_seconds=1, time_limit="10")


def reasons(bench, run):
    return [report.why for report in bench.api.reports[run, 1] if report.state == "starting"]


def test_a_job_waits_as_psij_tells_runs_and_is_cancelled_in_the_queue(psij, on_slurm, bench):
    on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=drain", "reason=maintenance")
    run, supervisor = bench.start("--steps", "20", launcher=SITE)
    wait_for(lambda: any("QUEUED" in why for why in reasons(bench, run)), lambda: f"{reasons(bench, run)}")
    other, second = bench.start("--steps", "20", launcher=SITE)
    wait_for(lambda: any("QUEUED" in why for why in reasons(bench, other)), lambda: f"{reasons(bench, other)}")
    bench.folder(other).cancel.touch()
    assert second.wait(LIMIT) == 0, bench.complaints()
    assert (bench.api.end(other).state, bench.api.records[other, 1, 0]) == ("cancelled", [])
    on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=resume")
    assert supervisor.wait(LIMIT) == 0, bench.complaints()
    assert bench.api.end(run).state == "succeeded", bench.api.end(run)
    bench.assert_complete(run)
