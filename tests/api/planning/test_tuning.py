"""A tuned experiment from its submission to its verdict, with every trial played by hand."""

import inspect
import math

import pytest
from hooke.spec.states import RunState
from hooke.tuning import optuna_search
from hooke_api.models import Cluster, Run
from hooke_api.planning.steps import Planner
from sqlalchemy import delete, select

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC, Supervisor, done, scored, start
from tests.api.test_ingest import rank

pytestmark = ONE_KIND  # a tuned experiment on both kinds: test_faults.py, test_continued.py

TUNED = {
    "variants": [
        {"name": "sync", "algorithm": "sync-easgd"},
        {"name": "local", "algorithm": "local-sgd", "parameters": {"period": 4}},
    ],
    "baseline": "local",
    "clusters": [{"name": "local", "workers": [2], "seeds": 3}],
    "tuning": {"trials": 8, "search": "halving"},
}


def play(service, seconds, until=lambda run: False):
    """Run everything that is queued; `seconds` of a run is its time to the target, None: it missed it."""
    while True:
        service.scheduler.look()
        sent = {run["id"] for run in service.runs(state="dispatched")}
        waiting = [order for _, orders in service.line.launched for order in orders if order.run in sent]
        if not waiting:
            return
        for order in waiting:
            run = service.run(order.run)
            if until(run):
                return
            finish(Supervisor(service, order), run, seconds(run))


def finish(supervisor, run, seconds):
    supervisor.tell("starting", "running")
    if seconds == "diverged":
        supervisor.report("failed_user", exit_code=65)
        return
    met = seconds is not None and seconds <= run["budget"] / 1000
    clock = seconds if met else run["budget"] / 1000
    # a trial that misses the target comes as near to it as its rate is near to 0.03
    accuracy = 0.95 if met else 0.5 - abs(math.log(rate(run) / 0.03)) / 100
    evaluations = [scored(1, 1000, 0.3, clock=clock * 0.95), scored(2, 2000, accuracy, clock=clock, reached=met)]
    supervisor.send(rank(0, start(), *evaluations, done(3, clock=clock)))
    supervisor.report("succeeded")


def rate(run):
    return run["spec"]["algorithm"]["parameters"]["lr"]


def by_rate(run):
    """Return the seconds of a method whose best rate is 0.03."""
    factor = 1 if run["variant"] == "sync" else 2
    return factor * (4 + abs(math.log(rate(run) / 0.03)) * 2) * (1 + run["seed"] % 7 / 100)


def trials(service):
    return [run for run in service.runs() if run["rung"] is not None]


def reported(service):
    return [run for run in service.runs() if run["rung"] is None]


def test_trials_come_first_and_the_best_settings_are_measured_on_other_seeds(service):
    experiment = service.submit(**TUNED)["id"]
    assert len(trials(service)) == 16
    assert reported(service) == []
    play(service, by_rate)
    after = service.runs()
    assert {run["rung"] for run in trials(service)} == {0, 1}
    assert {run["budget"] for run in trials(service)} == {5000, 10_000}
    assert len(reported(service)) == 6
    seeds = {run["seed"] for run in reported(service)}
    assert seeds == {0, 1, 2}
    assert seeds.isdisjoint(run["seed"] for run in trials(service))
    assert sorted(run["number"] for run in after) == list(range(1, len(after) + 1))
    tuning = service.get(f"/experiments/{experiment}/tuning")
    assert tuning["complete"]
    assert [rung["trials"] for rung in tuning["rungs"]] == [8, 4]
    for search in tuning["searches"]:
        chosen = {run["trial"] for run in reported(service) if run["variant"] == search["variant"]}
        assert chosen == {search["chosen"]}
        # the independent answer: the rate that is nearest to 0.03, for the time depends on nothing else
        rates = {trial["trial"]: trial["parameters"]["lr"] for trial in search["trials"]}
        assert search["chosen"] == min(rates, key=lambda trial: abs(math.log(rates[trial] / 0.03)))
        assert "period" not in search["spaces"] or search["variant"] == "sync"
    view = service.get(f"/experiments/{experiment}")
    assert (view["state"], view["finished_at"] is not None) == ("succeeded", True)
    comparison = service.get(f"/experiments/{experiment}/comparison")
    assert comparison["complete"]
    assert "best of 8 trials per variant" in comparison["tuning"]
    rows = {row["variant"]: row for row in comparison["rows"]}
    assert {row["runs"] for row in rows.values()} == {3}, "trials are in no row"
    assert rows["sync"]["speed_up"]["claim"] == "faster"


def test_a_model_is_asked_before_the_database_is_locked(service, monkeypatch):
    """It may take seconds, in which nobody could write."""
    pytest.importorskip("optuna")
    asked, original = [], optuna_search.proposals

    def proposals(*given):
        asked.append({frame.function for frame in inspect.stack(context=0)})
        return original(*given)

    monkeypatch.setattr(optuna_search, "proposals", proposals)
    service.submit(**TUNED | {"tuning": {"trials": 3, "search": "optuna"}})
    assert len(trials(service)) == 4
    play(service, by_rate)
    assert {run["trial"] for run in trials(service) if run["variant"] == "sync"} == {1, 2, 3}
    assert (len(trials(service)), len(reported(service))) == (6, 6)
    assert len(asked) == 2 and all("propose" in by and "advance" not in by for by in asked)


def test_a_variant_with_fewer_trials_makes_no_claim(service):
    """Everything of it is given: one setting against the best of eight."""
    fixed = {"lr": 0.2, "momentum": 0.0, "momentum_kind": "heavy-ball", "period": 4}
    variants = [TUNED["variants"][0], TUNED["variants"][1] | {"parameters": fixed}]
    experiment = service.submit(**TUNED | {"variants": variants})["id"]
    play(service, by_rate)
    comparison = service.get(f"/experiments/{experiment}/comparison")
    row = next(row for row in comparison["rows"] if row["variant"] == "sync")
    assert row["speed_up"]["claim"] == "no claim"
    assert "unequal tuning: 8 trials, but 1 of local" in row["speed_up"]["sentence"]
    assert "faster" not in " ".join([row["speed_up"]["sentence"], *comparison["sentences"]])


def test_without_tuning_settings_are_called_given(service):
    experiment = service.submit()["id"]
    assert "as given" in service.get(f"/experiments/{experiment}/comparison")["tuning"]
    assert service.client.get(f"/experiments/{experiment}/tuning").status_code == 404
    assert {run["trial"] for run in service.runs()} == {None}


def test_trials_that_diverge_are_no_choice(service):
    def diverges(run):
        return "diverged" if rate(run) > 0.02 else by_rate(run)

    experiment = service.submit(**TUNED)["id"]
    play(service, diverges)
    for search in service.get(f"/experiments/{experiment}/tuning")["searches"]:
        parameters = search["trials"][search["chosen"] - 1]["parameters"]
        assert parameters["lr"] <= 0.02
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded", "a trial may fail"


def test_a_method_of_which_no_trial_gives_a_result_is_named(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, lambda run: "diverged" if run["variant"] == "sync" else by_rate(run))
    assert {run["variant"] for run in reported(service)} == {"local"}
    comparison = service.get(f"/experiments/{experiment}/comparison")
    assert "sync (none of its trials gave a result)" in comparison["sentences"][0]
    assert comparison["complete"]


def test_an_experiment_runs_on_between_its_trials_and_its_measurement(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, by_rate, until=lambda run: run["rung"] == 1)
    view = service.get(f"/experiments/{experiment}")
    assert (view["state"], view["finished_at"]) == ("running", None)
    assert not service.get(f"/experiments/{experiment}/comparison")["complete"]
    search = service.get(f"/experiments/{experiment}/tuning")["searches"][0]
    assert (search["ended"], search["chosen"]) == (False, None)


def test_a_cancelled_experiment_plans_no_more_runs(service):
    experiment = service.submit(**TUNED)["id"]
    assert service.client.post(f"/experiments/{experiment}/cancel").status_code == 202
    count = len(service.runs())
    service.scheduler.look()
    assert len(service.runs()) == count
    view = service.get(f"/experiments/{experiment}")
    assert (view["state"], view["finished_at"] is not None) == ("cancelled", True)


def test_another_process_plans_the_next_step_as_well(service):
    """Nothing is in memory: a process that was killed after the last trial is replaced by any other."""
    service.submit(**TUNED)
    play(service, by_rate, until=lambda run: run["rung"] == 1)
    before = len(service.runs())
    for _ in range(2):
        Planner(service.database).look()  # both find what exists: no run is planned twice
    assert len(service.runs()) == before
    cells = [(run["variant"], run["workers"], run["seed"], run["trial"], run["rung"]) for run in service.runs()]
    assert len(set(cells)) == len(cells)


def test_a_cluster_that_has_gone_stops_the_tuning_with_a_reason(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, by_rate, until=lambda run: run["rung"] == 1)
    before = service.get(f"/experiments/{experiment}/tuning")
    with service.database.write() as session:
        session.execute(delete(Cluster))
        ended = session.scalars(select(Run).where(Run.rung == 1)).first()
        ended.state = RunState.FAILED_INFRA  # one more has ended: the next step is planned
    Planner(service.database).look()
    view = service.get(f"/experiments/{experiment}")
    assert any("no cluster 'local' is registered" in warning["message"] for warning in view["warnings"])
    # what is left of the trials leads to nothing: it is cancelled, and told from what is stored
    assert {run["state"] for run in trials(service) if run["rung"] == 1} <= {
        "cancelled",
        "failed_infra",
        "dispatched",
    }
    assert all(run["cancel_requested"] for run in trials(service) if run["state"] == "dispatched")
    after = service.get(f"/experiments/{experiment}/tuning")
    for told, was in zip(after["searches"], before["searches"], strict=True):
        kept = ("variant", "cluster", "workers", "simulated", "spaces", "samples")
        assert {key: told[key] for key in kept} == {key: was[key] for key in kept}
        assert [trial["parameters"] for trial in told["trials"]] == [
            trial["parameters"] for trial in was["trials"]
        ]


def test_auto_workers_are_those_of_the_submission(service):
    """Also if the cluster comes back with fewer cores between two steps."""
    clusters = [{"name": "local", "workers": ["auto"], "seeds": 3}]
    service.submit(**TUNED | {"clusters": clusters})
    play(service, by_rate, until=lambda run: run["rung"] == 1)
    service.hello(cores=2)
    play(service, by_rate)
    assert {run["workers"] for run in service.runs()} == {4}
    assert len(reported(service)) == 6


def test_a_dry_run_counts_trials(service):
    service.hello()
    answer = service.client.post("/experiments/dry-run", json=SPEC | TUNED).json()
    assert (len(answer["runs"]), answer["trial_runs"], answer["reported_runs"]) == (16, 2 * (8 + 4), 6)


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"tuning": {"trials": 1}}, "/tuning/trials", "greater than or equal to 2"),
        ({"tuning": {"trials": 8, "samples": 10**12}}, "/tuning/samples", "more than 10,000 evaluations"),
        ({"tuning": {"trials": 8, "cluster": "moon"}}, "/tuning/cluster", "no cluster of this experiment"),
        ({"tuning": None, "variants": [{"search": {"lr": None}}]}, "/variants/0/search", "without `tuning`"),
        (
            {"variants": [{"search": {"lr": {"low": -1, "high": 1}}}]},
            "/variants/0/search/lr",
            "does not take -1.0",
        ),
        ({"variants": [{"search": {"speed": None}}]}, "/variants/0/search/speed", "no parameter of this name"),
        (
            {"variants": [{"search": {"lr": {"choices": [0.1]}}, "parameters": {"lr": 0.1}}]},
            "/variants/0/search/lr",
            "one or the other",
        ),
    ],
)
def test_a_wrong_tuning_is_told_where_and_why(service, change, pointer, words):
    service.hello()
    first, second = TUNED["variants"]
    document = SPEC | TUNED | change
    document["variants"] = [first | each for each in change.get("variants", [{}])] + [second]
    answer = service.client.post("/experiments/dry-run", json=document)
    assert answer.status_code == 422
    assert any(f["pointer"] == pointer and words in f["message"] for f in answer.json()["errors"]), answer.json()
