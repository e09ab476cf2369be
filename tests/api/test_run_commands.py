"""`hooke runs`, as a user types it, against a running API."""

from datetime import timedelta

import pytest
from hooke.cli import runs
from hooke.cli.group import app
from hooke_api.models import Cluster, now
from hooke_api.runs import attempts
from sqlalchemy import update
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, Supervisor

pytestmark = ONE_KIND  # the database makes no difference to a command


def hooke(*arguments, status=0, given=None):
    answer = CliRunner().invoke(app, ["runs", *arguments], input=given)
    assert answer.exit_code == status, answer.output
    return answer.output


@pytest.fixture
def remote(service, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    service.hello()
    return service


def launch(remote, **changes):
    remote.client.post("/experiments", json=SPEC | ALONE | changes).raise_for_status()
    return remote.next()


def test_a_failed_run_is_retried_from_its_checkpoint_or_from_the_beginning(remote):
    supervisor = launch(remote, retry={"attempts": 1})
    assert "only a run that has ended without success" in hooke("retry", supervisor.id, status=1)
    supervisor.report("starting", "running", "failed_infra")
    assert hooke("retry", supervisor.id) == f"{supervisor.id} is queued for attempt 2\n"
    second = remote.next()
    assert second.order.resume_from == 1
    second.report("starting", "running", "failed_user")
    assert "attempt 3" in hooke("retry", supervisor.id, "--from-start")
    assert remote.next().order.resume_from == 3
    assert "give the id of a run, or --experiment" in hooke("retry", status=1)
    assert "no run has the id run_x" in hooke("retry", "run_x", status=1)


def test_an_experiment_is_cancelled_by_its_number(remote):
    run = launch(remote, clusters=[{"name": "local", "workers": [2], "seeds": 3}])
    assert hooke("cancel", "--experiment", "1") == "experiment 1 is running, and ends\n"
    assert "give the id of a run, or --experiment" in hooke("cancel", run.id, "--experiment", "1", status=1)
    assert [each["cancel_requested"] for each in remote.get("/runs")["items"]] == [True] * 3


def test_all_runs_of_an_experiment_that_failed_without_a_fault_of_theirs_are_retried(remote):
    seeds = [{"name": "local", "workers": [2], "seeds": 3}]
    launch(remote, clusters=seeds, retry={"attempts": 1})
    experiment = remote.get("/experiments")["items"][0]["id"]
    members = [Supervisor(remote, order) for order in remote.line.launched[-1][1]]
    for member, end in zip(members, ("failed_infra", "failed_user", "timed_out"), strict=True):
        member.report("starting", "running", end)
    told = hooke("retry", "--experiment", experiment).splitlines()
    assert told == [f"{member.id} is queued for attempt 2" for member in (members[0], members[2])]
    assert "no run of the experiment has timed out or failed" in hooke("retry", "--experiment", experiment)
    rows = [line.split() for line in hooke("list", experiment).splitlines()]
    assert rows[0][:6] == ["RUN", "NUMBER", "VARIANT", "CLUSTER", "SEED", "STATE"]
    assert [(row[0], row[5], row[6]) for row in rows[1:]] == [
        (members[0].id, "queued", "2"),
        (members[1].id, "failed_user", "1"),
        (members[2].id, "queued", "2"),
    ]
    assert hooke("cancel", members[0].id) == f"{members[0].id} is cancelled\n"


def test_a_run_is_abandoned_after_its_risk_was_said(remote):
    supervisor = launch(remote)
    with remote.database.write() as session:
        session.execute(update(Cluster).values(seen_at=now() - timedelta(seconds=60)))
    told = hooke("abandon", supervisor.id, status=1, given="n\n")
    assert runs.RISK in told and "nothing was changed" in told
    assert remote.run(supervisor.id)["state"] == "dispatched"
    assert f"{supervisor.id} is cancelled" in hooke("abandon", supervisor.id, given="y\n")
    assert "there is nothing to abandon" in hooke("abandon", supervisor.id, "--yes", status=1)


def test_the_risk_is_the_same_everywhere():
    assert runs.RISK.lower().replace("the server", "this server").rstrip(".") == attempts.RISK


def test_runs_of_all_experiments_are_found_by_a_filter(remote):
    supervisor = launch(remote)
    supervisor.report("starting", "running", "succeeded")
    lines = hooke("list", "--filter", "state = succeeded and workers = 2", "--sort", "-test_accuracy").splitlines()
    assert lines[0].split()[:4] == ["RUN", "VARIANT", "CLUSTER", "WORKERS"]
    assert [line.split()[0] for line in lines[1:]] == [supervisor.id]
    assert len(hooke("list", "1", "--filter", "state = failed").splitlines()) == 1
    assert "did you mean workers?" in hooke("list", "--filter", "worker = 2", status=1)
    assert "give an experiment, or --filter" in hooke("list", status=1)
