"""Extensions of experiments that have ended: more seeds and further variants, compared with what was measured."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hooke.cli.group import app
from hooke_api.comparisons.extended import _of_seeds, _of_variants
from hooke_api.models import Experiment, Run, TrailEntry, now
from sqlalchemy import inspect, select, update
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported, parts_of
from tests.api.hands import Supervisor, done, scored, start
from tests.api.persons import person
from tests.api.planning.test_tuning import TUNED, reported, trials
from tests.api.test_experiments import pointers, problem
from tests.api.test_ingest import rank

TWO = {
    "variants": [
        {"name": "sync", "algorithm": "sync-easgd", "parameters": {"lr": 0.1}},
        {"name": "local", "algorithm": "local-sgd", "parameters": {"lr": 0.1}},
    ],
    "baseline": "local",
    "clusters": [{"name": "local", "workers": [2], "seeds": 2}],
}
THIRD = {"name": "third", "algorithm": "local-sgd", "parameters": {"lr": 0.2}}


FEW = TUNED | {"tuning": {"trials": 3}}


def finish(service, **begun):
    """Run everything that is queued: `sync` is twice as fast as all others, and seeds differ a little.

    `begun`: what ranks tell at first.
    """
    while True:
        service.scheduler.look()
        sent = {run["id"] for run in service.runs(state="dispatched")}
        waiting = [order for _, orders in service.line.launched for order in orders if order.run in sent]
        if not waiting:
            return
        for order in waiting:
            run, supervisor = service.run(order.run), Supervisor(service, order)
            clock = (4.0 if run["variant"] == "sync" else 8.0) * (1 + run["seed"] % 7 / 100)
            supervisor.tell("starting", "running")
            shown = scored(1, 1000, 0.3, clock=clock * 0.95), scored(2, 2000, 0.95, clock=clock, reached=True)
            supervisor.send(rank(0, start(**begun), *shown, done(3, clock=clock)))
            supervisor.report("succeeded")


def ended(service, **changes):
    experiment = service.submit(**TWO | changes)["id"]
    finish(service)
    return experiment


def extend(service, experiment, **asked):
    return service.client.post(f"/experiments/{experiment}/extension", json=asked)


def preview(service, experiment, **asked):
    return service.client.post(f"/experiments/{experiment}/extension/dry-run", json=asked)


def settings_of(service, run):
    spec = dict(service.run(run["id"])["spec"])
    return {name: value for name, value in spec.items() if name != "seed"}


@ONE_KIND
def test_more_seeds_count_with_the_earlier_ones(service):
    experiment = ended(service)
    first = service.get(f"/experiments/{experiment}")
    rows = {row["variant"]: row for row in service.get(f"/experiments/{experiment}/comparison")["rows"]}
    assert (rows["sync"]["speed_up"]["claim"], first["version"]) == ("no claim", 1)
    before = service.runs(experiment=experiment)
    answer = extend(service, experiment, seeds=3, version=1)
    assert answer.status_code == 201, answer.text
    view = answer.json()
    assert (view["version"], view["state"], view["finished_at"]) == (2, "running", None)
    assert view["spec"]["clusters"][0]["seeds"] == 5
    runs = service.runs(experiment=experiment)
    assert [run["id"] for run in runs[:4]] == [run["id"] for run in before]
    assert {(run["variant"], run["seed"]) for run in runs} == {(v, s) for v in ("sync", "local") for s in range(5)}
    assert [run["number"] for run in runs] == list(range(1, 11))
    assert len({str(settings_of(service, run)) for run in runs if run["variant"] == "sync"}) == 1
    finish(service)
    comparison = service.get(f"/experiments/{experiment}/comparison")
    row = next(row for row in comparison["rows"] if row["variant"] == "sync")
    assert (row["runs"], row["speed_up"]["pairs"], row["speed_up"]["claim"]) == (5, 5, "faster")
    assert row["speed_up"]["ratio"] == pytest.approx(2, rel=1e-6)
    assert "after 2 had been compared (now 5)" in comparison["extended"]
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"
    versions = service.get(f"/experiments/{experiment}/versions")["items"]
    assert [each["spec"]["clusters"][0]["seeds"] for each in versions] == [2, 5]
    assert versions[0]["spec"] == first["spec"]
    assert versions[0]["fingerprint"] == first["fingerprint"] != versions[1]["fingerprint"]
    told = [warning["pointer"] for warning in first["warnings"]]
    assert "/clusters/0/seeds" in told, "fewer than 3 seeds"
    assert "/clusters/0/seeds" not in {warning["pointer"] for warning in view["warnings"]}


def test_a_further_variant_is_compared_on_the_same_seeds(service):
    experiment = ended(service)
    swept = THIRD | {"parameters": {}, "sweep": {"lr": [0.1, 0.2]}}
    view = extend(service, experiment, seeds=1, variants=[swept]).json()
    assert view["variants"] == ["sync", "local", "third (lr 0.1)", "third (lr 0.2)"]
    added = service.runs(experiment=experiment)[4:]
    assert len(added) == 2 + 2 * 3
    assert {run["seed"] for run in added if run["variant"] == "third (lr 0.2)"} == {0, 1, 2}
    assert {run["seed"] for run in added if run["variant"] == "sync"} == {2}
    finish(service)
    rows = service.get(f"/experiments/{experiment}/comparison")["rows"]
    assert [(row["variant"], row["runs"]) for row in rows] == [(name, 3) for name in view["variants"]]
    assert {row["speed_up"]["comparisons"] for row in rows if row["variant"] != "local"} == {3}


def test_of_two_extensions_at_once_one_is_made(service):
    experiment = ended(service)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda seeds: extend(service, experiment, seeds=seeds), (1, 2, 3, 4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    made = next(answer.json() for answer in answers if answer.status_code == 201)
    seeds = made["spec"]["clusters"][0]["seeds"]
    assert len(service.runs(experiment=experiment)) == 2 * seeds
    assert len(service.get(f"/experiments/{experiment}/versions")["items"]) == 2
    with service.database.read() as session:
        found = session.scalars(
            select(TrailEntry).where(TrailEntry.subject == experiment).order_by(TrailEntry.id)
        ).all()
    told = [(each.action, each.before, each.after["version"]) for each in found if "extend" in each.action]
    assert told == [("extend_experiment", {"version": 1}, 2)]
    assert found[-1].after["runs"] == 2 * (seeds - 2)


@ONE_KIND
def test_what_cannot_be_extended_is_said(service):
    running = service.submit(**TWO)["id"]
    assert "has not ended" in problem(extend(service, running, seeds=1), 409)["detail"]
    finish(service)
    assert "nothing to add" in problem(extend(service, running), 422)["detail"]
    assert "is version 1, not 2" in problem(extend(service, running, seeds=1, version=2), 409)["detail"]
    assert pointers(extend(service, running, seeds=99)) == {"/seeds"}

    def faulty(*variants):
        return pointers(extend(service, running, variants=[THIRD | each for each in variants]))

    assert faulty({"name": "sync"}) == {"/variants/0/name"}
    assert faulty({}, {"name": "x", "parameters": {"lr": -1}}) == {"/variants/1/parameters/lr"}
    assert faulty({"algorithm": "none"}) == {"/variants/0/algorithm"}
    client = service.client
    client.patch(f"/experiments/{running}", json={"archived": True}).raise_for_status()
    assert "is archived" in problem(extend(service, running, seeds=1), 409)["detail"]
    client.patch(f"/experiments/{running}", json={"archived": False}).raise_for_status()
    other = person(service, "researcher").client
    assert other.post(f"/experiments/{running}/extension", json={"seeds": 1}).status_code == 403
    client.delete(f"/experiments/{running}").raise_for_status()
    assert "can be restored" in problem(extend(service, running, seeds=1), 404)["detail"]
    assert problem(client.get(f"/experiments/{running}/versions"), 404)
    client.post(f"/experiments/{running}/restore").raise_for_status()
    with service.database.write() as session:
        session.execute(update(Experiment).values(imported_at=now()))
    assert "was imported" in problem(extend(service, running, seeds=1), 409)["detail"]
    assert service.count(Run) == 4


def test_an_extended_comparison_says_what_was_measured_later_and_by_what(service):
    experiment = service.submit(**TWO)["id"]
    finish(service, hardware={"cpu": "Old"}, versions={"torch": "2.1", "hooke": "1"})
    assert service.get(f"/experiments/{experiment}/comparison")["extended"] is None
    extend(service, experiment, variants=[THIRD]).raise_for_status()
    finish(service, hardware={"cpu": "New"}, versions={"torch": "2.1", "hooke": "2"})
    told = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert "On local, third was measured after the others" in told
    assert "not all made by the same: hooke on local (1, 2); processor on local (Old, New)." in told
    assert "Seeds were added" not in told
    for seeds in (1, 2):
        extend(service, experiment, seeds=seeds).raise_for_status()
        finish(service)
    told = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert told.startswith("Seeds were added 2 times after 2 had been compared (now 5): ")
    number = service.get(f"/experiments/{experiment}")["number"]
    assert service.get("/compare", rows=[str(number)])["experiments"][0]["note"] == told
    bundle = exported(service, experiment)
    assert "earlier" not in json.loads(parts_of(exported(service, ended(service)))["experiment.json"])
    view = imported(service, bundle)
    assert view["version"] == 4
    answers = [service.get(f"/experiments/{each}/versions")["items"] for each in (experiment, view["id"])]
    assert [each["fingerprint"] for each in answers[0]] == [each["fingerprint"] for each in answers[1]]
    assert service.get(f"/experiments/{view['id']}/comparison")["extended"] == told


@ONE_KIND
def test_a_comparison_says_that_runs_which_had_shown_something_were_tried_again(service):
    """Otherwise who tries a seed again until it does not diverge has the faster method."""
    experiment = service.submit(**TWO)["id"]
    service.scheduler.look()
    first = service.runs(experiment=experiment)[0]
    order = next(o for _, orders in service.line.launched for o in orders if o.run == first["id"])
    Supervisor(service, order).report("starting", "running", "failed_user", exit_code=65)
    finish(service)
    assert service.get(f"/experiments/{experiment}/comparison")["extended"] is None
    service.client.post(f"/runs/{first['id']}/retry", json={"resume": False}).raise_for_status()
    finish(service)
    told = service.get(f"/experiments/{experiment}/comparison")["extended"]
    assert told.startswith("1 run was retried by hand after a divergence, an error or the time limit")


def test_several_clusters_and_simulated_ones():
    def spec(first, second, *names, virtual=None):
        clusters = [
            {"name": "a", "seeds": first, "virtual": virtual},
            {"name": "b", "seeds": second, "virtual": {}},
        ]
        return {"clusters": clusters, "variants": [{"name": name} for name in names]}

    (told,) = _of_seeds([spec(2, 5), spec(2, 5, "x"), spec(3, 6, "x")])
    assert told.startswith("Seeds were added after 2 to 5 had been compared (now 3 to 6): ")
    (told,) = _of_variants([spec(2, 5, "x"), spec(2, 5, "x", "y", "z")])
    assert told.startswith("On a, y and z were measured after the others")
    simulated = [spec(2, 5, "x", virtual={}), spec(2, 5, "x", "y", virtual={})]
    assert list(_of_variants(simulated)) == [], "virtual time is the same at any time"


@ONE_KIND
def test_lists_do_not_read_earlier_versions(service):
    experiment = ended(service)
    extend(service, experiment, seeds=1).raise_for_status()
    (item,) = service.get("/experiments")["items"]
    assert item["version"] == 2
    with service.database.read() as session:
        row = session.scalars(select(Experiment)).one()
        assert "earlier" in inspect(row).unloaded, "20 versions of 500 experiments"


@ONE_KIND
def test_settings_that_would_be_other_ones_are_refused(service):
    """As after a change of a default: the stored runs have another rate than the plan would give the new ones."""
    experiment = ended(service)
    with service.database.write() as session:
        run = session.scalars(select(Run).where(Run.variant == "sync", Run.seed == 0)).one()
        changed = run.spec["algorithm"] | {"parameters": run.spec["algorithm"]["parameters"] | {"lr": 0.3}}
        run.spec = run.spec | {"algorithm": changed}
    body = problem(extend(service, experiment, seeds=1), 422)
    assert "sync on local would run with other settings than before" in body["errors"][0]["message"]
    assert service.count(Run) == 4


@ONE_KIND
def test_new_seeds_of_a_tuned_experiment_have_the_chosen_settings(service):
    experiment = service.submit(**FEW)["id"]
    finish(service)
    tried = {run["id"] for run in trials(service)}
    extend(service, experiment, seeds=2).raise_for_status()
    finish(service)
    assert {run["id"] for run in trials(service)} == tried, "nothing is tried again"
    assert sorted(run["seed"] for run in reported(service) if run["variant"] == "sync") == [0, 1, 2, 3, 4]
    for name in ("sync", "local"):
        assert len({str(settings_of(service, run)) for run in reported(service) if run["variant"] == name}) == 1
    assert {run["seed"] for run in reported(service)}.isdisjoint(run["seed"] for run in trials(service))


@ONE_KIND
def test_a_new_variant_of_a_tuned_experiment_gets_as_many_trials(service):
    experiment = service.submit(**FEW)["id"]
    finish(service)
    before = {run["id"] for run in service.runs()}
    view = extend(service, experiment, variants=[{"name": "mean", "algorithm": "sync-sgd"}]).json()
    assert view["state"] == "running"
    assert set(view["spec"]["tuning"]["spaces"]) == {"sync-easgd", "local-sgd", "sync-sgd"}
    finish(service)
    made = [run for run in trials(service) if run["variant"] == "mean"]
    assert len({run["trial"] for run in made}) == 3
    assert {run["variant"] for run in service.runs() if run["id"] not in before} == {"mean"}
    assert sorted(run["seed"] for run in reported(service) if run["variant"] == "mean") == [0, 1, 2]
    comparison = service.get(f"/experiments/{experiment}/comparison")
    assert "best of 3 trials per variant" in comparison["tuning"]
    row = next(row for row in comparison["rows"] if row["variant"] == "mean")
    assert row["speed_up"]["claim"] != "no claim", row["speed_up"]["sentence"]
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"


@ONE_KIND
def test_a_tuning_that_was_cancelled_is_not_extended(service):
    experiment = service.submit(**FEW)["id"]
    service.client.post(f"/experiments/{experiment}/cancel").raise_for_status()
    detail = problem(extend(service, experiment, seeds=1), 409)["detail"]
    assert "the tuning of local and sync did not end" in detail


@ONE_KIND
def test_what_would_be_added_is_told_and_not_stored(service):
    experiment = ended(service)
    asked = {"seeds": 1, "variants": [THIRD | {"parameters": {}, "sweep": {"lr": [0.1, 0.2]}}]}
    plan = preview(service, experiment, **asked).json()
    assert service.count(Run) == 4
    assert service.get(f"/experiments/{experiment}")["version"] == 1
    told = [(run["variant"], run["cluster"], run["workers"], run["seed"]) for run in plan["runs"]]
    assert (plan["trial_runs"], plan["reported_runs"], len(told)) == (0, 8, 8)
    assert sum(each["runs"] for each in plan["durations"]) == 8
    extend(service, experiment, **asked).raise_for_status()
    made = service.runs(experiment=experiment)[4:]
    assert told == [(run["variant"], run["cluster"], run["workers"], run["seed"]) for run in made]


@ONE_KIND
def test_a_dry_run_is_refused_as_the_extension_is(service):
    running = service.submit(**TWO)["id"]
    assert "has not ended" in problem(preview(service, running, seeds=1), 409)["detail"]
    finish(service)
    assert "nothing to add" in problem(preview(service, running), 422)["detail"]
    wrong = [THIRD, {"name": "sync", "algorithm": "local-sgd", "parameters": {"lr": -1}}]
    places = pointers(preview(service, running, variants=wrong))
    assert places == pointers(extend(service, running, variants=wrong))
    assert all(place.startswith("/variants/1/") for place in places), places
    other = person(service, "researcher").client
    assert other.post(f"/experiments/{running}/extension/dry-run", json={"seeds": 1}).status_code == 403


@ONE_KIND
def test_warnings_of_a_dry_run_are_about_what_is_added(service):
    experiment = ended(service)
    long = {"name": "long", "algorithm": "local-sgd", "parameters": {"period": 10_000}}
    plan = preview(service, experiment, variants=[long]).json()
    told = {each["pointer"]: each["message"] for each in plan["warnings"]}
    assert "longer than the budget" in told["/variants/0/parameters"]


@ONE_KIND
def test_a_dry_run_of_a_tuned_variant_counts_its_own_trials(service):
    experiment = service.submit(**FEW)["id"]
    finish(service)
    mean = {"name": "mean", "algorithm": "sync-sgd"}
    plan = preview(service, experiment, seeds=1, variants=[mean]).json()
    before = {run["id"] for run in service.runs()}
    extend(service, experiment, seeds=1, variants=[mean]).raise_for_status()
    finish(service)
    assert plan["trial_runs"] == sum(run["variant"] == "mean" for run in trials(service)) == 3
    added = [run for run in reported(service) if run["id"] not in before]
    assert plan["reported_runs"] == len(added) == 4 + 2, "four seeds of the new one, one more of each other"


@ONE_KIND
def test_the_command_extends(service, monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    experiment = ended(service)

    def hooke(*arguments, status=0):
        answer = CliRunner().invoke(app, ["experiments", "extend", experiment, *arguments])
        assert answer.exit_code == status, answer.output
        return answer.output

    assert "nothing to add" in hooke(status=1)
    assert hooke("--seeds", "1", "--check") == "0 trial runs at most and 2 others would be added\n"
    assert hooke("--seeds", "1") == f"{experiment} is version 2: 2 runs were added, trials included\n"
    assert "has not ended" in hooke("--seeds", "1", status=1)
    finish(service)
    file = tmp_path / "more.yaml"
    file.write_text("variants:\n- name: third\n  algorithm: local-sgd\n  parameters: {lr: 0.2}\n")
    assert hooke("--variants", str(file)) == f"{experiment} is version 3: 3 runs were added, trials included\n"
    file.write_text("name: x\n")
    assert "there is no list `variants`" in hooke("--variants", str(file), status=1)
