"""What tuning allows a comparison to claim."""

from dataclasses import replace

import pytest
from hooke.comparison.by_hand import by_hand, dimensions
from hooke.comparison.effort import Effort, refuted
from hooke.comparison.report import report
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState
from hooke.spec.tuning import Tuning

from tests.engine.comparison.test_across import TARGET, runs


def diverging(variant, seeds):
    """Return two variants on one cluster, `a` ten times as fast; `variant` diverges with these seeds."""
    for run in runs("here", {"base": 100.0, "a": 10.0}):
        if run.variant == variant and run.seed in seeds:
            yield replace(run, state=RunState.FAILED_USER, diverged=True, time_to_target=None)
        else:
            yield run


def claims(found, effort):
    (row,) = [row for row in report(list(found), "base", TARGET, effort).rows if row.first.variant == "a"]
    assert row.verdict.unfair is None or row.verdict.unfair in row.sentence
    return row.verdict


TUNED = Effort(Tuning(trials=8), ("base", "a"), made={(name, "here", 4): 8 for name in ("base", "a")})


@pytest.mark.parametrize("variant", ["base", "a"])
@pytest.mark.parametrize(("seeds", "claimed"), [((), True), ((0,), True), ((0, 1), True), ((0, 1, 2), False)])
def test_a_tuned_setting_that_diverges_with_most_seeds_makes_no_claim(variant, seeds, claimed):
    verdict = claims(diverging(variant, seeds), TUNED)
    assert (verdict.claim != "no claim") == claimed
    assert bool(verdict.unfair) != claimed
    if not claimed:
        assert verdict.unfair == (
            f"the setting chosen for {variant} diverged with 3 of 5 seeds, which 1 tuning seed did not show: "
            "tune with more seeds"
        )


def test_a_setting_that_was_given_keeps_its_bound():
    assert claims(diverging("base", (0, 1, 2)), Effort()).claim == "at least"


def test_half_of_the_seeds_are_not_most():
    assert refuted("a", dict.fromkeys((0, 1), True) | dict.fromkeys((2, 3), False), 1) is None
    assert refuted("a", {}, 1) is None


@pytest.mark.parametrize(("simulated", "claimed"), [(True, "no claim"), (False, "faster")])
@pytest.mark.parametrize("effort", [Effort(), TUNED])
def test_simulated_gradients_of_other_settings_of_the_workload_make_no_claim(effort, simulated, claimed):
    """Virtual time does not know what an output layer costs."""
    found = [replace(run, simulated=simulated) for run in runs("here", {"base": 100.0, "a": 10.0})]
    assert claims(found, replace(effort, trained={"base": "all", "a": "all"})).claim == "faster"
    verdict = claims(found, replace(effort, trained={"base": "all", "a": "sampled"}))
    assert verdict.claim == claimed
    assert (verdict.unfair or "").startswith("simulated gradients") == simulated
    (fastest,) = report(found, "base", TARGET, replace(effort, trained={"base": "all", "a": "sampled"})).fastest
    assert fastest is None if simulated else fastest.variant == "a"


DOCUMENT = {
    "name": "tuned",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "base", "algorithm": "sync-sgd"}, {"name": "a", "algorithm": "slowmo"}],
    "baseline": "base",
    "clusters": [{"name": "here", "workers": [4], "seeds": 3}],
    "budget": {"samples": 16_000},
    "evaluation": {"every": 500},
    "tuning": {"trials": 8},
}
LR = {"low": 0.9, "high": 1.0}


def told(*changes, **document):
    variants = [each | change for each, change in zip(DOCUMENT["variants"], changes, strict=False)]
    made = DOCUMENT | {"variants": variants or DOCUMENT["variants"]} | document
    return by_hand(ExperimentSpec.model_validate(made))


def test_what_only_some_variants_were_given_is_part_of_the_tuning_that_a_verdict_names():
    assert told() == ""
    assert told({}, {"parameters": {"period": 16}}) == " Not searched: a (period)."
    assert told({"search": {"lr": LR}}, {"search": {"momentum": None}}) == (
        " Not searched: a (momentum). Searched in spaces of their own: base (lr)."
    )
    assert told({}, {"communication": {"wire": "bf16"}}) == " With other communication than base: a (wire bf16)."
    alike = {"parameters": {"momentum": 0.9}, "search": {"lr": LR}, "communication": {"wire": "bf16"}}
    assert told(alike, alike) == (
        " All variants alike: not searched momentum; searched in a space of the specification lr; communication "
        "with wire bf16."
    )
    assert told({"parameters": {"momentum": 0.9}}, {"parameters": {"momentum": 0.0}}) == (
        " Not searched: base (momentum), a (momentum)."
    )
    wide = {"workload": {"name": "xmlc-mlp", "parameters": {"labels": 50}}}
    assert told({}, {"workload_settings": {"active": 30}}, **wide) == " Not searched: a (workload.active)."
    assert told({}, {"parameters": {"period": 16}}, tuning=None) == "", "then nothing is searched"
    base = [DOCUMENT["variants"][0] | alike]
    assert told(variants=base) == (
        " base: not searched momentum; searched in a space of the specification lr; communication with wire bf16."
    ), "there is no other one to be like"
    many = [{"name": f"v{n}", "algorithm": "slowmo", "parameters": {"period": n}} for n in range(1, 10)]
    assert told(variants=many, baseline="v1").endswith("v6 (period), and 3 more.")


def test_spaces_that_a_document_gives_for_an_algorithm_are_part_of_it():
    """Otherwise who wants a favorite to win gives the algorithm of its rival a space beside its good settings."""
    tuning = DOCUMENT["tuning"] | {"spaces": {"slowmo": {"lr": LR}}, "given": ["slowmo"]}
    assert told(tuning=tuning) == (
        " Searched in spaces that the specification gives for an algorithm: a (slowmo)."
    )


def test_a_shorter_budget_of_trials_is_part_of_it():
    """Methods that begin slowly lose by it."""
    short = replace(TUNED, tuning=Tuning(trials=8, samples=2000))
    assert "(quasi-random search, 1 tuning seed, at most 2,000 samples each)" in short.sentence
    assert "samples each" not in TUNED.sentence


def test_runs_that_a_person_has_ended_are_told_with_the_claims():
    """Their seeds are not compared: cancelled in time, the good ones of a rival would not count."""
    found = list(runs("here", {"base": 100.0, "a": 10.0}))
    ended = [replace(r, state=RunState.CANCELLED) if (r.variant, r.seed) == ("base", 0) else r for r in found]
    (sentence,) = report(ended, "base", TARGET, Effort()).sentences
    assert ", 1 run cancelled: 1 of base)" in sentence
    (sentence,) = report(found, "base", TARGET, Effort()).sentences
    assert "cancelled" not in sentence


def test_the_tuning_names_how_many_parameters_were_searched_where_the_numbers_differ():
    """By hand: of Sync SGD rate, momentum and its kind; of SlowMo period, slow momentum and slow rate, too."""
    said = dimensions(ExperimentSpec.model_validate(DOCUMENT))
    assert said.startswith(" Between 3 (base) and 6 parameters (a) were searched: as many trials find")
    alike = {"search": dict.fromkeys(("period", "slow_momentum", "slow_lr"))}
    three = [DOCUMENT["variants"][0], DOCUMENT["variants"][1] | alike]
    assert dimensions(ExperimentSpec.model_validate(DOCUMENT | {"variants": three})) == ""
    tuning = DOCUMENT["tuning"] | {"spaces": {"slowmo": {"lr": LR}}}
    assert " Between 1 (a) and 3 parameters (base)" in dimensions(
        ExperimentSpec.model_validate(DOCUMENT | {"tuning": tuning})
    )
    own = [{"name": "own", "algorithm": "of-a-file"}, DOCUMENT["variants"][1]]
    assert dimensions(ExperimentSpec.model_validate(DOCUMENT | {"variants": own, "baseline": "own"})) == ""
    three = [*DOCUMENT["variants"], own[0]]
    assert "6 parameters (a) of built-in methods" in dimensions(
        ExperimentSpec.model_validate(DOCUMENT | {"variants": three})
    )
    assert dimensions(ExperimentSpec.model_validate(DOCUMENT | {"tuning": None})) == ""


def test_the_sentence_names_it_and_later_spaces():
    effort = replace(TUNED, by_hand=" Not searched: a (period).")
    assert "no reported run has a tuning seed. Not searched: a (period). A claim is about" in effort.sentence
    later = replace(TUNED, tuning=Tuning(trials=8, later=["demo", "slowmo"]))
    assert "The search spaces of demo and slowmo were declared later than those of the other" in later.sentence
    assert "later ones" not in TUNED.sentence
