"""The leaderboard over REST: what counts, what does not, and the scores by hand."""

import math

import pytest
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState
from hooke_api.comparisons.entries import MethodTimes, _conditions, best
from hooke_api.comparisons.run_settings import conditions
from hooke_api.models import Experiment, Run, now
from sqlalchemy import select, update
from sqlalchemy.orm import undefer

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC

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
            for seed, seconds in enumerate(of_seeds, changes.get("first_seed", 0)):
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


def left_out(answer):
    return [(each["number"], each["why"]) for each in answer["left_out"]]


def ranked(answer):
    (board,) = answer["boards"]
    return [each["algorithm"] for each in board["methods"]]


def edit(service, made, part, **changes):
    """Change `algorithm` or `workload` in the specifications of an experiment's runs; of Local SGD's runs only."""
    with service.database.write() as session:
        query = select(Run).where(Run.experiment_id == made["id"]).options(undefer(Run.spec))
        for run in session.scalars(query):
            if part == "workload" or run.algorithm == "local-sgd":
                run.spec = run.spec | {part: run.spec[part] | changes}


def end(service, made, variant, seeds, state):
    """Let the reported runs of a variant with these seeds have ended otherwise."""
    of_runs = (Run.experiment_id == made["id"], Run.variant == variant, Run.rung.is_(None), Run.seed.in_(seeds))
    with service.database.write() as session:
        session.execute(update(Run).where(*of_runs).values(state=state))


@ONE_KIND
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
    assert board["workloads"][0]["by_hand"] == "#1: Not searched: local 4 (period), local 8 (period)."
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


@ONE_KIND
def test_spaces_that_are_later_or_given_are_told_below_a_board(service):
    times = {"sync": [4.0, 5.0, 4.5], "local 4": [9.0, 9.0, 9.0]}
    spaces = {"sync-sgd": {"lr": {"choices": [0.1, 1.0]}}}
    made = measured(service, times, VARIANTS[:2], tuning={"trials": 2, "spaces": spaces})
    with service.database.write() as session:
        experiment = session.get_one(Experiment, made["id"])
        experiment.spec = experiment.spec | {"tuning": experiment.spec["tuning"] | {"later": ["local-sgd"]}}
    (board,) = service.get("/leaderboard")["boards"]
    told = board["workloads"][0]["by_hand"]
    assert "Searched in spaces that the specification gives for an algorithm: sync (sync-sgd)." in told
    assert "The search spaces of local-sgd were declared later" in told


def test_trials_of_another_sampler_are_another_tuning():
    tuned = [{"trials": 2, "search": "optuna", "sampler": sampler} for sampler in ("gp", "random", "random")]
    specs = [ExperimentSpec.model_validate(SPEC | {"tuning": each}) for each in tuned]
    gp, one, other = (_conditions(spec, spec.clusters[0], 2) for spec in specs)
    assert gp != one == other


def test_a_trace_is_a_condition_of_measured_times():
    """It takes 20 us of a step; in virtual time nothing."""
    for virtual in (None, {}):
        clusters = [SPEC["clusters"][0] | {"computed_on": "local", "virtual": virtual}]
        documents = [SPEC | {"clusters": clusters, "trace": trace} for trace in (False, True)]
        specs = [ExperimentSpec.model_validate(each) for each in documents]
        plain, traced = (_conditions(spec, spec.clusters[0], 2) for spec in specs)
        assert (plain == traced) == (virtual is not None)
        plain, traced = (conditions(spec, {"virtual": virtual}) for spec in specs)
        assert (plain == traced) == (virtual is not None)


@ONE_KIND
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
        at_start["id"]: "its target was met before the first step: clone it with a harder one",
        nothing["id"]: "it has no reported run: no trial gave a setting, or it was cancelled",
        going["id"]: "its runs have not all ended",
        unequal["id"]: "unequal tuning on local with 2 workers: 2 trials of sync, 1 trial of local 4",
        aimless["id"]: "it has no target: clone it with one",
        older["id"]: f"on digits-mlp, experiment #{counting['number']} is newer and has another target",
        given["id"]: "it is not tuned: clone it and switch tuning on",
    }


@ONE_KIND
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


@ONE_KIND
def test_without_experiments_there_is_no_board(service):
    assert service.get("/leaderboard") == {"tau_max": 4.0, "choices": [], "boards": [], "left_out": []}


@ONE_KIND
def test_methods_with_fewer_trials_are_not_ranked_beside_others(service):
    """Equal numbers were asked for, but a method without a free parameter has one trial."""
    measured(service, {"sync": [1.0] * 3, "local 4": [2.0] * 3}, VARIANTS[:2])
    names = ("lr", "momentum", "momentum_kind", "period", "outer_lr", "outer_momentum")
    alone = {"name": "alone", "algorithm": "diloco", "search": dict.fromkeys(names)}
    measured(service, {"alone": [0.5] * 3}, [alone], baseline="alone")
    answer = service.get("/leaderboard")
    assert ranked(answer) == ["diloco"]
    assert answer["boards"][0]["workloads"][0]["trials"] == 1
    assert left_out(answer) == [(1, "on digits-mlp, experiment #2 is newer and has another number of trials")]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"budget": {"samples": 10_000, "max_seconds": 5}}, "wall limit"),
        ({"on_bad_worker": "drop"}, "rule for a bad worker"),
        ({"first_seed": 10}, "first seed"),
        ({"clusters": [{"name": "local", "workers": [2], "seeds": 4}]}, "number of seeds"),
    ],
)
@ONE_KIND
def test_times_under_other_conditions_are_not_combined(service, changes, name):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    measured(service, times, VARIANTS[:2])
    measured(service, times, VARIANTS[:2], **changes)
    assert left_out(service.get("/leaderboard")) == [
        (1, f"on digits-mlp, experiment #2 is newer and has another {name}")
    ]


@ONE_KIND
def test_other_kinds_of_workers_have_a_board_of_their_own(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    kinds = [{"kind": "cpu"}, {"kind": "cpu", "speed": 0.25}]
    measured(service, times, VARIANTS[:2])
    slowed = {"clusters": [{"name": "local", "workers": kinds, "seeds": 3}]}
    measured(service, times, VARIANTS[:2], workload={"name": "mnist-lenet"}, **slowed)
    boards = service.get("/leaderboard")["boards"]
    assert sorted(each["name"] for board in boards for each in board["workloads"]) == ["digits-mlp", "mnist-lenet"]
    assert len(boards) == 2


@ONE_KIND
def test_a_workload_is_the_same_with_a_default_written_out(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    measured(service, times, VARIANTS[:2])
    measured(service, times, VARIANTS[:2], workload={"name": "digits-mlp", "parameters": {"hidden1": 256}})
    measured(service, times, VARIANTS[:2], workload={"name": "digits-mlp", "parameters": {"hidden1": 64}})
    (board,) = service.get("/leaderboard")["boards"]
    found = [(each["name"], [e["number"] for e in each["experiments"]]) for each in board["workloads"]]
    assert found == [("digits-mlp", [2, 1]), ("digits-mlp (hidden1 64)", [3])]


@ONE_KIND
def test_workloads_that_differ_by_a_former_default_have_their_parameters_in_the_name(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    former = measured(service, times, VARIANTS[:2])
    edit(service, former, "workload", parameters={"hidden1": 8})
    measured(service, times, VARIANTS[:2])
    (board,) = service.get("/leaderboard")["boards"]
    names = [each["name"] for each in board["workloads"]]
    assert "digits-mlp (hidden1 8)" in names
    assert any(name.startswith("digits-mlp (") and "hidden1 256" in name for name in names)


@ONE_KIND
def test_an_own_workload_before_and_after_an_edit_is_not_combined(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    for source in ("a", "b"):
        edit(service, measured(service, times, VARIANTS[:2]), "workload", hash=source * 64)
    answer = service.get("/leaderboard")
    assert left_out(answer) == [
        (1, "without digits-mlp, which was edited: experiment #2 is newer and has another source of it")
    ]
    assert ranked(answer) == ["sync-sgd", "local-sgd"]


@ONE_KIND
def test_an_own_method_before_and_after_an_edit_is_not_combined_on_any_workload(service):
    """Other methods of the older experiments count on."""
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    edit(service, measured(service, times, VARIANTS[:2]), "algorithm", hash="a" * 64)
    older = measured(service, times, VARIANTS[:2], workload={"name": "mnist-lenet"})
    edit(service, older, "algorithm", hash="a" * 64)
    edit(service, measured(service, times, VARIANTS[:2]), "algorithm", hash="b" * 64)
    answer = service.get("/leaderboard")
    why = "without local-sgd, which was edited: experiment #3 is newer and has another source of it"
    assert left_out(answer) == [(2, f"on mnist-lenet {why}"), (1, f"on digits-mlp {why}")]
    assert ranked(answer) == ["sync-sgd"]
    (board,) = answer["boards"]
    assert board["unranked"] == [{"algorithm": "local-sgd", "lacking": ["mnist-lenet"]}]
    assert [len(each["experiments"]) for each in board["workloads"]] == [2, 1]


FOREIGN = [{"name": "third", "algorithm": "slowmo"}]


@pytest.mark.parametrize("changes", [{"first_seed": 10}, {}])
@ONE_KIND
def test_a_foreign_experiment_takes_no_workload_from_the_ranked_methods(service, changes):
    """Neither by other seeds, nor by failed runs, of a method that is not ranked."""
    times = {"sync": [1.0, 1.1, 1.2], "local 4": [2.0, 2.1, 2.2]}
    measured(service, times, VARIANTS[:2])
    measured(service, times, VARIANTS[:2], workload={"name": "mnist-lenet"})
    third = measured(service, {"third": [0.1] * 3}, FOREIGN, baseline="third", **changes)
    end(service, third, "third", [1, 2], RunState.FAILED_INFRA)
    answer = service.get("/leaderboard")
    assert ranked(answer) == ["sync-sgd", "local-sgd"]
    (board,) = answer["boards"]
    assert [each["name"] for each in board["workloads"]] == ["digits-mlp", "mnist-lenet"]
    results = board["methods"][0]["results"]
    assert [(each["seconds"], each["seeds"]) for each in results] == [(1.1, 3), (1.1, 3)]
    if changes:
        why = "experiment #1 has methods that were measured on every workload, and another first seed"
        assert left_out(answer) == [(3, f"on digits-mlp, {why}")]


@ONE_KIND
def test_seeds_of_a_result_are_those_of_its_time(service):
    made = measured(service, {"sync": [1.0, 3.0, None], "local 4": [2.0, 2.1, 2.2]}, VARIANTS[:2])
    end(service, made, "local 4", [2], RunState.FAILED_INFRA)
    (board,) = service.get("/leaderboard")["boards"]
    results = [each["results"][0] for each in board["methods"]]
    assert [(each["seconds"], each["reached"], each["seeds"]) for each in results] == [(2.0, 2, 2), (2.05, 2, 2)]


@ONE_KIND
def test_a_workload_without_a_common_seed_of_the_ranked_methods_is_left_out(service):
    measured(service, {"sync": [1.0] * 3, "local 4": [2.0] * 3}, VARIANTS[:2])
    other = measured(
        service, {"sync": [1.0] * 3, "local 4": [2.0] * 3}, VARIANTS[:2], workload={"name": "mnist-lenet"}
    )
    end(service, other, "sync", [0], RunState.FAILED_INFRA)
    end(service, other, "local 4", [1, 2], RunState.FAILED_INFRA)
    answer = service.get("/leaderboard")
    assert [each["name"] for each in answer["boards"][0]["workloads"]] == ["digits-mlp"]
    assert left_out(answer) == [(2, "on mnist-lenet, no seed has a result of all ranked methods")]


@ONE_KIND
def test_an_experiment_whose_machines_failed_does_not_count(service):
    times = {"sync": [1.0] * 3, "local 4": [2.0] * 3}
    measured(service, times, VARIANTS[:2])
    failed = measured(service, times, VARIANTS[:2], workload={"name": "mnist-lenet"})
    for variant in times:
        end(service, failed, variant, [0, 1, 2], RunState.FAILED_INFRA)
    answer = service.get("/leaderboard")
    assert ranked(answer) == ["sync-sgd", "local-sgd"]
    assert left_out(answer) == [(2, "none of its reported runs on local with 2 workers has a result")]


def test_variants_of_a_method_are_compared_on_the_same_seeds():
    """One lost its slow seed: on the seeds of both, the other one is faster."""
    whole = MethodTimes("whole", "exp", 1, {0: 1.0, 1: 2.0, 2: 9.0, 3: 9.0})
    lost = MethodTimes("lost", "exp", 1, {0: 1.1, 1: 2.1})
    assert best([lost, whole]) == MethodTimes("whole", "exp", 2, whole.seconds)
    alone = MethodTimes("alone", "exp", 1, {7: 0.1})
    assert best([alone, lost]).variant == "lost", "no common seed: the one with more"
    nothing = MethodTimes("nothing", "exp", 1, {})
    assert best([nothing, MethodTimes("missed", "exp", 1, {0: math.inf})]).variant == "missed"


@ONE_KIND
def test_workload_and_target_are_chosen_among_those_of_the_entries(service):
    times = {"sync": [4.0, 5.0, 4.5], "local 4": [9.0] * 3, "local 8": [8.0] * 3}
    harder = measured(service, times, target={"value": 0.9})
    easier = measured(service, times, target={"value": 0.8})
    other = measured(service, times, workload={"name": "mnist-lenet"}, target={"value": 0.8})
    both = service.get("/leaderboard")
    easy, hard = "80% validation accuracy", "90% validation accuracy"
    assert both["choices"] == [
        {"workload": "digits-mlp", "targets": [easy, hard]},
        {"workload": "mnist-lenet", "targets": [easy]},
    ]
    assert [number for number, why in left_out(both) if "another target" in why] == [harder["number"]]

    def of(**asked):
        answer = service.get("/leaderboard", **asked)
        assert answer["choices"] == both["choices"]
        assert not left_out(answer)
        (board,) = answer["boards"]
        return [(each["name"], each["experiments"][0]["id"]) for each in board["workloads"]]

    assert of(workload="digits-mlp", target=hard) == [("digits-mlp", harder["id"])]
    assert of(target=easy) == [("digits-mlp", easier["id"]), ("mnist-lenet", other["id"])]
    assert of(workload="mnist-lenet") == [("mnist-lenet", other["id"])]
    assert service.get("/leaderboard", workload="mnist-lenet", target=hard)["boards"] == []
