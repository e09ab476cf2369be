"""Deletion: hidden at once, restorable for a while, then gone from every table and from the cluster."""

import threading
from datetime import timedelta

from hooke.spec.files import packed
from hooke_api.experiments.purging import Purger
from hooke_api.models import Base, Experiment, database_time, now
from sqlalchemy import func, select, update

from tests.api.hands import ALONE, lines, scored, start, steps
from tests.api.test_ingest import rank


def ended(service, **changes):
    """An experiment of one run that left a row in every table."""
    supervisor = service.launch(**changes)
    supervisor.report("starting", "running")
    supervisor.send(
        rank(0, start(), steps(1), scored(2, 64, 0.5)), logs=lines(0, 3), files=[packed("system", 0, b"{}\n")]
    )
    supervisor.report("succeeded")
    return supervisor, service.run(supervisor.id)["experiment_id"]


def columns(experiment):
    """All columns of a row, to store another one like it."""
    return {name: getattr(experiment, name) for name in experiment.__table__.c.keys()}  # noqa: SIM118 - no dictionary


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


def test_a_tuning_that_another_one_continues_stays(service):
    first = service.submit(**ALONE)["id"]
    with service.database.write() as session:
        mine = session.scalars(select(Experiment)).one()
        mine.finished_at = now()
        spec = mine.spec | {"tuning": {"trials": 2, "continues": mine.id}}
        session.add(Experiment(**columns(mine) | {"id": "exp_second", "number": 2, "spec": spec}))
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


def test_retention_deletes_what_ended_long_ago_unless_it_is_starred_or_protected(service):
    made = [service.submit(**ALONE)["id"]]
    changes = {
        "starred": {"starred": True},
        "protected": {"protected": True},
        "old": {},
        "new": {"finished_at": now()},
    }
    with service.database.write() as session:
        mine = session.scalars(select(Experiment)).one()
        plain = columns(mine) | {"finished_at": now() - timedelta(days=91)}
        for number, (name, marks) in enumerate(changes.items(), 2):
            session.add(Experiment(**plain | {"id": name, "number": number} | marks))
    purge(service)
    assert service.get("/deleted-experiments")["items"] == [], "it is off unless it is set"
    purge(service, keep_runs=timedelta(days=90))
    (deleted,) = service.get("/deleted-experiments")["items"]
    assert (deleted["id"], deleted["deleted_by"]) == ("old", "retention")
    assert {each["id"] for each in service.get("/experiments")["items"]} == {*made, "starred", "protected", "new"}


def test_two_who_add_tags_at_once_do_not_undo_each_other(service):
    experiment = service.submit(**ALONE)["id"]
    tags = [f"t{i}" for i in range(8)]

    def add(tag):
        service.client.patch(f"/experiments/{experiment}", json={"add_tags": [tag]}).raise_for_status()

    threads = [threading.Thread(target=add, args=(tag,)) for tag in tags]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = service.get(f"/experiments/{experiment}")
    assert (told["tags"], told["revision"]) == (tags, 8)
