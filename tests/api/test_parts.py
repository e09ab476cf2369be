"""Validation and test part over HTTP: what is new, what was made without a validation part, what is refused."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from alembic import command
from hooke.spec.events import RankRecords
from hooke_api.models import Experiment, Run
from hooke_api.storage.database import alembic_config

from tests.api.conftest import done, scored, start, steps
from tests.api.databases import MIGRATIONS, ONE_KIND
from tests.api.hands import SPEC

NOTE = "made without a validation part: the target was judged on the test part"


def ended(service, began, last):
    """A run of one attempt that has scored twice."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    records = [began, steps(1), scored(2, 128, 0.5), scored(3, 256, 0.92, reached=True), last]
    supervisor.send(RankRecords(rank=0, records=records))
    supervisor.report("succeeded")
    return supervisor.id


def drawn(service, run: str) -> dict[str, list[float]]:
    metrics = ["validation_accuracy", "validation_loss", "test_accuracy", "test_loss"]
    answer = service.client.post("/series", json={"runs": [run], "metrics": metrics, "axis": "samples"})
    return {one["metric"]: one["y"] for one in answer.json()["series"]}


def test_the_test_score_is_a_figure_of_the_end_and_no_series(service):
    run = ended(service, start(), done(4, reason="target", test_loss=0.3, test_accuracy=0.9))
    view = service.run(run)
    assert (view["evaluated_part"], view["accuracy"]) == ("validation", 0.92)
    assert (view["test_accuracy"], view["test_loss"]) == (0.9, 0.3)
    assert {row["id"]: row["test_accuracy"] for row in service.runs()}[run] == 0.9
    found = drawn(service, run)
    assert (found["validation_accuracy"], found["test_accuracy"]) == ([0.5, 0.92], [])
    assert (len(found["validation_loss"]), found["test_loss"]) == (2, [])
    comparison = service.get(f"/experiments/{view['experiment_id']}/comparison")
    assert (comparison["note"], comparison["target"]) == (None, "90% validation accuracy")
    (row,) = [row for row in comparison["rows"] if row["variant"] == view["variant"]]
    assert row["test_accuracy"] == {"mean": 0.9, "low": None, "high": None, "n": 1, "unit": "fraction"}
    assert row["accuracy"]["mean"] == 0.92


def test_a_run_that_was_stopped_has_none(service):
    run = ended(service, start(), done(4, reason="cancelled"))
    assert (service.run(run)["test_accuracy"], service.run(run)["test_loss"]) == (None, None)


def test_a_run_of_an_older_version_keeps_its_numbers_under_the_old_name(service):
    older = start().model_dump(exclude={"evaluated_part"})
    run = ended(service, type(start()).model_validate(older), done(4, reason="target"))
    view = service.run(run)
    assert (view["evaluated_part"], view["accuracy"], view["test_accuracy"]) == ("test", 0.92, None)
    found = drawn(service, run)
    assert (found["validation_accuracy"], found["test_accuracy"]) == ([], [0.5, 0.92])
    path = f"/experiments/{view['experiment_id']}"
    bands = service.get(f"{path}/bands", metric=["test_loss", "validation_loss"])["bands"]
    assert {band["metric"] for band in bands if band["runs"]} == {"test_loss"}
    comparison = service.get(f"{path}/comparison")
    assert comparison["note"] == NOTE
    assert {row["test_accuracy"]["n"] for row in comparison["rows"]} == {0}


def test_an_experiment_stored_before_is_shown_and_says_so(service):
    experiment = service.submit()["id"]
    with service.database.write() as session:
        row = session.get_one(Experiment, experiment)
        row.spec = row.spec | {"target": {"metric": "test_accuracy", "value": 0.9, "of": "center"}}
    shown = service.get(f"/experiments/{experiment}")
    assert shown["spec"]["target"]["metric"] == "test_accuracy"
    comparison = service.get(f"/experiments/{experiment}/comparison")
    assert (comparison["target"], comparison["note"]) == ("90% test accuracy", NOTE)
    assert service.client.post(f"/experiments/{experiment}/cancel").status_code == 202


def test_without_a_target_it_is_said_what_was_scored(service):
    experiment = service.submit(target=None)["id"]
    assert service.get(f"/experiments/{experiment}/comparison")["note"] is None
    with service.database.write() as session:
        session.execute(sa.update(Run).values(evaluated_part="test"))
    said = service.get(f"/experiments/{experiment}/comparison")["note"]
    assert said == "made without a validation part: evaluations scored the test part"


@pytest.mark.parametrize("path", ["/experiments", "/experiments/dry-run"])
@pytest.mark.parametrize("metric", ["test_accuracy", "test_loss"])
@ONE_KIND
def test_a_target_on_the_test_part_is_refused_with_what_to_write(service, path, metric):
    service.hello()
    answer = service.client.post(path, json=SPEC | {"target": {"metric": metric, "value": 0.5}})
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    instead = metric.replace("test", "validation")
    assert fault["pointer"] == "/target/metric"
    assert f"write {instead} instead of {metric}" in fault["message"]
    assert service.count(Experiment) == 0


def test_migrating_marks_the_runs_that_had_begun(database):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0002")
    with database.write() as session:
        tables = sa.MetaData()
        tables.reflect(session.connection())
        session.execute(tables.tables["experiments"].insert().values(filled(tables, "experiments", id="e")))
        for run in ("begun", "queued"):
            session.execute(
                tables.tables["runs"].insert().values(filled(tables, "runs", id=run, experiment_id="e"))
            )
        for run, host in (("begun", "node"), ("queued", None)):
            row = filled(tables, "phase_totals", run_id=run, host=host)
            session.execute(tables.tables["phase_totals"].insert().values(row))
    database.migrate(MIGRATIONS)
    with database.read() as session:
        found = dict(session.execute(sa.select(Run.id, Run.evaluated_part)).all())
    assert found == {"begun": "test", "queued": None}


def filled(tables: sa.MetaData, name: str, **values) -> dict:
    """A row whose obligatory columns hold something of their type."""
    row = {}
    for column in tables.tables[name].columns:
        if column.nullable or column.server_default is not None or column.name in values:
            continue
        kind = column.type.python_type
        number = sum(map(ord, values.get("id", ""))) if column.name == "number" else 0
        row[column.name] = {str: "prj_default", dict: {}, datetime: datetime.now(UTC)}.get(kind, number)
        if kind is str and column.name != "project_id":
            row[column.name] = "queued" if column.name == "state" else values.get("id", "x")[:8]
    return row | values
