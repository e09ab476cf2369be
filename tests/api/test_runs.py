"""Runs: lists, filters, pages, cancel, logs."""

import csv
import io
import json

import pytest
from hooke.spec.events import Checkpointed
from hooke_api.models import Event

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor, lines, scored, start, steps
from tests.api.test_experiments import VIRTUAL, pointers, problem


def test_filters(service):
    first = service.submit(clusters=[{"name": "local", "workers": [2], "seeds": 2}, VIRTUAL])
    second = service.submit(name="second")
    service.client.post(f"/experiments/{second['id']}/cancel")
    assert len(service.runs()) == 18
    assert {r["experiment_id"] for r in service.runs(experiment=first["id"])} == {first["id"]}
    assert len(service.runs(state="cancelled")) == 4
    assert len(service.runs(state=["cancelled", "queued"])) == 18
    assert len(service.runs(state="running")) == 0
    assert {r["variant"] for r in service.runs(variant="sync")} == {"sync"}
    assert {r["simulated"] for r in service.runs(cluster="sim")} == {True}
    assert service.runs(experiment="exp_none") == []
    some = [r["id"] for r in service.runs(experiment=first["id"])][1:3]
    assert [r["id"] for r in service.runs(experiment=first["id"], run=some[::-1])] == some
    assert service.runs(experiment=second["id"], run=some) == []
    assert service.client.get("/runs", params={"run": ["x"] * 101}).status_code == 422


@ONE_KIND
def test_runs_are_told_with_the_names_of_their_experiments(service):
    made = [service.submit(name=name) for name in ("first", "second")]
    expected = {(each["id"], each["number"], each["name"]) for each in made}
    fields = ("experiment_id", "experiment_number", "experiment_name")
    for asked in ({}, {"sort": "-created"}):
        found = service.runs(**asked)
        assert {tuple(run[name] for name in fields) for run in found} == expected
        assert service.run(found[0]["id"])["experiment_name"] in {"first", "second"}


def table(answer):
    """Return the lines of a CSV answer as one dictionary each."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text)))


@ONE_KIND
def test_the_runs_of_a_list_as_a_table(service, monkeypatch):
    monkeypatch.setattr("hooke_api.runs.table.PAGE", 3)
    variant = {"name": 'a "quoted", name', "algorithm": "sync-easgd", "parameters": {"lr": 0.25}}
    made = service.submit(variants=[variant], baseline=variant["name"], clusters=[{"name": "local", "seeds": 7}])
    service.submit(name="another")
    rows = table(service.client.get("/runs.csv", params={"experiment": made["id"]}))
    assert [row["id"] for row in rows] == [run["id"] for run in service.runs(experiment=made["id"])]
    assert [row["seed"] for row in rows] == [str(seed) for seed in range(7)]
    first = rows[0]
    assert (first["variant"], first["simulated"], first["accuracy"]) == (variant["name"], "false", "")
    assert json.loads(first["parameters"])["lr"] == 0.25
    assert len(table(service.client.get("/runs.csv"))) == len(service.runs())


def test_reported_runs_and_those_of_trials_are_listed_apart(service):
    given = service.submit()["id"]
    tuned = service.submit(name="tuned", tuning={"trials": 4})["id"]  # its reported runs follow the trials
    assert {run["experiment_id"] for run in service.runs(reported=True)} == {given}
    assert {run["experiment_id"] for run in service.runs(reported=False)} == {tuned}
    assert len(service.runs()) == len(service.runs(reported=True)) + len(service.runs(reported=False))


@pytest.mark.parametrize("within", [True, False])
def test_pages_hold_everything_once_in_order(service, within):
    made = service.submit(clusters=[{"name": "local", "workers": [2], "seeds": 5}])
    service.submit(name="another")
    query = {"experiment": made["id"]} if within else {}
    everything = [run["id"] for run in service.runs(**query)]
    assert everything == sorted(everything, reverse=not within)
    seen, cursor = [], {}
    while cursor is not None:
        page = service.get("/runs", limit=3, **query, **cursor)
        seen += [run["id"] for run in page["items"]]
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert seen == everything


@ONE_KIND
def test_a_cursor_of_the_other_order_is_refused(service):
    made = service.submit()
    cursor = service.get("/runs", limit=1)["next_cursor"]
    query = {"experiment": made["id"], "cursor": cursor}
    assert pointers(service.client.get("/runs", params=query)) == {"query/cursor"}


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"limit": 0}, "query/limit"),
        ({"limit": 501}, "query/limit"),
        ({"limit": "x"}, "query/limit"),
        ({"state": "sleeping"}, "query/state/0"),
    ],
)
@ONE_KIND
def test_bad_queries_point_to_the_parameter(service, query, pointer):
    assert pointers(service.client.get("/runs", params=query)) == {pointer}


@ONE_KIND
def test_unknown_run_is_404(service):
    for path in ("/runs/run_none", "/runs/run_none/logs"):
        problem(service.client.get(path), 404)
    problem(service.client.post("/runs/run_none/cancel"), 404)


def test_a_summary_shows_what_was_ingested(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    ranks = [supervisor_rank(0, start(), steps(1), scored(2, 256, 0.95, reached=True, clock=0.04))]
    ranks.append(supervisor_rank(1, start(oversubscribed=True), steps(1)))
    supervisor.send(*ranks)
    run = service.run(supervisor.id)
    assert run["state"] == "running"
    assert run["samples"] == 256
    assert run["accuracy"] == 0.95
    assert run["loss"] == pytest.approx(0.05)
    assert run["time_to_target"] == 0.04
    assert run["communication_fraction"] == pytest.approx(0.2)
    assert run["oversubscribed"] is True
    assert run["started_at"]
    assert run["finished_at"] is None
    assert run["budget"] == 10_000
    assert run["hardware"] == {"cpu": "x"}
    assert [(p["rank"], p["role"], p["steps"]) for p in run["phases"]] == [(0, "worker", 4), (1, "worker", 4)]
    assert run["phases"][0]["compute"] == pytest.approx(0.024)
    assert run["phases"][0]["messages"] == 12
    assert [t["state"] for t in run["history"]] == ["queued", "dispatched", "starting", "running"]
    listed = next(r for r in service.runs() if r["id"] == supervisor.id)
    assert listed == {key: run[key] for key in listed}


def supervisor_rank(rank, *records):
    from hooke.spec.events import RankRecords

    return RankRecords(rank=rank, records=list(records))


@ONE_KIND
def test_cancel_of_a_running_run_is_a_wish_until_confirmed(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    answer = service.client.post(f"/runs/{supervisor.id}/cancel")
    assert answer.status_code == 202
    assert (answer.json()["state"], answer.json()["cancel_requested"]) == ("running", True)
    experiment = service.client.get(f"/experiments/{answer.json()['experiment_id']}").json()
    waits = any(experiment["runs"].get(state) for state in ("queued", "dispatched"))
    assert experiment["cancelling"] is not waits
    service.client.post(f"/experiments/{experiment['id']}/cancel").raise_for_status()
    experiment = service.client.get(f"/experiments/{experiment['id']}").json()
    assert (experiment["state"], experiment["cancelling"]) == ("running", True)
    service.scheduler.look()
    assert service.line.cancelled == [("local", supervisor.id, 1)]
    assert service.line.probed == []  # its supervisor is heard: it will report
    assert supervisor.send().cancel is True
    supervisor.report("cancelled", exit_code=0)
    run = service.run(supervisor.id)
    assert (run["state"], run["history"][-1]["exit_code"]) == ("cancelled", 0)
    assert service.client.post(f"/runs/{supervisor.id}/cancel").json()["state"] == "cancelled"


@ONE_KIND
def test_cancel_of_a_dispatched_run_waits_for_the_agents_proof(service):
    supervisor = service.launch()
    service.client.post(f"/runs/{supervisor.id}/cancel")
    service.scheduler.look()
    assert service.line.cancelled == service.line.probed == [("local", supervisor.id, 1)]
    assert len(service.line.launched) == 1  # and nothing else goes to the cluster meanwhile
    service.prove(supervisor.id, 1, alive=False, why="tombstone")
    assert service.run(supervisor.id)["state"] == "cancelled"


def test_a_checkpoint_is_asked_for_once_and_shown_when_it_lies_there(service):
    supervisor = service.launch()
    path = f"/runs/{supervisor.id}/checkpoint"
    problem(service.client.post("/runs/run_none/checkpoint"), 404)
    assert "dispatched" in problem(service.client.post(path), 409)["detail"]
    assert supervisor.report("starting", "running").checkpoints == 0
    answer = service.client.post(path)
    assert (answer.status_code, answer.json()["state"], answer.json()["checkpoints"]) == (202, "running", [])
    assert [supervisor.send().checkpoints for _ in range(2)] == [1, 1]  # a number, so said twice is asked once
    service.client.post(path)
    files = [
        Checkpointed(seq=1, step=5, samples=310 + rank, path=f"c/311/rank.{rank}.npz", bytes=12, sha256="a" * 64)
        for rank in (0, 1)
    ]
    before = service.count(Event)
    assert supervisor.send(supervisor_rank(0, start(), files[0])).checkpoints == 2
    supervisor.send(supervisor_rank(1, start(), files[1]))
    assert service.count(Event) > before  # else no page would look again
    (found,) = service.run(supervisor.id)["checkpoints"]
    assert (found["path"], found["samples"], found["ranks"], found["bytes"]) == ("c/311", 311, 2, 24)
    service.client.post(f"/runs/{supervisor.id}/cancel")
    assert "cancelled" in problem(service.client.post(path), 409)["detail"]
    supervisor.report("cancelled", exit_code=0)
    assert "is cancelled" in problem(service.client.post(path), 409)["detail"]


@ONE_KIND
def test_logs_page_by_position(service):
    supervisor: Supervisor = service.launch()
    assert supervisor.send(logs=lines(0, 7)).logs == 6
    assert supervisor.send(logs=[*lines(5, 2), *lines(7, 3, rank=-1)]).logs == 9
    first = service.get(f"/runs/{supervisor.id}/logs", limit=6)
    assert [line["text"] for line in first["lines"]] == [f"line {i}" for i in range(6)]
    assert first["more"] is True
    rest = service.get(f"/runs/{supervisor.id}/logs", after=first["next_after"])
    assert [line["text"] for line in rest["lines"]] == [f"line {i}" for i in range(6, 10)]
    assert rest["more"] is False
    nothing = service.get(f"/runs/{supervisor.id}/logs", after=rest["next_after"])
    assert (nothing["lines"], nothing["next_after"]) == ([], rest["next_after"])
    own = service.get(f"/runs/{supervisor.id}/logs", rank=-1)
    assert [line["rank"] for line in own["lines"]] == [-1] * 3
