"""An experiment leaves as a file, and another server shows the same of it."""

import json

import pytest
from hooke.cli.group import app
from hooke_api.models import CatalogueEntry, Experiment, RankTotals, Removal, Run, TrailEntry
from sqlalchemy import select, update
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import answers, exported, imported, made_of, measured, parts_of
from tests.api.persons import bearing, person
from tests.api.test_experiments import problem
from tests.waiting import wait_for


def test_an_import_shows_what_the_original_shows(service):
    made = measured(service)
    service.client.patch(f"/experiments/{made['id']}", json={"note": "why", "add_tags": ["paper"]})
    bundle = exported(service, made["id"], logs=True)
    before = answers(service, made["id"])
    faster = before["comparison"]["rows"][1]["speed_up"]
    assert faster["ratio"] == pytest.approx(1 / 2.1, rel=0.1) and faster["claim"] == "slower"
    assert len(before["output"][0]) == 3 and before["points"].count("\n") > 30

    view = imported(service, bundle)
    assert view["id"] != made["id"] and view["number"] == 2
    assert view["note"] == "why" and view["tags"] == ["paper"] and view["state"] == "succeeded"
    assert view["spec"] == made["spec"] and view["fingerprint"] == made["fingerprint"]
    assert view["created_at"] == made["created_at"] and view["finished_at"] == made["finished_at"]
    origin = view["origin"]
    assert (origin["experiment"], origin["number"], origin["user"]) == (made["id"], 1, "owner")
    assert made["origin"] is None
    assert answers(service, view["id"]) == before
    with service.database.read() as session:
        mine = (TrailEntry.subject == view["id"], TrailEntry.action == "import_experiment")
        told = session.scalars(select(TrailEntry).where(*mine)).one()
    assert told.after["imported_from"]["experiment"] == made["id"]


def test_time_in_which_tables_were_built_travels_and_is_missing_where_there_was_none(service):
    """So bundles of earlier versions and of runs without tables are the same."""
    made = measured(service)
    first = service.runs(experiment=made["id"])[0]["id"]
    with service.database.write() as session:
        session.execute(update(RankTotals).where(RankTotals.run_id == first).values(rebuild=0.25))
    bundle = exported(service, made["id"])
    told = [json.loads(line) for line in parts_of(bundle)["totals.jsonl"].splitlines()]
    assert sorted(row.get("rebuild", "none") == 0.25 for row in told) == [False] * (len(told) - 2) + [True] * 2
    assert all("rebuild" in row or row["compute"] > 0 for row in told)
    imported(service, bundle)
    with service.database.read() as session:
        assert sorted(session.scalars(select(RankTotals.rebuild)))[-5:] == [0, 0.25, 0.25, 0.25, 0.25]


def test_the_same_measurement_is_imported_once(service):
    made = measured(service)
    bundle = exported(service, made["id"])
    first = imported(service, bundle)
    assert imported(service, bundle, 200)["id"] == first["id"]
    with_output = exported(service, made["id"], logs=True)
    assert imported(service, with_output, 200)["id"] == first["id"]
    again = exported(service, first["id"])  # an import that is exported is still the original
    manifests = [json.loads(parts_of(each)["manifest.json"]) for each in (bundle, again)]
    assert manifests[0]["origin"] == manifests[1]["origin"]
    assert manifests[0]["parts"] == manifests[1]["parts"]
    assert imported(service, again, 200)["id"] == first["id"]
    service.client.delete(f"/experiments/{first['id']}").raise_for_status()
    told = problem(service.client.post("/experiments/import", content=bundle), 409)["detail"]
    assert "it was imported before" in told and "hooke experiments restore`" in told
    assert service.count(Experiment) == 2


HEBREW = "\u05e8\u05e9\u05ea\u05d5\u05ea"


@ONE_KIND
def test_a_new_name_travels_and_makes_no_other_measurement(service):
    made = measured(service)
    former = exported(service, made["id"])
    service.client.patch(f"/experiments/{made['id']}", json={"name": HEBREW}).raise_for_status()
    bundle = exported(service, made["id"])
    view = imported(service, bundle)
    assert (view["name"], view["spec"]["name"]) == (HEBREW, "first")
    assert (view["spec"], view["fingerprint"]) == (made["spec"], made["fingerprint"])
    assert imported(service, former, 200)["id"] == view["id"], "named otherwise, the same measurement"
    report = service.client.get(f"/experiments/{made['id']}/report.html").text
    assert f"<h1><bdi>{HEBREW}</bdi></h1>" in report
    parts = parts_of(bundle)
    manifest = json.loads(parts["manifest.json"])
    without = {key: value for key, value in manifest.items() if key != "name"}  # as earlier versions wrote it
    service.client.delete(f"/experiments/{view['id']}").raise_for_status()
    again = dict(parts) | {"manifest.json": json.dumps(without).encode()}
    assert manifest["name"] == HEBREW
    assert (
        "it was imported before"
        in problem(service.client.post("/experiments/import", content=made_of(again)), 409)["detail"]
    )


@ONE_KIND
def test_nothing_runs_an_import(service):
    made = measured(service)
    failed = parts_of(exported(service, made["id"]))
    runs = [json.loads(line) for line in failed["runs.jsonl"].splitlines()]
    for run in runs:
        run["state"] = "failed_user"
    failed["runs.jsonl"] = "".join(json.dumps(run) + "\n" for run in runs).encode()
    view = imported(service, made_of(failed))
    run = service.runs(experiment=view["id"])[0]
    assert run["host"] == "~local"
    told = problem(service.client.post(f"/runs/{run['id']}/retry"), 409)["detail"]
    assert "was imported with experiment 2" in told
    before = len(service.line.sent)
    service.scheduler.look()
    assert len(service.line.sent) == before
    assert service.client.post(f"/experiments/{view['id']}/cancel").json()["runs"] == view["runs"]
    tuning = {"tuning": {"trials": 3, "continues": view["id"]}}
    told = problem(service.client.post("/experiments", json=made["spec"] | tuning), 422)
    assert any("was imported" in fault["message"] for fault in told["errors"]), told
    queue = service.get("/clusters/local/queue")
    assert not queue.get("items") and not queue.get("experiments")


@ONE_KIND
def test_a_cluster_of_another_server_is_not_one_of_this(service):
    made = measured(service)
    view = imported(service, exported(service, made["id"]))
    answer = service.get("/compare", rows=[str(made["number"]), str(view["number"])])
    assert {row["number"] for row in answer["rows"]} == {1, 2}
    between = [each for each in answer["contrasts"] if {each["first"], each["second"]} == {0, 2}]
    assert between, "the same variant on two clusters of one name"
    left = {each["number"]: each["why"] for each in service.get("/leaderboard")["left_out"]}
    assert "imported" in left[view["number"]] and "imported" not in left[made["number"]]


def test_a_purged_import_leaves_nothing_and_asks_no_agent(service):
    from hooke_api.experiments.purging import Purger

    made = measured(service)
    view = imported(service, exported(service, made["id"]))
    service.client.delete(f"/experiments/{view['id']}").raise_for_status()
    with service.database.write() as session:
        mine = update(Experiment).where(Experiment.id == view["id"])
        session.execute(mine.values(purge_at=Experiment.deleted_at))
    Purger(service.database, service.settings).look()
    assert service.count(Experiment) == 1 and service.count(Run) == 6 and service.count(Removal) == 0
    assert imported(service, exported(service, made["id"]))["number"] == 3


@ONE_KIND
def test_own_algorithms_are_described_and_not_brought_along(service):
    """The coordination that decides what a point of a curve is comes with the bundle."""
    made = measured(service)
    with service.database.write() as session:
        for run in session.scalars(select(Run)):
            run.algorithm = "mine"
            run.spec = run.spec | {"algorithm": {"name": "mine", "parameters": {}, "hash": "a" * 64}}
        experiment = session.get_one(Experiment, made["id"])
        variants = [each | {"algorithm": "mine"} for each in experiment.spec["variants"]]
        experiment.spec = experiment.spec | {"variants": variants}
    described = {"name": "mine", "coordination": "lock-free", "hash": "a" * 64, "origin": "own"}
    with service.database.write() as session:
        session.add(CatalogueEntry(cluster="local", kind="algorithm", name="mine", document=described))
    before = service.client.get(f"/experiments/{made['id']}/points.csv").text
    bundle = exported(service, made["id"])
    told = json.loads(parts_of(bundle)["algorithms.json"])
    assert told == [
        {
            "name": "mine",
            "built_in": False,
            "hash": "a" * 64,
            "coordination": "lock-free",
            "document": described,
        }
    ]
    with service.database.write() as session:
        session.execute(CatalogueEntry.__table__.delete())
    view = imported(service, bundle)
    after = service.client.get(f"/experiments/{view['id']}/points.csv").text
    strip = lambda text: sorted(line.split(",", 1)[1] for line in text.splitlines())  # noqa: E731
    assert strip(after) == strip(before)


@ONE_KIND
def test_an_experiment_that_has_not_ended_stays(service):
    made = service.submit()
    answer = service.client.get(f"/experiments/{made['id']}/bundle")
    assert "has not ended" in problem(answer, 409)["detail"]
    assert problem(service.client.get("/experiments/exp_x/bundle"), 404)


@ONE_KIND
def test_who_may_not_submit_may_not_import(service):
    made = measured(service)
    bundle = exported(service, made["id"])
    viewer = person(service, "viewer").client
    assert viewer.get(f"/experiments/{made['id']}/bundle").status_code == 200
    assert problem(viewer.post("/experiments/import", content=bundle), 403)
    researcher = person(service, "researcher")
    view = researcher.client.post("/experiments/import", content=bundle).json()
    assert view["user"] == researcher.name and view["origin"]["user"] == "owner"


@ONE_KIND
@pytest.mark.parametrize("loses", ["token", "role"])
def test_who_may_not_import_any_more_when_the_bundle_has_arrived_imports_nothing(service, loses):
    bundle = exported(service, measured(service)["id"])
    researcher = person(service, "researcher")
    program = bearing(service, researcher.token("submit"))
    (token,) = researcher.client.get("/tokens").json()["items"]

    def parts():
        yield bundle[:100]
        wait_for(lambda: getattr(service.app.state, "imports", 0) == 1, "the begin of the import")
        if loses == "token":
            researcher.client.post(f"/tokens/{token['id']}/revoke").raise_for_status()
        else:
            service.client.patch(f"/users/{researcher.name}", json={"role": "viewer"}).raise_for_status()
        yield bundle[100:]

    problem(program.post("/experiments/import", content=parts()), 401 if loses == "token" else 403)
    assert service.count(Experiment) == 1


@ONE_KIND
def test_the_commands(service, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    monkeypatch.chdir(tmp_path)

    def hooke(*arguments, status=0):
        answer = CliRunner().invoke(app, ["experiments", *arguments])
        assert answer.exit_code == status, answer.output
        return answer.output

    made = measured(service)
    assert f"{made['id']}.hooke.zip" in hooke("export", made["id"], "--logs", "--traces")
    parts = parts_of((tmp_path / f"{made['id']}.hooke.zip").read_bytes())
    assert {"logs.jsonl", "files.jsonl"} < parts.keys()
    assert "this file exists" in hooke("export", made["id"], status=1)
    told = hooke("import", f"{made['id']}.hooke.zip")
    assert "is number 2: first, imported from experiment 1 of owner on " in told
    assert [path.name for path in tmp_path.iterdir()] == [f"{made['id']}.hooke.zip"]
    (tmp_path / "none.zip").write_bytes(b"no bundle")
    assert "none.zip: the bundle cannot be imported" in hooke("import", "none.zip", status=1)
    assert "No such file" in hooke("import", "absent.zip", status=1)
    open_ = service.submit()
    assert "has not ended" in hooke("export", open_["id"], "--out", "x.zip", status=1)
    assert not (tmp_path / "x.zip").exists() and not (tmp_path / "x.zip.part").exists()
