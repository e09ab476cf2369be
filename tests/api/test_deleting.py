"""Deletion: hidden at once, restorable for a while, then gone from every table and from the cluster."""

import re
from datetime import timedelta

import pytest
from hooke.cli.group import app
from hooke_api.base.settings import Settings
from hooke_api.experiments.purging import Purger
from hooke_api.models import Base, Chunk, Cluster, Experiment, Removal, database_time, now
from pydantic import ValidationError
from sqlalchemy import func, select, update
from typer.testing import CliRunner

from tests.api.hands import SPEC, lines, scored, start, steps
from tests.api.planning.test_tuning import TUNED
from tests.api.test_ingest import rank


def ended(service, **changes):
    """An experiment of one run that left a row in every table."""
    supervisor = service.launch(**changes)
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1), scored(2, 64, 0.5)), logs=lines(0, 3))
    supervisor.report("succeeded")
    return supervisor, service.run(supervisor.id)["experiment_id"]


def counts(service):
    """Rows of each table that an experiment owns; those of events and removals are counted apart."""
    apart = ("events", "removals")
    with service.database.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table))
            for table in Base.metadata.sorted_tables
            if {"run_id", "experiment_id"} & set(table.c.keys()) and table.name not in apart
        }


def let_undo_end(service):
    with service.database.write() as session:
        over = database_time(session) - timedelta(seconds=1)
        session.execute(update(Experiment).where(Experiment.deleted_at.is_not(None)).values(purge_at=over))


def purge(service, **changes):
    purger = Purger(service.database, service.settings.model_copy(update=changes))
    purger.look()
    purger.close()


def test_what_is_deleted_is_hidden_everywhere_and_comes_back(service):
    supervisor, experiment = ended(service)
    addresses = [
        f"/experiments/{experiment}",
        f"/experiments/{experiment}/comparison",
        f"/experiments/{experiment}/bands?metric=train_loss",
        f"/runs/{supervisor.id}",
        f"/runs/{supervisor.id}/logs",
    ]
    told = service.client.delete(f"/experiments/{experiment}").json()
    assert told["deleted_by"] == "owner"
    assert service.client.delete(f"/experiments/{experiment}").json() == told, "a second time changes nothing"
    for address in addresses:
        answer = service.client.get(address)
        assert answer.status_code == 404, address
        assert "can be restored until" in answer.json()["detail"]
    series = {"runs": [supervisor.id], "metrics": ["train_loss"], "axis": "clock", "points": 100}
    assert service.client.post("/series", json=series).status_code == 404
    assert service.client.patch(f"/experiments/{experiment}", json={"starred": True}).status_code == 404
    assert service.client.post(f"/runs/{supervisor.id}/retry").status_code in (404, 409)
    assert service.get("/experiments")["items"] == service.runs() == []
    assert [each["id"] for each in service.get("/deleted-experiments")["items"]] == [experiment]
    purge(service)
    back = service.client.post(f"/experiments/{experiment}/restore")
    assert back.status_code == 200
    assert all(service.client.get(address).status_code == 200 for address in addresses)
    assert service.get("/deleted-experiments")["items"] == []


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
    assert refused.status_code == 409
    assert "can be restored until" in refused.json()["detail"]


def test_a_tuning_that_another_one_continues_stays(service):
    first = service.submit(**TUNED | {"tuning": {"trials": 2}})["id"]
    with service.database.write() as session:
        mine = session.scalars(select(Experiment)).one()
        mine.finished_at = now()
        plain = {name: getattr(mine, name) for name in mine.__table__.c.keys()}  # noqa: SIM118 - no dictionary
        spec = dict(mine.spec, tuning=dict(mine.spec["tuning"], continues=mine.id))
        session.add(Experiment(**plain | {"id": "exp_second", "number": 2, "spec": spec}))
    refused = service.client.delete(f"/experiments/{first}")
    assert "experiment 2 continues the tuning of experiment 1" in refused.json()["detail"]
    for name in ("exp_second", first):
        service.client.delete(f"/experiments/{name}").raise_for_status()
    refused = service.client.post("/experiments/exp_second/restore")
    assert refused.status_code == 409
    assert "continues another one" in refused.json()["detail"]
    for name in (first, "exp_second"):
        service.client.post(f"/experiments/{name}/restore").raise_for_status()


def test_every_row_is_purged_and_those_of_others_stay(service, monkeypatch):
    _, first = ended(service)
    before = counts(service)
    others, second = ended(service)
    assert all(count > 0 for name, count in counts(service).items() if name in EVERY_RUN_HAS)
    monkeypatch.setattr("hooke_api.experiments.purging.ROWS", 2)
    monkeypatch.setattr("hooke_api.experiments.purging.LARGE_ROWS", 1)
    service.client.delete(f"/experiments/{first}").raise_for_status()
    purge(service)
    assert service.count(Experiment) == 2, "its undo period is not over"
    let_undo_end(service)
    assert service.client.post(f"/experiments/{first}/restore").status_code == 409
    purge(service)
    assert counts(service) == before
    assert [each["id"] for each in service.get("/experiments")["items"]] == [second]
    assert service.run(others.id)["state"] == "succeeded"
    assert service.client.post(f"/experiments/{first}/restore").status_code == 404
    assert service.get("/deleted-experiments")["items"] == []


EVERY_RUN_HAS = (
    *("runs", "attempts", "attempt_tokens", "transitions"),
    *("chunks", "evaluations", "phase_totals", "log_blocks"),
)


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
    service.scheduler.look()
    assert service.line.forgotten == [], "an agent of an earlier version does not know the order"
    service.hello(protocol=4)
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
    service.hello(protocol=4)
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


def test_retention_deletes_what_ended_long_ago_unless_it_is_starred_or_protected(service):
    made = [ended(service)[1] for _ in range(4)]
    for experiment, mark in zip(made, ({"starred": True}, {"protected": True}), strict=False):
        service.client.patch(f"/experiments/{experiment}", json=mark).raise_for_status()
    with service.database.write() as session:
        old = Experiment.id.in_(made[:3])
        session.execute(update(Experiment).where(old).values(finished_at=now() - timedelta(days=91)))
    purge(service)
    assert service.get("/deleted-experiments")["items"] == [], "it is off unless it is set"
    purge(service, keep_runs=timedelta(days=90))
    (deleted,) = service.get("/deleted-experiments")["items"]
    assert (deleted["id"], deleted["deleted_by"]) == (made[2], "retention")
    assert {each["id"] for each in service.get("/experiments")["items"]} == {made[0], made[1], made[3]}


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
        ({"HOOKE_KEEP_RUNS": "90"}, "'90' is no duration: write a number and one of s, m, h, d, w"),
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
    assert "'soon' is no duration" in answer.output.replace("\n", " ")


@pytest.mark.parametrize(("free", "warned"), [(10 * 2**30, False), (2**30, True)])
def test_little_space_on_the_disk_is_told(service, monkeypatch, free, warned):
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("hooke_api.web.health.shutil.disk_usage", lambda folder: usage)
    told = service.client.get("/readyz").json()["warnings"]
    assert bool(told) == warned
    assert not warned or "1.00 GiB free, less than 2 GiB" in told[0]
