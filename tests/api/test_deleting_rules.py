"""What may be deleted, what clusters are asked to remove, retention's settings, and the warning of a full disk."""

import re
from datetime import timedelta

import pytest
from hooke.cli.group import app
from hooke_api.base.settings import Settings
from hooke_api.experiments.purging import Purger
from hooke_api.models import Chunk, Cluster, Experiment, Removal, now
from pydantic import ValidationError
from sqlalchemy import select, update
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.test_deleting import ended, let_undo_end, purge

pytestmark = ONE_KIND  # the queries are those of test_deleting, which runs on both databases


def test_what_has_not_ended_or_is_protected_is_not_deleted(service):
    supervisor = service.launch()
    experiment = service.run(supervisor.id)["experiment_id"]
    refused = service.client.delete(f"/experiments/{experiment}")
    assert refused.status_code == 409
    assert f"/api/v1/experiments/{experiment}/cancel" in refused.json()["detail"]
    supervisor.report("starting", "running", "succeeded")
    service.client.patch(f"/experiments/{experiment}", json={"protected": True}).raise_for_status()
    assert "is protected" in service.client.delete(f"/experiments/{experiment}").json()["detail"]
    service.client.patch(f"/experiments/{experiment}", json={"protected": False}).raise_for_status()
    assert service.client.delete(f"/experiments/{experiment}").status_code == 200
    assert service.client.delete("/experiments/exp_none").status_code == 404


def test_a_failed_run_of_a_deleted_experiment_is_not_retried(service):
    supervisor = service.launch(retry={"attempts": 1})
    supervisor.report("starting", "running", "failed_infra")
    experiment = service.run(supervisor.id)["experiment_id"]
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    refused = service.client.post(f"/runs/{supervisor.id}/retry")
    assert refused.status_code == 404
    assert "can be restored until" in refused.json()["detail"]


def test_a_purge_that_was_interrupted_goes_on(service):
    _, experiment = ended(service)
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    let_undo_end(service)
    stopped = Purger(service.database, service.settings)
    signs = iter([True, True, False])
    stopped.lives = lambda: next(signs, False)
    stopped.look()
    stopped.close()
    assert service.count(Experiment) == 1
    assert service.count(Removal) == 1
    assert service.client.post(f"/experiments/{experiment}/restore").status_code == 409
    purge(service)
    assert service.count(Experiment) == service.count(Chunk) == 0
    assert service.count(Removal) == 1


def test_supervisors_of_purged_runs_are_refused(service):
    supervisor, experiment = ended(service)
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    supervisor.send()  # deleted, but it can come back: what still arrives is stored
    let_undo_end(service)
    purge(service)
    assert supervisor.post(supervisor.request().model_dump_json().encode()).status_code == 401


def forgotten(service, *runs, kept=(), status=204):
    body = {"agent": None, "forgotten": list(runs), "kept": [{"run": run, "why": "alive"} for run in kept]}
    answer = service.agent.post("/agents/forgotten", json=body)
    assert answer.status_code == status, answer.text


def test_a_cluster_is_asked_until_it_confirms(service):
    supervisor, experiment = ended(service)
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    let_undo_end(service)
    purge(service)
    service.line.down = True
    service.scheduler.look()
    service.line.down = False
    service.scheduler._silent_until = 0.0
    service.scheduler.look()
    service.scheduler.look()
    assert service.line.forgotten == [("local", [supervisor.id])], "asked once, and not again at once"
    forgotten(service, kept=[supervisor.id])
    with service.database.write() as session:
        assert session.scalars(select(Removal.refused)).one() == "alive"
        session.execute(update(Removal).values(asked_at=now() - timedelta(minutes=2)))
        session.execute(update(Cluster).values(seen_at=now() - timedelta(minutes=2)))
    service.scheduler.look()
    assert len(service.line.forgotten) == 1, "its agent is away"
    service.hello()
    service.scheduler.look()
    assert len(service.line.forgotten) == 2
    forgotten(service, supervisor.id)
    forgotten(service, supervisor.id)
    assert service.count(Removal) == 0


def test_an_agent_confirms_for_its_own_cluster_only(service):
    supervisor, experiment = ended(service)
    service.client.delete(f"/experiments/{experiment}").raise_for_status()
    let_undo_end(service)
    purge(service)
    with service.database.write() as session:
        session.execute(update(Cluster).values(agent="agt_" + "0" * 32))
    forgotten(service, supervisor.id, status=409)
    token = service.client.post("/clusters/other/tokens", json={"label": "x"}).json()["token"]
    body = {"forgotten": [supervisor.id], "kept": []}
    answer = service.sender.post(
        f"{service.url}/api/v1/agents/forgotten", json=body, headers={"authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 403
    assert service.count(Removal) == 1


def test_what_somebody_has_restored_is_not_deleted_again_at_once(service):
    _, experiment = ended(service)
    past, hour = now() - timedelta(hours=2), timedelta(hours=1)

    def age(column: str) -> None:
        with service.database.write() as session:
            session.execute(update(Experiment).values({column: past}))

    age("finished_at")
    purge(service, keep_runs=hour)
    (gone,) = service.get("/deleted-experiments")["items"]
    assert gone["deleted_by"] == "retention"
    service.client.post(f"/experiments/{experiment}/restore").raise_for_status()
    purge(service, keep_runs=hour)
    assert service.client.get(f"/experiments/{experiment}").status_code == 200
    age("restored_at")
    purge(service, keep_runs=hour)
    assert service.client.get(f"/experiments/{experiment}").status_code == 404


def test_an_idempotency_key_of_a_deleted_experiment_is_refused_and_free_after_the_purge(service):
    service.hello()
    post = {"json": SPEC, "headers": {"Idempotency-Key": "once"}}
    made = service.client.post("/experiments", **post).json()["id"]
    service.client.post(f"/experiments/{made}/cancel").raise_for_status()
    service.client.delete(f"/experiments/{made}").raise_for_status()
    assert service.client.post("/experiments", **post).status_code == 409
    let_undo_end(service)
    purge(service)
    assert service.client.post("/experiments", **post).status_code == 201


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"HOOKE_KEEP_RUNS": "90"}, "'90' is not a duration: write a number and one of s, m, h, d, w"),
        ({"HOOKE_KEEP_RUNS": "30m"}, "30 minutes is less than 1 hour"),
        ({"HOOKE_UNDO": "1m"}, "1 minute is less than 10 minutes"),
        ({"HOOKE_KEEP_RUNS": "999999d"}, "longer than 36500 days"),
    ],
)
def test_times_that_make_no_sense_are_refused_at_the_start(monkeypatch, changes, words):
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError, match=re.escape(words)):
        Settings()


def test_times_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("HOOKE_KEEP_RUNS", "90d")
    monkeypatch.setenv("HOOKE_UNDO", "36h")
    assert (Settings().keep_runs, Settings().undo) == (timedelta(days=90), timedelta(hours=36))
    monkeypatch.setenv("HOOKE_KEEP_RUNS", "")
    assert Settings().keep_runs is None


def test_the_option_of_hooke_up_is_checked_before_anything_starts():
    answer = CliRunner().invoke(app, ["up", "--keep-runs", "soon"])
    assert answer.exit_code == 2
    assert "'soon' is not a duration" in answer.output.replace("\n", " ")


def test_little_space_on_the_disk_is_told(service, monkeypatch):
    for gib, told in ((10, []), (1, ["1.00 GiB free, less than 2 GiB"])):
        usage = type("Usage", (), {"free": gib * 2**30})
        monkeypatch.setattr("hooke_api.web.health.shutil.disk_usage", lambda folder, usage=usage: usage)
        warnings = service.client.get("/readyz").json()["warnings"]
        assert len(warnings) == len(told)
        assert all(words in warning for words, warning in zip(told, warnings, strict=True))
