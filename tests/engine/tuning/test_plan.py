"""The settings of a search, and the plan of an experiment from its first trial to its last reported run."""

import pytest
from hooke.catalogue.offers import here
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.tuning.plan import Plan
from hooke.tuning.search import TrialKey, TrialResult
from hooke.tuning.settings import edges, free_spaces, settings
from scipy.stats import qmc

from tests.engine.tuning.test_search import DOCUMENT

TWO = [{"name": "sync", "algorithm": "sync-easgd"}, {"name": "local", "algorithm": "local-sgd"}]
CORES = {"local": 4}


def offer(name):
    return here().algorithms[name]


def variant(algorithm, **more):
    return Variant.model_validate({"name": "v", "algorithm": algorithm} | more)


def plan(**changes):
    return Plan(validate_experiment(DOCUMENT | {"variants": TWO, "tuning": {"trials": 4}} | changes), CORES)


def play(made, seconds):
    """Follow a plan to its end; return the steps."""
    known, reported, steps = {}, frozenset(), []
    while True:
        step = made.following(known, reported)
        steps.append(step)
        for run in step.runs:
            if run.rung is None:
                reported |= {run.place}
            else:
                key = TrialKey(run.trial, run.rung, run.seed)
                known.setdefault((run.variant, run.cluster, run.workers), {})[key] = seconds(run)
        if step.complete:
            return steps


def by_rate(run):
    return TrialResult(run.spec.algorithm.parameters["lr"], 0.95)


def test_settings_are_the_points_of_the_sequence():
    """The published one of scipy, dimension by dimension; a given value stays, and is not searched."""
    chosen = variant("local-sgd", parameters={"momentum": 0.5}, search={"momentum_kind": None})
    found = settings(6, chosen, offer("local-sgd"), 2)
    points = qmc.Halton(2, scramble=True, rng=0).random(6)
    spaces = free_spaces(chosen, offer("local-sgd"))
    assert list(spaces) == ["lr", "period"]
    for setting, (first, second) in zip(found, points, strict=True):
        assert setting["lr"] == pytest.approx(0.003 * (1 / 0.003) ** first, rel=1e-3)
        assert setting["period"] == spaces["period"].at(second)
        assert setting["momentum"] == 0.5


def test_the_same_trials_are_made_everywhere():
    """The k-th points of two methods agree in the parameters that both search, in the same order."""
    chosen = [variant(name, search={"period": None}) for name in ("local-sgd", "sync-sgd")]
    both = [settings(8, each, offer(each.algorithm), 4) for each in chosen]
    assert [s["lr"] for s in both[0]] == [s["lr"] for s in both[1]]


def test_a_condition_decides_what_is_searched():
    adam = settings(4, variant("diloco"), offer("diloco"), 2)
    assert {setting["momentum"] for setting in adam} == {0.0}
    plain = settings(4, variant("diloco", parameters={"optimizer": "sgd"}), offer("diloco"), 2)
    assert len({setting["momentum"] for setting in plain}) == 4
    given = settings(4, variant("sync-easgd", parameters={"alpha": 0.1}), offer("sync-easgd"), 2)
    assert {(setting["alpha"], setting["beta"]) for setting in given} == {(0.1, None)}


@pytest.mark.parametrize(
    ("algorithm", "given", "unused"),
    [
        ("local-sgd", {"momentum": 0.0}, "momentum_kind"),
        ("diloco", {"optimizer": "sgd", "momentum": 0}, "momentum_kind"),
        ("sync-easgd", {"rho": 0.3}, "beta"),
        ("sync-easgd", {"pipelined": True}, "overlap"),
        ("hogbatch", {"alpha": 1.0}, "largest"),
        ("heterogeneous-easgd", {"factor": 1.0}, "longest"),
    ],
)
def test_what_has_no_effect_beside_a_given_value_is_not_searched(algorithm, given, unused):
    """All trials differ in what has an effect; where nothing is given, it is searched."""
    others = {name: value for name, value in given.items() if name == "optimizer"}
    assert unused in free_spaces(variant(algorithm, parameters=others), offer(algorithm))
    chosen = variant(algorithm, parameters=given)
    assert unused not in free_spaces(chosen, offer(algorithm))
    found = [setting | {unused: None} for setting in settings(8, chosen, offer(algorithm), 2)]
    assert len(found) == 8
    assert all(setting not in found[:k] for k, setting in enumerate(found))


def test_a_space_is_left_out_at_the_points_at_which_it_has_no_effect():
    search = {"momentum": {"choices": [0.0, 0.5]}, "lr": None, "period": None}
    found = settings(12, variant("local-sgd", search=search), offer("local-sgd"), 2)
    kinds = sorted((setting["momentum"], setting["momentum_kind"]) for setting in found)
    assert kinds == [(0.0, "heavy-ball"), (0.5, "heavy-ball"), (0.5, "nesterov")]
    dropped = variant("local-sgd", search={"momentum": None})
    assert list(free_spaces(dropped, offer("local-sgd"))) == ["lr", "period"], "its default is 0"


def test_an_exception_is_decided_after_what_it_depends_on():
    """But otherwise it does not move a parameter in the sequence, whose points would be others."""
    spaces = free_spaces(variant("local-sgd"), offer("local-sgd"))
    assert list(spaces) == ["lr", "momentum", "momentum_kind", "period"]
    later = {"lr": {"low": 0.1, "high": 1, "unless": {"period": [8]}}, "period": {"choices": [4, 8]}}
    chosen = variant("local-sgd", search=later | {"momentum": None})
    assert list(free_spaces(chosen, offer("local-sgd"))) == ["period", "lr"]
    found = settings(12, chosen, offer("local-sgd"), 2)
    assert {setting["lr"] for setting in found if setting["period"] == 8} == {0.05}
    assert len({setting["lr"] for setting in found if setting["period"] == 4}) > 3


def test_one_trial_where_nothing_is_free():
    fixed = {"lr": 0.1, "momentum": 0.0, "momentum_kind": "heavy-ball"}
    assert len(settings(9, variant("sync-sgd", parameters=fixed), offer("sync-sgd"), 2)) == 1


def test_conditions_on_conditions_are_decided_in_order():
    """Momentum is free where SGD was drawn, also if the optimizer itself is free only under a condition."""
    search = {
        "momentum": {"low": 0.1, "high": 0.9, "when": {"optimizer": ["sgd"]}},
        "momentum_kind": None,
        "optimizer": {"choices": ["sgd", "adamw"], "when": {"period": [8]}},
        "period": {"choices": [8, 16]},
    }
    found = settings(40, variant("diloco", search=search), offer("diloco"), 2)
    kinds = {(setting["period"], setting["optimizer"], setting["momentum"] > 0) for setting in found}
    assert kinds == {(16, "adamw", False), (8, "adamw", False), (8, "sgd", True)}


def test_no_setting_is_tried_twice():
    """Four settings of two choices each are four trials, however many are asked for."""
    few = {"momentum_kind": {"choices": ["heavy-ball", "nesterov"]}, "period": {"choices": [4, 8]}, "lr": None}
    found = settings(12, variant("local-sgd", search=few | {"momentum": None}), offer("local-sgd"), 2)
    assert len(found) == 4
    assert len({(setting["momentum_kind"], setting["period"]) for setting in found}) == 4
    one = {"lr": {"choices": [0.1]}, "momentum": None, "momentum_kind": None, "period": None}
    assert len(settings(12, variant("local-sgd", search=one), offer("local-sgd"), 2)) == 1


@pytest.mark.parametrize(
    ("search", "pointer", "words"),
    [
        (
            {"lr": {"low": 0.1, "high": 1, "when": {"lr": [0.1]}}},
            "/variants/0/search/lr/when",
            "the parameter itself",
        ),
        (
            {
                "lr": {"choices": [0.1, 1], "when": {"period": [4]}},
                "period": {"choices": [4, 8], "when": {"lr": [0.1]}},
            },
            "/variants/0/search/period/when",
            "depends on it",
        ),
        (
            {"lr": {"low": 0.1, "high": 1, "when": {"momentum_kind": ["fast"]}}},
            "/variants/0/search/lr/when/momentum_kind",
            "does not take 'fast'",
        ),
        (
            {"lr": {"low": 0.1, "high": 1, "unless": {"lr": [0.1]}}},
            "/variants/0/search/lr/unless",
            "the parameter itself",
        ),
        (
            {"lr": {"low": 0.1, "high": 1, "unless": {"momentum_kind": ["fast"]}}},
            "/variants/0/search/lr/unless/momentum_kind",
            "does not take 'fast'",
        ),
        (
            {"lr": {"low": 0.1, "high": 1, "when": {"period": []}}},
            "/variants/0/search/lr/when/period",
            "at least 1 item",
        ),
        ({"": None}, "/variants/0/search/", "at least 1 character"),
        (
            {"period": {"low": -1e308, "high": 1e308, "integer": True}},
            "/variants/0/search/period",
            "must lie between",
        ),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(search, pointer, words):
    variants = [{"name": "local", "algorithm": "local-sgd", "search": search}]
    with pytest.raises(SpecError) as caught:
        plan(baseline="local", variants=variants)
    assert any(fault.pointer == pointer and words in fault.message for fault in caught.value.faults), caught.value


def test_an_end_that_the_parameter_cannot_pass_is_no_edge():
    chosen = variant("local-sgd", search={"period": {"low": 1, "high": 64, "scale": "log", "integer": True}})
    values = {"lr": 1.0, "momentum": 0.0, "momentum_kind": "nesterov", "period": 1}
    (lr,) = edges(values, chosen, offer("local-sgd")).items()
    assert (lr[0], lr[1].end) == ("lr", "high"), "a period of less than 1 cannot be"
    assert 1 < lr[1].wider.high <= 10, "the largest rate that the method takes is 10"


@pytest.mark.parametrize(
    ("choices", "rank", "end", "wider"),
    [
        ([1, 2, 4], 4, "high", [1, 2, 4, 8]),
        ([1, 2, 4], 1, None, None),  # a rank of less than 1 cannot be
        ([1, 2, 9], 9, "high", None),  # a better one may lie beyond, but which?
        ([1, 2, 9], 2, None, None),
    ],
)
def test_choices_have_edges_too(choices, rank, end, wider):
    made, chosen = offer("powersgd"), variant("powersgd", search={"rank": {"choices": choices}})
    found = edges(made.resolve({"rank": rank, "lr": 0.05})[0], chosen, made).get("rank")
    assert (found and found.end) == end
    assert (found.wider if found else None) == (wider and Space(choices=wider))


@pytest.mark.parametrize(
    ("name", "choices", "value", "end"),
    [
        ("lr", [0.1, 0.2, 0.3], 0.1, "low"),  # a rate of 0 cannot be, but one of 0.05
        ("momentum", [0.5, 0.7, 0.9], 0.9, "high"),  # 1.1 cannot be, but 0.95
        ("momentum", [0.0, 0.9, 0.99], 0.99, "high"),
        ("momentum", [0.0, 0.9, 0.99], 0.0, None),
        ("lr", [1, 5, 10], 10, None),  # the largest rate that the method takes
    ],
)
def test_choices_whose_next_one_cannot_be_have_an_edge_if_a_nearer_one_can(name, choices, value, end):
    chosen, made = variant("local-sgd", search={name: {"choices": choices}}), offer("local-sgd")
    values, faults = made.resolve({"lr": 0.05, "momentum": 0.5, name: value})
    assert not faults
    found = edges(values, chosen, made).get(name)
    assert (found and found.end) == end and not (found and found.wider)


def test_trials_then_the_best_of_them_on_the_reported_seeds():
    steps = play(plan(), by_rate)
    trials, reported = steps[0].runs, steps[-1].runs
    assert [len(step.runs) for step in steps] == [8, 6]
    assert {run.seed for run in reported} == {0, 1, 2}
    assert not {run.seed for run in reported} & {run.seed for run in trials}
    for name in ("sync", "local"):
        tried = [run.spec.algorithm.parameters for run in trials if run.variant == name]
        best = min(tried, key=lambda parameters: parameters["lr"])
        assert [run.spec.algorithm.parameters for run in reported if run.variant == name] == [best] * 3
    assert {run.spec.checkpoint for run in trials} == {"never"}
    assert {run.spec.checkpoint for run in reported} == {"on-stop"}


def test_a_named_cluster_decides_for_all():
    virtual = {"name": "sim", "computed_on": "local", "workers": [2], "seeds": 4, "virtual": {}}
    clusters = [DOCUMENT["clusters"][0], virtual]
    steps = play(plan(clusters=clusters, tuning={"trials": 4, "cluster": "sim"}), by_rate)
    assert {run.cluster for run in steps[0].runs} == {"sim"}
    assert len(steps[-1].runs) == 2 * (3 + 4)
    each = play(plan(clusters=clusters), by_rate)
    assert {run.cluster for run in each[0].runs} == {"local", "sim"}


def test_a_cluster_is_measured_when_its_own_searches_have_ended():
    virtual = {"name": "sim", "computed_on": "local", "workers": [2], "seeds": 4, "virtual": {}}
    made = plan(clusters=[DOCUMENT["clusters"][0], virtual])
    known = {}
    for run in made.first().runs:
        result = by_rate(run) if run.cluster == "sim" else None
        key = TrialKey(run.trial, run.rung, run.seed)
        known.setdefault((run.variant, run.cluster, run.workers), {})[key] = result
    step = made.following(known)
    assert {run.cluster for run in step.runs} == {"sim"}
    assert not step.complete
    assert made.following(known, frozenset(run.place for run in step.runs)).runs == []
    all_but_one = frozenset(run.place for run in step.runs[1:])
    assert made.following(known, all_but_one).runs == step.runs[:1]


def test_a_sequential_method_is_searched_once():
    """Whatever number of workers is asked for."""
    clusters = [{"name": "local", "workers": [2, 4], "seeds": 3}]
    variants = [{"name": "sgd", "algorithm": "sgd"}, *TWO[:1]]
    made = plan(clusters=clusters, variants=variants, baseline="sgd")
    assert set(made.searches) == {("sgd", "local", 1), ("sync", "local", 2), ("sync", "local", 4)}
    assert made.trial_runs == 12
    assert [len(step.runs) for step in play(made, by_rate)] == [12, 9]


def test_a_method_without_a_result_is_left_out():
    steps = play(plan(), lambda run: TrialResult(None, None) if run.variant == "sync" else by_rate(run))
    assert {run.variant for run in steps[-1].runs} == {"local"}
    assert steps[-1].complete


def test_without_tuning_there_is_one_step():
    made = plan(tuning=None)
    step = made.first()
    assert (len(step.runs), step.complete, made.trial_runs) == (6, True, 0)
    assert {(run.trial, run.rung) for run in step.runs} == {(None, None)}


def test_documents_without_tuning_keep_their_fingerprint():
    spec = validate_experiment(DOCUMENT)
    assert "tuning" not in spec.model_dump(mode="json")
    assert "search" not in spec.model_dump(mode="json")["variants"][0]


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"tuning": {"trials": 200, "seeds": 10}}, "/clusters", "4006 runs; at most 2000"),
        (
            {
                "clusters": [
                    {"name": "local", "workers": [2, 4], "seeds": 3},
                    {"name": "sim", "computed_on": "local", "workers": [2], "virtual": {}},
                ],
                "tuning": {"trials": 4, "cluster": "sim"},
            },
            "/tuning/cluster",
            "local has runs with 4 workers, sim no trials",
        ),
        (
            {"variants": [{"name": "local", "algorithm": "chip-easgd", "search": {"parts": {"choices": [3]}}}]},
            "/variants/0/search",
            "no setting in this space can run on 2 workers",
        ),
    ],
)
def test_what_cannot_be_planned_is_told(changes, pointer, words):
    with pytest.raises(SpecError) as caught:
        plan(baseline="local", **changes)
    assert any(fault.pointer == pointer and words in fault.message for fault in caught.value.faults), caught.value


def test_schedules_of_trials_run_over_the_whole_budget():
    """Else a trial that met the target on the first rung would not take as long with the whole budget."""
    tuning = {"trials": 12, "search": "halving"}
    for given, expected in (({}, 3200), ({"schedule_samples": 5000}, 5000)):
        budget = {"samples": 3200} | given
        spec = validate_experiment(DOCUMENT | {"variants": TWO, "budget": budget, "tuning": tuning})
        runs = Plan(spec, CORES).first().runs
        assert {run.spec.budget.samples for run in runs} == {800}
        assert {run.spec.budget.schedule_samples for run in runs} == {expected}
    whole = validate_experiment(DOCUMENT | {"variants": TWO, "tuning": {"trials": 4}})
    assert {run.spec.budget.schedule_samples for run in Plan(whole, CORES).first().runs} == {None}


def test_a_batch_that_no_device_of_a_search_can_hold_is_refused_before_its_trials():
    """VGG19 needs 240 MB for each sample, and an h100 has 80 GB."""
    document = {"workload": {"name": "imagenet-vgg19"}, "batch": 330, "target": None}
    box = {"name": "box", "computed_on": "local", "workers": [{"kind": "h100", "count": 2}], "virtual": {}}
    with pytest.raises(SpecError) as refused:
        plan(**document, clusters=[box]).first()
    assert [fault.pointer for fault in refused.value.faults] == [f"/variants/{i}/parameters" for i in (0, 1)]
    assert all("worker 0 (h100) needs about" in fault.message for fault in refused.value.faults)
    assert plan(**document | {"batch": 250}, clusters=[box]).first().runs
