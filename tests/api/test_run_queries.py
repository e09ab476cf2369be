"""Filters and orders of runs over all experiments, against the same chosen and sorted in Python."""

import csv
import io
import random

import pytest
from hooke_api.filters.runs import ORDERS, RUN_FIELDS, RunQuery
from hooke_api.models import Run
from sqlalchemy import BigInteger, BindParameter, Double, Integer, select
from sqlalchemy.sql import visitors

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.test_experiments import problem

VARIANTS = [{"name": f"{name} {lr}", "algorithm": name, "parameters": {"lr": lr}} for name, lr in (
    ("sync-easgd", 0.1), ("sync-easgd", 0.2), ("sync-sgd", 0.1),
)]  # fmt: skip


@pytest.fixture
def runs(service):
    """Return the runs of three experiments, with figures that some of them lack."""
    for n, workers in enumerate(([2], [4, 8], [8])):
        clusters = [{"name": "local", "workers": workers, "seeds": 2}]
        changes = {"name": f"part {n}", "variants": VARIANTS, "baseline": VARIANTS[0]["name"]}
        service.hello(cores=64)
        service.client.post("/experiments", json=SPEC | changes | {"clusters": clusters}).raise_for_status()
    source = random.Random(3)
    with service.database.write() as session:
        for run in session.scalars(select(Run).order_by(Run.id)):
            run.test_accuracy = source.choice([None, 0.9, 0.95, round(source.random(), 3)])
            run.samples = source.choice([0, 1000, 2000])
    (first,) = service.get("/experiments", filter='"part 0"')["items"]
    service.client.patch(f"/experiments/{first['id']}", json={"add_tags": ["paper"]}).raise_for_status()
    found = service.runs()
    names = {each["id"]: each for each in service.get("/experiments")["items"]}
    return [run | {"of": names[run["experiment_id"]]} for run in found]


def test_a_query_finds_what_python_finds(service, runs):
    queries = {
        "algorithm = sync-easgd and workers = 8 and test_accuracy.max > 0.9": lambda run: (
            run["algorithm"] == "sync-easgd" and run["workers"] == 8 and (run["test_accuracy"] or 0) > 0.9
        ),
        "not test_accuracy < 0.95": lambda run: run["test_accuracy"] is None or run["test_accuracy"] >= 0.95,
        "variant ~ SGD or seed in (1, 7)": lambda run: "sgd" in run["variant"].lower() or run["seed"] in (1, 7),
        "clock >= 0": lambda run: True,
        "tag = paper": lambda run: "paper" in run["of"]["tags"],
        '"part 1" and samples >= 1000': lambda run: run["of"]["name"] == "part 1" and run["samples"] >= 1000,
        "experiment != 2 and not simulated and reported": lambda run: run["of"]["number"] != 2,
        "workers > 2.5 and seed < 1e300": lambda run: run["workers"] > 2,
        "workers >= 3e9 or seed = 0.5 or not samples > -5e9": lambda run: False,
        "samples = 1000 or workers in (4, 4.5)": lambda run: run["samples"] == 1000 or run["workers"] == 4,
        "state = failed": lambda run: False,
        "state in (queued, failed) and created > -1d": lambda run: True,
    }
    for text, keeps in queries.items():
        found = service.runs(filter=text)
        wanted = [run["id"] for run in runs if keeps(run)]
        assert [each["id"] for each in found] == wanted, text
        table = service.client.get("/runs.csv", params={"filter": text}).text
        assert {row["id"] for row in csv.DictReader(io.StringIO(table))} == set(wanted), text


SHOWN = [name for name in ORDERS if name != "clock"]
"""Those that a list tells."""


@pytest.mark.parametrize("order", [*SHOWN, *(f"-{name}" for name in SHOWN)])
def test_pages_of_every_order(service, runs, order, monkeypatch):
    name = order.removeprefix("-")
    sign = -1 if order.startswith("-") else 1
    if name == "created":
        wanted = sorted((run["id"] for run in runs), reverse=sign < 0)
    else:
        newest = sorted(runs, key=lambda run: run["id"], reverse=True)
        known = sorted((run for run in newest if run[name] is not None), key=lambda run: sign * run[name])
        wanted = [run["id"] for run in [*known, *(run for run in newest if run[name] is None)]]
    found, cursor = [], None
    while True:
        page = service.get("/runs", sort=order, limit=5, **({"cursor": cursor} if cursor else {}))
        found += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == wanted
    monkeypatch.setattr("hooke_api.runs.table.PAGE", 5)
    table = service.client.get("/runs.csv", params={"sort": order, "filter": "workers > 0"}).text
    assert [row["id"] for row in csv.DictReader(io.StringIO(table))] == wanted


def test_whole_numbers_are_compared_as_such():
    """PostgreSQL knows nothing of how many runs a comparison with a float keeps, and takes it for a third."""
    told = {"workers > 0": [Integer], "samples in (1, 2e3)": [BigInteger] * 2, "loss > 1": [Double]}
    for text, kinds in told.items():
        found = RunQuery(text, "-created").condition(None)
        compared = [each for each in visitors.iterate(found) if isinstance(each, BindParameter)]
        numbers = [each for each in compared if isinstance(each.value, int | float)]
        assert [type(each.type) for each in numbers] == kinds, text


def test_projects_are_looked_up_before_runs(service, runs):
    """Of a name that no project has, or of a project without experiments, no run is looked at."""
    service.client.post("/projects", json={"name": "empty"}).raise_for_status()
    moved = runs[0]["experiment_id"]
    service.client.post("/projects", json={"name": "vision"}).raise_for_status()
    service.client.put(f"/experiments/{moved}/project", json={"project": "vision"}).raise_for_status()
    there = {run["id"] for run in runs if run["experiment_id"] == moved}
    others = {run["id"] for run in runs} - there
    for text, wanted in (
        ("project = vision", there),
        ("project ~ vis", there),
        ("project in (empty, vision, default)", there | others),
        ("project != vision", others),
        ("project !~ i", others),
        ("project = empty or project = default", others),
        ("not project = nothing", there | others),
        ("project = nothing", set()),
        ("project in (nothing, empty) and workers > 0", set()),
    ):
        assert {each["id"] for each in service.runs(filter=text)} == wanted, text
    with service.database.read() as session:
        for text in ("project = nothing", "project = empty and workers > 0", 'project ~ "no such"'):
            asked = str(select(Run.id).where(RunQuery(text, "-created").condition(session)))
            assert "project_id" not in asked and ("false" in asked or "0 = 1" in asked), text


@ONE_KIND
def test_what_cannot_be_read_is_told(service, runs):
    def told(**query):
        return problem(service.client.get("/runs", params=query), 422)["detail"]

    assert "did you mean workers?" in told(filter="worker = 8")
    assert "state is never 'faild'; did you mean failed?" in told(filter="state = faild")
    assert "runs are sorted by created" in told(sort="price")
    page = service.get("/runs", sort="seed", limit=2)
    assert "cursor cannot be used" in told(sort="-seed", cursor=page["next_cursor"])
    assert set(RUN_FIELDS) >= {"algorithm", "workers", "test_accuracy", "experiment"}


@ONE_KIND
def test_runs_of_archived_and_deleted_experiments_are_left_out(service, runs):
    first, second = (each["id"] for each in service.get("/experiments")["items"][:2])
    service.client.patch(f"/experiments/{first}", json={"archived": True}).raise_for_status()
    service.client.post(f"/experiments/{second}/cancel").raise_for_status()
    service.client.delete(f"/experiments/{second}").raise_for_status()
    found = service.runs(filter="workers > 0")
    assert {each["experiment_id"] for each in found} == {run["experiment_id"] for run in runs} - {first, second}
    assert {each["experiment_id"] for each in service.runs(filter="archived")} == {first}
