"""The leaderboard over REST: what counts, what does not, and the scores by hand."""

import pytest
from hooke.spec.states import RunState
from hooke_api.models import Experiment, Run, now
from sqlalchemy import select, update

VARIANTS = [
    {"name": "sync", "algorithm": "sync-sgd"},
    {"name": "local 4", "algorithm": "local-sgd", "parameters": {"period": 4}},
    {"name": "local 8", "algorithm": "local-sgd", "parameters": {"period": 8}},
]
TUNED = {"baseline": "sync", "tuning": {"trials": 2}, "clusters": [{"name": "local", "workers": [2], "seeds": 3}]}


def measured(service, times, variants=VARIANTS, failed=(), **changes):
    """Submit an experiment whose trials have ended, and whose reported runs have these times by variant."""
    made = service.submit(**TUNED | {"variants": variants} | changes)
    with service.database.write() as session:
        runs = select(Run).where(Run.experiment_id == made["id"])
        trial = session.scalars(runs.order_by(Run.number)).all()
        for run in trial:
            run.state = RunState.CANCELLED if (run.variant, run.trial) in failed else RunState.SUCCEEDED
        number = len(trial)
        for variant, of_seeds in times.items():
            like = next(run for run in trial if run.variant == variant)
            for seed, seconds in enumerate(of_seeds):
                number += 1
                session.add(reported(like, number, seed, seconds))
        ended = {"planning": False, "finished_at": now()}
        session.execute(update(Experiment).where(Experiment.id == made["id"]).values(**ended))
    return made


def reported(like, number, seed, seconds):
    kept = ("experiment_id", "variant", "algorithm", "cluster", "host", "simulated", "workers", "servers")
    figures = {"time_to_target": seconds, "target_after": seconds, "clock": seconds or 50.0}
    return Run(
        **{
            name: getattr(like, name)
            for name in (*kept, "project_id", "created_by", "fingerprint", "budget", "spec")
        },
        **figures,
        id=f"run_{like.experiment_id[-12:]}{number}",
        number=number,
        seed=seed,
        trial=1,
        state=RunState.SUCCEEDED,
        created_at=now(),
    )


def test_scores_over_two_workloads(service):
    digits = measured(service, {"sync": [4.0, 5.0, 4.5], "local 4": [9.0, 9.0, 9.0], "local 8": [8.0, 9.0, 10.0]})
    other = {"name": "mnist-lenet"}
    again = measured(
        service, {"sync": [6.0, 6.0, None], "local 4": [None] * 3, "local 8": [3.0] * 3}, workload=other
    )
    answer = service.get("/leaderboard")
    (board,) = answer["boards"]
    assert (board["cluster"], board["workers"], board["simulated"], answer["tau_max"]) == ("local", 2, False, 4.0)
    assert [each["name"] for each in board["workloads"]] == ["digits-mlp", "mnist-lenet"]
    assert [each["experiments"][0]["id"] for each in board["workloads"]] == [digits["id"], again["id"]]
    sync, local = (
        {each["algorithm"]: each for each in board["methods"]}[name] for name in ("sync-sgd", "local-sgd")
    )
    # ratios: sync 1 and 6 / 3; Local SGD 9 / 4.5 and 1; a score is the mean of (4 - ratio) / 3
    assert [each["ratio"] for each in sync["results"]] == [1.0, 2.0]
    assert [each["ratio"] for each in local["results"]] == [2.0, 1.0]
    assert sync["score"] == local["score"] == pytest.approx((1 + 2 / 3) / 2)
    assert (sync["results"][1]["reached"], sync["results"][1]["seeds"]) == (2, 3)
    assert [(each["variant"], each["variants"]) for each in local["results"]] == [("local 4", 2), ("local 8", 2)]
    assert sync["low"] <= sync["score"] <= sync["high"]
    assert (sync["tau"], sync["rho"]) == ([1, 1, 1, 2, 2, 4], [0, 0, 0.5, 0.5, 1, 1])


def test_experiments_that_do_not_count_are_named_with_the_reason(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    two = VARIANTS[:2]
    given = service.submit()
    older = measured(service, times, two)
    counting = measured(service, times, two, target={"value": 0.8})
    aimless = measured(service, times, two, target=None)
    unequal = measured(service, times, two, failed={("local 4", 2)})
    going = service.submit(**TUNED | {"variants": two})
    nothing = measured(service, {}, two)
    at_start = measured(service, times | {"sync": [0.0, 1.0, 1.0]}, two)
    answer = service.get("/leaderboard")
    counted = [each["id"] for board in answer["boards"] for w in board["workloads"] for each in w["experiments"]]
    assert counted == [counting["id"]]
    why = {each["id"]: each["why"] for each in answer["left_out"]}
    assert why == {
        at_start["id"]: "its target was met before the first step: set a harder one",
        nothing["id"]: "it has no reported run: no trial gave a setting, or it was cancelled",
        going["id"]: "its runs have not all ended: wait",
        unequal["id"]: "unequal tuning on local with 2 workers: 2 trials of sync, 1 trial of local 4",
        aimless["id"]: "it has no target: set one",
        older["id"]: f"on digits-mlp, experiment #{counting['number']} is newer and has another target",
        given["id"]: "its settings are as given: tune it",
    }


def test_a_method_that_lacks_a_workload_is_not_ranked_and_one_without_a_setting_missed_the_target(service):
    third = {"name": "third", "algorithm": "slowmo"}
    variants = [*VARIANTS[:2], third]
    measured(service, {"sync": [1.0] * 3, "local 4": [2.0] * 3}, variants)  # no setting of the third
    measured(
        service,
        {"sync": [1.0] * 3, "third": [2.0] * 3},
        [VARIANTS[0], third],
        workload={"name": "mnist-lenet"},
    )
    (board,) = service.get("/leaderboard")["boards"]
    assert board["unranked"] == [{"algorithm": "local-sgd", "lacking": ["mnist-lenet"]}]
    slowmo = board["methods"][1]
    assert (slowmo["algorithm"], slowmo["results"][0]["ratio"], slowmo["score"]) == (
        "slowmo",
        None,
        pytest.approx(1 / 3),
    )


def test_without_experiments_there_is_no_board(service):
    assert service.get("/leaderboard") == {"tau_max": 4.0, "boards": [], "left_out": []}
