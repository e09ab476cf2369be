"""Searches over settings of the workload: `workload.NAME` in a variant's `search`."""

from dataclasses import replace

import pytest
from hooke.catalogue.expand import experiment_warnings
from hooke.catalogue.joined import offer_of
from hooke.catalogue.offers import here
from hooke.catalogue.searched import check_search
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.comparison.effort import trained
from hooke.errors import Fault, SpecError
from hooke.spec.specification import Variant, WorkloadChoice, fingerprint
from hooke.tuning.optuna_search import installed, remembered
from hooke.tuning.plan import Earlier, Plan, Tried
from hooke.tuning.search import TrialKey, TrialResult
from hooke.tuning.settings import edges
from hooke_api.clusters.catalogues import Reported
from scipy.stats import qmc

from tests.engine.tuning.test_plan import CORES, play

STILL = {"momentum": None, "momentum_kind": None}
HASHES = {"low": 2, "high": 12, "integer": True}
SLIDE = {
    "name": "slide",
    "algorithm": "sgd",
    "workload_settings": {"output": "slide", "active": 20},
    "search": {**STILL, "workload.hashes": HASHES, "workload.uniform_share": {"low": 0.25, "high": 0.75}},
}
PLAIN = {"name": "plain", "algorithm": "sgd", "search": STILL}
DOCUMENT = {
    "name": "output layers",
    "workload": {"name": "xmlc-mlp", "parameters": {"labels": 50, "output": "in-batch"}},
    "variants": [PLAIN, SLIDE],
    "baseline": "plain",
    "clusters": [{"name": "local", "workers": [1], "seeds": 2}],
    "budget": {"samples": 1000},
    "evaluation": {"every": 500},
    "target": {"metric": "validation_accuracy", "value": 0.5},
    "tuning": {"trials": 6},
}
HERE = ("slide", "local", 1)


def searching(search, **more):
    return DOCUMENT | {"variants": [PLAIN, SLIDE | {"search": STILL | search} | more]}


def plan(document=DOCUMENT, **more):
    return Plan(validate_experiment(document), CORES, **more)


def by_hashes(run):
    """The more hashes, the faster."""
    return TrialResult(20.0 - run.spec.workload_settings.get("hashes", 0), 0.9)


def test_trials_have_the_points_of_the_sequence():
    made = plan()
    points = qmc.Halton(3, scramble=True, rng=0).random(6)
    found = made.settings[HERE]
    assert [setting["workload.hashes"] for setting in found] == [
        min(12, max(2, round(1.5 + 11 * point))) for _, point, _ in points
    ]
    shares = [setting["workload.uniform_share"] for setting in found]
    assert shares == pytest.approx([0.25 + 0.5 * point for _, _, point in points], abs=1e-3)


def test_what_is_named_first_has_one_value_by_number_of_the_trial():
    """So two output layers are tried with sets of one size, whatever else one of them searches."""
    size = {"workload.active": {"low": 10, "high": 50, "scale": "log", "integer": True}}
    slide = {
        **SLIDE,
        "workload_settings": {"output": "slide"},
        "search": STILL | size | {"workload.hashes": HASHES},
    }
    random = {**SLIDE, "name": "random", "workload_settings": {"output": "random-active"}, "search": STILL | size}
    found = plan(DOCUMENT | {"variants": [PLAIN, random, slide]}).settings
    pairs = [
        [(each["lr"], each["workload.active"]) for each in found[name, "local", 1]] for name in ("random", "slide")
    ]
    assert pairs[0] == pairs[1] and len({size for _, size in pairs[0]}) == 6


def test_runs_are_trained_by_the_setting_of_their_trial_and_learn_the_same():
    made = plan()
    runs = [run for run in made.first().runs if run.variant == "slide"]
    for run in runs:
        setting = made.settings[HERE][run.trial - 1]
        assert run.spec.workload_settings == {
            "output": "slide",
            "active": 20,
            "hashes": setting["workload.hashes"],
            "uniform_share": setting["workload.uniform_share"],
        }
        assert run.spec.algorithm.parameters["lr"] == setting["lr"]
        assert not any(name.startswith("workload") for name in run.spec.algorithm.parameters)
        assert validate_run(run.spec.model_dump(mode="json", by_alias=True)) == run.spec
    assert len({fingerprint(run.spec.workload) for run in made.first().runs}) == 1
    plain = [run.spec for run in made.first().runs if run.variant == "plain"]
    assert all(spec.workload_settings == {} for spec in plain)


@pytest.mark.parametrize("tuning", [{"trials": 6}, {"trials": 12, "search": "halving"}])
def test_the_best_setting_is_measured(tuning):
    made = plan(DOCUMENT | {"tuning": tuning})
    reported = [run for run in play(made, by_hashes)[-1].runs if run.variant == "slide"]
    best = max(setting["workload.hashes"] for setting in made.settings[HERE])
    assert [run.spec.workload_settings["hashes"] for run in reported] == [best] * 2
    assert {run.spec.workload_settings["output"] for run in reported} == {"slide"}


@pytest.mark.skipif(not installed(), reason="Optuna is not installed")
def test_optuna_proposes_them_too():
    document = DOCUMENT | {"tuning": {"trials": 8, "search": "optuna"}}
    first = plan(document)
    again = plan(document, tried=tried(first), known=known(first))
    assert again.settings[HERE][:4] == first.settings[HERE]
    proposed = again.settings[HERE][4:]
    assert len(proposed) == 4
    assert all(2 <= setting["workload.hashes"] <= 12 for setting in proposed)
    assert all(isinstance(setting["workload.hashes"], int) for setting in proposed)


def test_an_end_that_the_setting_could_pass_is_an_edge():
    made = plan()
    variant, offer = made.locations[HERE][0], made.offer(HERE)
    values = made.settings[HERE][0] | {"lr": 0.05, "workload.hashes": 12, "workload.uniform_share": 0.5}
    ((name, at),) = edges(values, variant, offer).items()
    assert (name, at.end) == ("workload.hashes", "high")
    assert 12 < at.wider.high <= 24, "the workload takes at most 24"
    wide = plan(searching({"workload.hashes": {"low": 1, "high": 24, "integer": True}}))
    values = wide.settings[HERE][0] | {"lr": 0.05, "workload.hashes": 24}
    assert edges(values, wide.locations[HERE][0], wide.offer(HERE)) == {}


def test_a_condition_may_be_on_a_setting_of_the_workload():
    """On one that the variant gives, one that all variants share, and one that is searched."""
    only = HASHES | {"when": {"workload.output": ["slide"]}}
    assert "workload.hashes" in plan(searching({"workload.hashes": only})).settings[HERE][0]
    shared = plan(searching({"workload.hashes": only}, workload_settings={}))
    assert "workload.hashes" not in shared.settings[HERE][0], "all variants have in-batch"
    both = {"workload.output": {"choices": ["full", "slide"]}, "workload.hashes": only}
    found = plan(searching(both, workload_settings={})).settings[HERE]
    assert {("workload.hashes" in each, each["workload.output"]) for each in found} == {
        (True, "slide"),
        (False, "full"),
    }


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        (
            {"search": {"workload.labels": HASHES}},
            "search/workload.labels",
            "cannot set this parameter of xmlc-mlp",
        ),
        (
            {"search": {"workload.labels": None}},
            "search/workload.labels",
            "cannot search it; it may: workload.act",
        ),
        ({"search": {"workload.none": HASHES}}, "search/workload.none", "cannot set this parameter"),
        (
            {"search": {"workload.hashes": {"low": 2, "high": 30, "integer": True}}},
            "search/workload.hashes",
            "the workload does not take 30: Input should be less than or equal to 24",
        ),
        ({"search": {"workload.active": HASHES}}, "search/workload.active", "has a value in `workload_settings`"),
        (
            {"search": {"workload.hashes": HASHES | {"when": {"workload.labels": [50]}}}},
            "search/workload.hashes/when/workload.labels",
            "cannot set this parameter",
        ),
        (
            {"search": {"workload.hashes": HASHES | {"when": {"workload.output": ["all"]}}}},
            "search/workload.hashes/when/workload.output",
            "the workload does not take 'all'",
        ),
        ({"search": {"lr": {"low": 0.1, "high": 50}}}, "search/lr", "the algorithm does not take 5"),
    ],
)
def test_what_cannot_be_searched_is_told_where_it_is(changes, place, words):
    with pytest.raises(SpecError) as refused:
        validate_experiment(DOCUMENT | {"variants": [PLAIN, SLIDE | changes]})
    (fault,) = refused.value.faults
    assert fault.pointer == f"/variants/1/{place}"
    assert words in fault.message


def test_most_workloads_have_no_such_setting():
    variants = [{"name": "plain", "algorithm": "sgd", "search": {"workload.hidden1": HASHES}}]
    with pytest.raises(SpecError, match="it may: none"):
        validate_experiment(DOCUMENT | {"workload": {"name": "digits-mlp"}, "variants": variants})


def test_trials_that_were_made_stay_and_count_where_a_space_becomes_wider():
    first = validate_experiment(DOCUMENT)
    made = Plan(first, CORES)
    assert Plan(first, CORES, tried=tried(made)).settings == made.settings
    tuning = {"trials": 4, "continues": "exp_1"}
    more = SLIDE["search"] | {"workload.hashes": HASHES | {"high": 20}}
    wider = DOCUMENT | {"tuning": tuning, "variants": [PLAIN, SLIDE | {"search": more}]}
    ended = known(made)
    again = Plan(validate_experiment(wider), CORES, earlier=[Earlier(first, tried(made))], known=ended)
    assert again.settings[HERE][:6] == made.settings[HERE]
    assert len(again.settings[HERE]) == 10
    for own in ({"output": "slide", "active": 30}, {"output": "slide"}):  # another value, and that of all variants
        document = DOCUMENT | {"tuning": tuning, "variants": [PLAIN, SLIDE | {"workload_settings": own}]}
        with pytest.raises(SpecError) as refused:
            plan(document, earlier=[Earlier(first, tried(made))], known=ended)
        assert [fault.pointer for fault in refused.value.faults] == ["/variants/1/workload_settings/active"]


def tried(made):
    return {
        where: {number: Tried(setting) for number, setting in enumerate(settings, 1)}
        for where, settings in made.settings.items()
    }


def known(made):
    """Results of all trials of a plan."""
    found = {}
    for run in made.first().runs:
        key = TrialKey(run.trial, run.rung, run.seed)
        found.setdefault((run.variant, run.cluster, run.workers), {})[key] = by_hashes(run)
    return found


def test_a_workload_known_by_its_schema_alone_is_searched_by_that():
    """One of a user, reported by an agent."""
    field = {"type": "integer", "minimum": 1, "maximum": 8, "default": 2, "per_variant": True}
    schema = {"type": "object", "properties": {"depth": field}, "additionalProperties": False}
    reported = Reported({"name": "own", "origin": "file", "schema": schema})
    for high, told in ((8, []), (9, ["/search/workload.depth"])):
        space = {"low": 1, "high": high, "integer": True}
        variant = Variant.model_validate({"name": "v", "algorithm": "sgd", "search": {"workload.depth": space}})
        offer = offer_of(variant, here().algorithms["sgd"], reported, WorkloadChoice(name="own"))
        assert [fault.pointer for fault in check_search(variant, offer)] == told


SIMULATED = {"name": "sim", "computed_on": "local", "workers": [1], "seeds": 2, "virtual": {"compute_source": "x"}}


@pytest.mark.parametrize(
    ("variants", "told"),
    [
        ([PLAIN, SLIDE], ["/variants/1/search/workload.hashes"]),
        (
            [PLAIN | {"workload_settings": {"output": "full"}}, PLAIN | {"name": "b"}],
            ["/variants/0/workload_settings"],
        ),
        ([PLAIN | {"workload_settings": {"output": "full"}, "name": name} for name in ("plain", "b")], []),
    ],
)
def test_settings_of_the_workload_that_simulated_time_does_not_price(variants, told):
    """A warning at submission, and variants that are told apart where verdicts are made."""
    for cluster, expected in ((SIMULATED, told), (DOCUMENT["clusters"][0], [])):
        made = plan(DOCUMENT | {"variants": variants, "clusters": [cluster]})
        warnings = experiment_warnings(made.spec, made.first().runs)
        assert [each.pointer for each in warnings if "every setting of the workload" in each.message] == expected
        assert (len(set(trained(made.spec).values())) > 1) == bool(told)


class Smaller:
    """A workload with which fewer hashes can run."""

    def __init__(self, before, source):
        self._before, self.hash = before, source

    def resolve(self, values, *prefix):
        resolved, faults = self._before.resolve(values, *prefix)
        return resolved, faults + [Fault("/hashes", "too many")] * (values.get("hashes", 0) > 6)


@pytest.mark.skipif(not installed(), reason="needs Optuna")
def test_proposals_are_not_those_of_another_workload():
    """A process that plans remembers them; trials and their order may be the same elsewhere."""
    chosen = Variant.model_validate(SLIDE | {"search": {**STILL, "lr": None, "workload.hashes": HASHES}})
    method, workload = here().algorithms["sgd"], here().workloads["xmlc-mlp"]
    first = offer_of(chosen, method, workload, WorkloadChoice.model_validate(DOCUMENT["workload"]))
    tried = [first.resolve({"workload.hashes": hashes})[0] for hashes in (3, 5)]
    (most, *_) = sorted((each["workload.hashes"] for each in _remembered(chosen, first, tried)), reverse=True)
    assert most > 6
    few = first.chosen.model_copy(update={"parameters": {"labels": 20}})
    for changed in (
        replace(first, workload=Smaller(workload, "0" * 64)),
        replace(first, workload=Smaller(workload, workload.hash), chosen=few),
    ):
        assert all(each["workload.hashes"] <= 6 for each in _remembered(chosen, changed, tried))


def _remembered(chosen, made, tried):
    return remembered("tpe", 3, chosen, made, 1, tried, [2, 1])
