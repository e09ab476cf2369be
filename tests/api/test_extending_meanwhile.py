"""Extensions while something else is done to the experiment: nothing is lost or counted twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hooke_api.models import Experiment, Run
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor, done, scored, start
from tests.api.planning.test_tuning import reported, trials
from tests.api.test_extending import FEW, THIRD, TWO, ended, extend, finish, preview, settings_of
from tests.api.test_ingest import rank


def at_once(*requests):
    """Send requests at the same time; return their status codes."""
    with ThreadPoolExecutor(len(requests)) as pool:
        return [one.result().status_code for one in [pool.submit(each) for each in requests]]


def stored(service, experiment):
    with service.database.read() as session:
        row = session.get_one(Experiment, experiment)
        seeds = row.spec["clusters"][0]["seeds"]
        runs = session.scalars(select(Run).where(Run.experiment_id == experiment)).all()
        return row, seeds, [(run.variant, run.seed, run.project_id) for run in runs]


def half_failed(service):
    """Return an ended experiment of which the first run has failed, and this run."""
    experiment = service.submit(**TWO)["id"]
    service.scheduler.look()
    first = service.runs(experiment=experiment)[0]
    order = next(o for _, orders in service.line.launched for o in orders if o.run == first["id"])
    Supervisor(service, order).report("starting", "running", "failed_user", exit_code=3)
    finish(service)
    return experiment, first["id"]


@pytest.mark.parametrize("turn", range(2))
def test_a_run_may_be_tried_again_while_its_experiment_is_extended(service, turn):
    experiment, failed = half_failed(service)
    retry = lambda: service.client.post(f"/runs/{failed}/retry", json={"resume": False})  # noqa: E731
    both = [retry, lambda: extend(service, experiment, seeds=1)]
    codes = at_once(*(both if turn % 2 else reversed(both)))
    assert 202 in codes and set(codes) <= {201, 202, 409}
    assert service.get(f"/experiments/{experiment}")["state"] == "running"
    finish(service)
    row, seeds, runs = stored(service, experiment)
    assert seeds == 2 + codes.count(201)
    assert sorted(runs) == sorted({(v, s, row.project_id) for v in ("sync", "local") for s in range(seeds)})
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"
    assert service.get(f"/experiments/{experiment}/comparison")["complete"]


@pytest.mark.parametrize("turn", range(2))
def test_what_is_deleted_meanwhile_is_not_extended(service, turn):
    experiment = ended(service)
    delete = lambda: service.client.delete(f"/experiments/{experiment}")  # noqa: E731
    both = [delete, lambda: extend(service, experiment, seeds=1)]
    codes = at_once(*(both if turn % 2 else reversed(both)))
    row, seeds, runs = stored(service, experiment)
    assert (row.deleted_at is None) == (201 in codes) == (seeds == 3), codes
    assert len(runs) == 2 * seeds
    if row.deleted_at is not None:
        service.client.post(f"/experiments/{experiment}/restore").raise_for_status()
        extend(service, experiment, seeds=1).raise_for_status()
    finish(service)
    assert stored(service, experiment)[1] == 3
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"


@pytest.mark.parametrize("turn", range(2))
def test_added_runs_are_in_the_project_of_their_experiment(service, turn):
    experiment = ended(service)
    service.client.post("/projects", json={"name": "elsewhere"}).raise_for_status()
    both = [
        lambda: service.client.put(f"/experiments/{experiment}/project", json={"project": "elsewhere"}),
        lambda: extend(service, experiment, seeds=1, variants=[THIRD]),
    ]
    codes = at_once(*(both if turn % 2 else reversed(both)))
    assert codes.count(200) == 1 and codes.count(201) == 1, codes
    row, seeds, runs = stored(service, experiment)
    assert (seeds, len(runs)) == (3, 9)
    assert {project for *_, project in runs} == {row.project_id}
    finish(service)
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"


@ONE_KIND
def test_the_same_setting_under_another_name_is_practically_the_same(service):
    """It is measured for itself, and counts in the correction."""
    experiment = ended(service, clusters=[{"name": "local", "workers": [2], "seeds": 3}])
    again = TWO["variants"][1] | {"name": "local, again"}
    extend(service, experiment, variants=[again]).raise_for_status()
    finish(service)
    rows = {row["variant"]: row for row in service.get(f"/experiments/{experiment}/comparison")["rows"]}
    assert len({run["id"] for run in service.runs(experiment=experiment)}) == 9
    assert rows["local, again"]["speed_up"]["ratio"] == pytest.approx(1)
    assert rows["local, again"]["speed_up"]["claim"] in ("same", "not shown")
    assert rows["sync"]["speed_up"]["comparisons"] == 2


@ONE_KIND
def test_a_search_that_an_extension_began_and_that_was_cancelled_goes_on_with_the_next_one(service):
    experiment = service.submit(**FEW)["id"]
    finish(service)
    extend(service, experiment, variants=[{"name": "mean", "algorithm": "sync-sgd"}]).raise_for_status()
    service.scheduler.look()
    order = service.line.launched[-1][1][0]
    supervisor = Supervisor(service, order)
    supervisor.tell("starting", "running")
    supervisor.send(rank(0, start(), scored(1, 1000, 0.95, clock=1.0, reached=True), done(2, clock=1.0)))
    supervisor.report("succeeded")
    service.client.post(f"/experiments/{experiment}/cancel").raise_for_status()
    for run in service.runs(state="dispatched"):
        order = next(o for _, orders in service.line.launched for o in orders if o.run == run["id"])
        Supervisor(service, order).report("starting", "cancelled")
    assert service.get(f"/experiments/{experiment}")["finished_at"] is not None
    numbers = {run["number"] for run in service.runs()}
    plan = preview(service, experiment, seeds=1).json()
    assert (plan["runs"], plan["trial_runs"], plan["reported_runs"]) == ([], 2, 6)
    assert "the search of mean goes on: 2 cancelled trials will run again" in str(plan["warnings"])
    assert {run["state"] for run in trials(service)} == {"succeeded", "cancelled"}, "nothing is stored"
    view = extend(service, experiment, seeds=1).json()
    assert (view["version"], view["state"]) == (3, "running")
    assert {run["number"] for run in service.runs()} == numbers, "the others wait for its choice"
    finish(service)
    made = [run for run in trials(service) if run["variant"] == "mean"]
    assert sorted((run["trial"], run["attempt"], run["state"]) for run in made) == [
        (1, 1, "succeeded"),
        (2, 2, "succeeded"),
        (3, 2, "succeeded"),
    ]
    seeds = {(run["variant"], run["seed"]) for run in reported(service)}
    assert seeds == {(name, seed) for name in ("sync", "local", "mean") for seed in range(4)}
    assert len({str(settings_of(service, run)) for run in reported(service) if run["variant"] == "mean"}) == 1
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"
    tuning = service.get(f"/experiments/{experiment}/comparison")["tuning"]
    assert "best of 3 trials per variant" in tuning
