"""Rows of several experiments over HTTP: what can be chosen, what differs, and what is compared."""

import statistics
from itertools import groupby

import pytest
from hooke.spec.states import RunState
from hooke_api.comparisons import compare
from hooke_api.models import Run
from sqlalchemy import select

from tests.api.databases import ONE_KIND

VARIANTS = [
    {"name": "Original EASGD", "algorithm": "original-easgd"},
    {"name": "Sync EASGD", "algorithm": "sync-easgd"},
]
LOCAL = {"name": "local", "workers": [2], "seeds": 3}
PAPER = {"name": "paper", "computed_on": "local", "workers": [2], "seeds": 3, "virtual": {}}
SLOW = PAPER | {"name": "slow", "virtual": {"latency": 1e-3}}


def submit(service, *clusters, variants=VARIANTS, **changes) -> dict:
    baseline = variants[0]["name"]
    return service.submit(clusters=list(clusters), variants=variants, baseline=baseline, **changes)


def finish(service, made, cluster, variant, times):
    """Give the runs of one row their times to the target by seed."""
    mine = (Run.experiment_id == made["id"], Run.cluster == cluster, Run.variant == variant)
    with service.database.write() as session:
        for run, seconds in zip(session.scalars(select(Run).where(*mine).order_by(Run.seed)), times, strict=True):
            run.state, run.samples = RunState.SUCCEEDED, 9000
            run.time_to_target = run.target_after = run.clock = seconds


def ask(service, *rows, **query):
    return service.get("/compare", rows=list(rows), **query)


def refused(service, *rows, status=422, **query) -> dict:
    answer = service.client.get("/compare", params={"rows": list(rows), **query})
    assert answer.status_code == status, answer.text
    return answer.json()


def named(answer) -> list[tuple]:
    return [(each["number"], each["cluster"], each["workers"], each["variant"]) for each in answer["rows"]]


def setting(answer, name) -> dict:
    return next(each for each in answer["settings"] if each["name"] == name)


@ONE_KIND
def test_rows_of_several_experiments(service):
    first, second = submit(service, LOCAL, PAPER), submit(service, LOCAL, batch=64)
    finish(service, first, "local", "Sync EASGD", [4.0, 3.0, 5.0])
    answer = ask(service, "2//2/Sync EASGD", first["id"])
    assert named(answer) == [
        (2, "local", 2, "Sync EASGD"),
        (1, "local", 2, "Original EASGD"),
        (1, "local", 2, "Sync EASGD"),
        (1, "paper", 2, "Original EASGD"),
        (1, "paper", 2, "Sync EASGD"),
    ]
    assert [each["id"] for each in answer["experiments"]] == [second["id"], first["id"]]
    whole = answer["experiments"][1]
    assert (whole["clusters"], whole["workers"]) == (["local", "paper"], [2])
    assert whole["variants"] == ["Original EASGD", "Sync EASGD"]
    assert answer["experiments"][0]["variants"] == whole["variants"]  # what may be chosen, not what is
    assert answer["tasks"] == ["digits-mlp, 90% validation accuracy"]
    measured = answer["rows"][2]
    assert (measured["time_to_target"]["median"], measured["finished"], measured["task"]) == (4.0, 3, 0)
    assert (measured["samples"]["mean"], measured["samples"]["unit"]) == (9000, "samples")


@ONE_KIND
def test_settings_are_told_apart_with_their_defaults(service):
    submit(service, LOCAL)
    submit(service, LOCAL, SLOW, variants=[VARIANTS[1] | {"parameters": {"lr": 0.5}}])
    answer = ask(service, "1/local//Sync EASGD", "2")
    lr = setting(answer, "/algorithm/parameters/lr")
    assert lr["differs"] and lr["values"][1:] == [0.5, 0.5] and lr["values"][0] not in (None, 0.5)
    assert setting(answer, "/virtual/latency")["values"] == [None, None, 1e-3]
    assert setting(answer, "/batch") == {"name": "/batch", "differs": False, "values": [32]}
    assert setting(answer, "/workload/parameters/hidden1")["values"] == [256]
    parts = [(each["differs"], each["name"].split("/")[1]) for each in answer["settings"]]
    assert [differs for differs, _ in parts] == sorted((differs for differs, _ in parts), reverse=True)
    assert len(list(groupby(parts))) == len(set(parts)), "a part of the document stands in several places"
    assert not any("seed" in each["name"] for each in answer["settings"])


@ONE_KIND
def test_clusters_are_compared_over_experiments_and_the_rest_is_explained(service):
    first = submit(service, LOCAL, PAPER)
    second = submit(service, SLOW)
    fast, slow = [4.0, 3.0, 5.0], [8.2, 6.1, 9.9]
    finish(service, first, "paper", "Sync EASGD", fast)
    finish(service, second, "slow", "Sync EASGD", slow)
    answer = ask(service, "1///Sync EASGD", "2///Sync EASGD")
    assert named(answer) == [(n, c, 2, "Sync EASGD") for n, c in ((1, "local"), (1, "paper"), (2, "slow"))]
    found = {(each["first"], each["second"]): each for each in answer["contrasts"]}
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    ratio = statistics.geometric_mean(fast) / statistics.geometric_mean(slow)
    assert found[1, 2]["speed_up"]["ratio"] == pytest.approx(ratio)
    assert (found[1, 2]["speed_up"]["pairs"], found[1, 2]["speed_up"]["claim"]) == (3, "slower")
    assert found[1, 2]["sentence"] == found[1, 2]["speed_up"]["sentence"]
    assert found[1, 2]["sentence"].startswith(
        "Sync EASGD on slow (#2) takes 2.0x as long as Sync EASGD on paper (#1)"
    )
    assert "simulated" in found[1, 2]["sentence"]
    assert found[0, 1]["speed_up"] is None
    assert found[0, 1]["sentence"] == (
        "Sync EASGD on local and Sync EASGD on paper are not compared: local is measured and paper is simulated, "
        "and virtual seconds are not compared with measured ones."
    )


@ONE_KIND
def test_other_kinds_of_workers_are_another_cluster(service):
    """The same name, and two workers each: times tell of method and machine together."""
    kinds = LOCAL | {"workers": [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.25}]}
    plain, slowed = submit(service, LOCAL), submit(service, kinds)
    for made, variant, times in (
        (plain, "Sync EASGD", [4.0, 3.0, 5.0]),
        (slowed, "Original EASGD", [8.2, 6.1, 9.9]),
        (slowed, "Sync EASGD", [8.1, 6.2, 9.8]),
    ):
        finish(service, made, "local", variant, times)
    answer = ask(service, "1///Sync EASGD", "2", against="1///Sync EASGD")
    original, sync = answer["contrasts"]
    assert original["speed_up"] is None
    assert "the cluster and the algorithm differ" in original["sentence"]
    assert sync["speed_up"]["claim"] == "slower", "one thing differs: the cluster"
    (across,) = [each for each in ask(service, "1", "2")["contrasts"] if each["speed_up"]["claim"] == "slower"]
    assert across["sentence"].startswith("Sync EASGD on local (#2) takes")


def test_rows_that_were_measured_apart_are_marked(service):
    first, second = submit(service, LOCAL), submit(service, LOCAL)
    finish(service, first, "local", "Sync EASGD", [4.0, 3.0, 5.0])
    finish(service, second, "local", "Sync EASGD", [2.0, 1.5, 2.5])
    with service.database.write() as session:
        for made, torch, cpu in ((first, "2.1", "Old"), (second, "2.2", "New")):
            for run in session.scalars(select(Run).where(Run.experiment_id == made["id"])):
                run.versions, run.hardware = {"hooke": "1", "torch": torch}, {"cpu": cpu}
    (contrast,) = ask(service, "1///Sync EASGD", "2///Sync EASGD", against="1///Sync EASGD")["contrasts"]
    assert contrast["speed_up"]["claim"] == "faster"
    assert "3 seeds, not measured in turn, with another processor and torch)" in contrast["sentence"]


@ONE_KIND
def test_one_row_against_the_others(service):
    made = submit(service, LOCAL)
    again = submit(service, LOCAL, budget={"samples": 20_000})
    for variant, times in (("Original EASGD", [8.2, 6.1, 9.9]), ("Sync EASGD", [4.0, 3.0, 5.0])):
        finish(service, made, "local", variant, times)
    answer = ask(service, "1", "2///Sync EASGD", against="1/local/2/Original EASGD")
    sync, other = answer["contrasts"]
    assert (sync["first"], sync["second"], sync["speed_up"]["claim"]) == (0, 1, "faster")
    assert other["sentence"] == ("Original EASGD (#1) and Sync EASGD (#2) are not compared: their budget differs.")
    assert refused(service, "1", against="1")["errors"][0]["pointer"] == "query/against"
    assert "names 2 of the compared rows" in refused(service, "1", against="1")["detail"]
    assert "names none" in refused(service, "2", against="1")["detail"]
    assert again["number"] == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("digits", "'digits' does not begin with the number or the id of an experiment"),
        ("1/local/two", "'two' is not a number of workers"),
        ("99999999999", "does not begin with the number"),
        ("1/hpc", "it has the clusters local, the numbers of workers 2 and the variants Original EASGD and Sync"),
    ],
)
@ONE_KIND
def test_what_names_no_row_is_refused_with_its_place(service, rows, said):
    submit(service, LOCAL)
    found = refused(service, "1", rows)
    assert said in found["detail"]
    assert found["errors"][0]["pointer"] == "query/rows/1"


@ONE_KIND
def test_an_unknown_experiment_and_too_many_rows(service, monkeypatch):
    submit(service, LOCAL)
    assert refused(service, "1", "5", status=404)["detail"] == "no experiment has the number 5"
    unknown = f"exp_{'0' * 32}"
    assert refused(service, unknown, status=404)["detail"] == f"no experiment has the id {unknown}"
    refused(service)
    refused(service, *["1"] * 101)
    monkeypatch.setattr(compare, "MOST_ROWS", 1)
    assert "these are 2 rows, but at most 1 are compared" in refused(service, "1")["detail"]


def test_an_experiment_without_a_row_yet_is_listed_without_one(service):
    submit(service, LOCAL, tuning={"trials": 2})
    answer = ask(service, "1/local", "1///no such variant")
    assert (answer["rows"], answer["settings"], answer["contrasts"], answer["tasks"]) == ([], [], [], [])
    (experiment,) = answer["experiments"]
    assert (experiment["variants"], experiment["complete"]) == ([], False)


@ONE_KIND
def test_single_runs_are_rows_of_their_own(service):
    first, second = submit(service, LOCAL), submit(service, LOCAL, batch=64)
    finish(service, first, "local", "Sync EASGD", [4.0, 3.0, 5.0])
    mine = [run for run in service.runs(experiment=first["id"]) if run["variant"] == "Sync EASGD"]
    one, other = (next(run for run in mine if run["seed"] == seed) for seed in (1, 2))
    answer = ask(service, one["id"], "2///Sync EASGD", "1///Sync EASGD", other["id"], one["id"])
    assert [each["id"] for each in answer["experiments"]] == [first["id"], second["id"]]
    rows = answer["rows"]
    assert [each["run"] and each["run"]["id"] for each in rows] == [None, one["id"], other["id"], None]
    assert rows[1]["run"] == {"id": one["id"], "number": one["number"], "seed": 1, "trial": None}
    figures = [(each["finished"], each["runs"], each["time_to_target"]["median"]) for each in rows[:3]]
    assert figures == [(3, 3, 4.0), (1, 1, 3.0), (1, 1, 5.0)]
    answer = ask(service, one["id"], other["id"], "1///Sync EASGD", against=one["id"])
    found = {(each["first"], each["second"]): each for each in answer["contrasts"]}
    assert found[1, 2]["speed_up"]["pairs"] == 0  # two seeds are no pair
    assert f"in run {other['number']}" in found[1, 2]["sentence"]
    assert (found[1, 0]["speed_up"]["pairs"], found[1, 0]["speed_up"]["claim"]) == (1, "no claim")
    assert "no run has the id" in refused(service, "run_" + "0" * 32, status=404)["detail"]
