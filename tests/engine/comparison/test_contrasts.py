"""Contrasts of rows: ratios by hand, what may be compared with what, and what is said in place of a ratio."""

import math
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from hooke.catalogue.validation import validate_experiment
from hooke.comparison.cells import Cell
from hooke.comparison.contrasts import Side, against, between_clusters, contrasts
from hooke.comparison.effort import of_trials
from scipy import stats

from tests.engine.comparison.test_across import runs
from tests.engine.tuning.test_search import DOCUMENT, tuned

SETTING = {"algorithm": "sync-sgd", "lr": 0.1}
CONDITIONS = {"workload": "digits", "target": 0.9, "budget": 100}
NOISE = (0.02, -0.01, 0.03, -0.04, 0.0)


def side(cluster="lab", seconds=10.0, variant="a", **changes) -> Side:
    """Return five runs of a variant, whose times are `seconds` times a factor of its own for each seed."""
    kept = {name: changes.pop(name) for name in ("seeds", "workers", "simulated") if name in changes}
    cell = Cell(variant, list(runs(cluster, {variant: seconds}, **kept)))
    return replace(Side(7, cell, cluster, CONDITIONS, SETTING, has_target=True), **changes)


def only(*sides: Side, reference: int | None = None):
    positions = between_clusters(sides) if reference is None else against(sides, reference)
    (found,) = contrasts(sides, positions)
    return found


def noisy(cluster: str, times: list[float]) -> Side:
    one = side(cluster)
    return replace(
        one,
        cell=Cell(
            "a",
            [
                replace(run, time_to_target=t, target_after=t * (1 - 1e-9), clock=t)
                for run, t in zip(one.cell.runs, times, strict=True)
            ],
        ),
    )


def test_a_variant_on_two_clusters_is_compared_by_seed():
    slow, fast = [20.0, 24.0, 19.0, 23.0, 21.0], [10.0, 11.0, 10.5, 11.2, 9.8]
    found = only(noisy("slow", slow), noisy("fast", fast))
    logs = [math.log(a / b) for a, b in zip(slow, fast, strict=True)]
    half = stats.t.ppf(0.975, 4) * stdev(logs) / math.sqrt(5)
    assert found.verdict.ratio == pytest.approx(math.exp(fmean(logs)))
    assert found.verdict.low == pytest.approx(math.exp(fmean(logs) - half), rel=1e-6)
    assert found.verdict.high == pytest.approx(math.exp(fmean(logs) + half), rel=1e-6)
    assert (found.first, found.second, found.verdict.claim) == (0, 1, "faster")
    assert found.sentence.startswith("a on fast reaches the target 2.0x faster than a on slow (95% interval ")


def test_seeds_that_only_one_side_has_do_not_count():
    found = only(side("lab", 20.0), side("hpc", seeds=2))
    assert (found.verdict.claim, found.verdict.pairs) == ("no claim", 2)
    assert found.sentence == "No claim on a on hpc: 2 pairs of finished seeds, but 3 are needed."


def test_claims_are_corrected_for_all_contrasts_with_a_ratio():
    three = [side(cluster, seconds) for cluster, seconds in (("one", 10.0), ("two", 11.0), ("three", 12.0))]
    unlike = side("four", conditions=CONDITIONS | {"budget": 5})
    found = contrasts([*three, unlike], between_clusters([*three, unlike]))
    assert [(each.first, each.second) for each in found] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [each.verdict and each.verdict.comparisons for each in found] == [3, 3, None, 3, None, None]


def test_what_is_the_same_elsewhere():
    here = side("lab")
    assert between_clusters([here, side("hpc")]) == [(0, 1)]
    assert between_clusters([here, side("hpc", variant="b")]) == []
    renamed = side("hpc", variant="b", experiment=8)
    assert between_clusters([here, renamed]) == [(0, 1)]
    assert between_clusters([here, replace(renamed, setting=SETTING | {"lr": 1})]) == []
    assert between_clusters([here, side("hpc", workers=8)]) == []
    assert between_clusters([here, side("lab", experiment=8)]) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"conditions": CONDITIONS | {"workload": "mnist"}}, "their workload differs"),
        ({"conditions": CONDITIONS | {"target": 0.8, "budget": 5}}, "their target and budget differ"),
        (
            {"simulated": True},
            "lab is measured and hpc is simulated, and virtual seconds are not compared with measured ones",
        ),
        (
            {"setting": SETTING | {"lr": 0.2}},
            "the cluster and the setting (lr) differ, so a ratio would tell of none of them alone",
        ),
        ({"setting": {"algorithm": "sync-sgd"}}, "the cluster and the setting (lr) differ, so a ratio"),
    ],
)
def test_what_is_not_comparable_is_said(changes, why):
    found = only(side(), side("hpc", **changes))
    assert found.verdict is None
    assert found.sentence.startswith(f"a on lab and a on hpc are not compared: {why}")


def test_without_a_target_there_is_no_time():
    found = only(side(has_target=False), side("hpc", has_target=False))
    assert found.sentence == "a on lab and a on hpc are not compared: without a target there is no time to it."


def test_one_row_against_all_others():
    """One thing may differ: the setting, the number of workers, or nothing but the experiment."""
    other = side(seconds=5.0, variant="b", setting=SETTING | {"lr": 0.2}, experiment=8)
    sides = [other, side(), side(workers=8), side(experiment=8)]
    found = contrasts(sides, against(sides, 1))
    assert [(each.first, each.second) for each in found] == [(1, 0), (1, 2), (1, 3)]
    assert found[0].sentence.startswith("b (#8) reaches the target 2.0x faster than a (#7) (")
    assert found[1].sentence.startswith("a with 8 workers and a with 4 workers are practically the same")
    assert found[2].sentence.startswith("a (#8) and a (#7) are practically the same")


def test_simulated_and_crowded_sides_are_marked():
    pair = [side(cluster, simulated=True) for cluster in ("lab", "hpc")]
    assert ", simulated)" in only(*pair).sentence
    crowded = side("hpc")
    crowded.cell.runs[0] = replace(crowded.cell.runs[0], oversubscribed=True)
    assert ", oversubscribed)" in only(side(), crowded).sentence


def test_what_was_measured_apart_or_by_other_programs_is_marked():
    """Runs of one experiment alternate; those of two do not, and a program may have become faster in between."""
    old, new = ({"hooke": frozenset({v}), "processor": frozenset({cpu})} for v, cpu in (("1", "A"), ("2", "B")))
    here = side(made_by=old)
    other = {"variant": "b", "setting": SETTING | {"lr": 0.2}}
    same = only(here, side(made_by=old, **other), reference=0).sentence
    assert "5 seeds" in same and "turn" not in same and "another" not in same
    later = only(here, side(made_by=old, experiment=8, **other), reference=0).sentence
    assert "5 seeds, not measured in turn" in later and "another" not in later
    made = only(here, side(made_by=new, experiment=8, **other), reference=0).sentence
    assert "5 seeds, not measured in turn, with another hooke and processor" in made
    elsewhere = only(here, side("hpc", made_by=new, experiment=8)).sentence
    assert "5 seeds, with another hooke" in elsewhere and "processor" not in elsewhere
    virtual = side(simulated=True, made_by={"hooke": frozenset({"1"})})
    again = side(simulated=True, made_by={}, experiment=8, **other)
    assert "5 seeds, simulated" in (said := only(virtual, again, reference=0).sentence)
    assert "turn" not in said and "another" not in said


def test_unequal_tuning_makes_no_claim():
    best = side(seconds=5.0, variant="b", setting=SETTING | {"lr": 0.2}, trials=16)
    found = only(side(), best, reference=0)
    assert found.verdict.claim == "no claim"
    assert found.sentence == "No claim on b: unequal tuning: 16 trials of b, but a setting as given of a."
    assert only(replace(best, setting=SETTING), side(), reference=1).verdict.claim == "faster"
    assert only(side("hpc", refuted="it diverged"), side()).sentence == "No claim on a on lab: it diverged."


@pytest.mark.parametrize(("simulated", "claimed"), [(True, "no claim"), (False, "faster")])
def test_simulated_contrasts_of_settings_of_the_workload_make_no_claim(simulated, claimed):
    sides = [
        side(seconds=seconds, setting=SETTING | {"workload output": output}, simulated=simulated)
        for seconds, output in ((20.0, "full"), (10.0, "sampled"))
    ]
    assert only(*sides, reference=0).verdict.claim == claimed
    alike = [
        replace(each, setting=SETTING | {"workload output": "full", "lr": lr})
        for each, lr in zip(sides, (1, 2), strict=True)
    ]
    assert only(*alike, reference=0).verdict.claim == "faster"


def test_as_many_trials_are_not_the_same_tuning():
    """Of a tenth of the samples, on one seed in place of three: the setting is the best of much less."""
    short, long = ("halving, 1 tuning seed, 1,000 samples each", "halving, 3 tuning seeds, 10,000 samples each")
    one = side(trials=12, of_trials=long)
    other = side(seconds=5.0, variant="b", setting=SETTING | {"lr": 0.2}, trials=12, of_trials=short)
    found = only(one, other, reference=0)
    assert found.verdict.claim == "no claim"
    said = f"unequal tuning: 12 trials ({short}) of b, but 12 trials ({long}) of a"
    assert found.sentence == f"No claim on b: {said}."
    again = only(one, side("hpc", seconds=5.0, trials=12, of_trials=short))
    assert again.verdict.claim == "faster", "the same setting"


def test_how_trials_are_made_is_their_cost():
    told = {samples: of_trials(tuned(seeds=2, samples=samples)) for samples in (None, 16_000, 700)}
    assert told[None] == told[16_000] == "quasi-random search, 2 tuning seeds, 16,000 samples each"
    assert told[700] == "quasi-random search, 2 tuning seeds, 700 samples each"
    assert of_trials(tuned(trials=6, search="halving")) == "successive halving, 1 tuning seed, 16,000 samples each"
    assert of_trials(validate_experiment(DOCUMENT)) == ""
