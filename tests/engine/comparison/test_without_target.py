"""Accuracies of experiments without a target, against t tests of SciPy, and where nothing differs."""

import numpy as np
import pytest
from hooke.comparison.effort import Effort
from hooke.comparison.figures import RunFigures
from hooke.comparison.intervals import interval, p_value
from hooke.comparison.report import report
from hooke.spec.states import RunState
from scipy import stats

POINTS = "final accuracy"


def runs(accuracies):
    """Return runs: variant -> accuracies by seed, None of one that diverged; all as fast as each other."""
    return [
        RunFigures(
            variant=variant,
            algorithm="sgd",
            cluster="local",
            workers=2,
            servers=0,
            seed=seed,
            simulated=False,
            state=RunState.FAILED_USER if accuracy is None else RunState.SUCCEEDED,
            diverged=accuracy is None,
            samples=1000,
            clock=1.0 + 0.1 * seed,
            accuracy=accuracy,
        )
        for variant, found in accuracies.items()
        for seed, accuracy in enumerate(found)
    ]


def said(accuracies):
    return {
        row.first.variant: row.sentence
        for row in report(runs(accuracies), "base", None, Effort()).rows
        if row.first.variant != "base"
    }


@pytest.mark.parametrize("values", [[0.1, 0.3, 0.2], [-0.4, 0.1, -0.2, -0.1], [0.2, 0.2, 0.2], [0.0, 0.0, 0.0]])
def test_p_values_are_those_of_a_t_test(values):
    varies = len(set(values)) > 1
    expected = stats.ttest_1samp(values, 0.0).pvalue if varies else float(values[0] == 0)
    assert p_value(interval(values)) == pytest.approx(expected, abs=1e-12)
    assert p_value(interval(values[:1])) is None


def test_a_difference_among_many_variants_is_corrected_for_their_number():
    base = [0.90, 0.91, 0.92, 0.905, 0.915]
    just = [0.903, 0.916, 0.922, 0.915, 0.917]
    p = stats.ttest_rel(just, base).pvalue
    assert 0.05 / 5 < p < 0.05
    alike = {f"v{k}": [each + (-1) ** (k + s) * 0.001 for s, each in enumerate(base)] for k in range(4)}
    assert POINTS in said({"base": base, "just": just})["just"]
    among = said({"base": base, "just": just, **alike})["just"]
    assert "accuracy difference not shown after correction (+" in among
    surely = [each + 0.05 + 0.001 * seed for seed, each in enumerate(base)]
    assert f"{POINTS} +5" in said({"base": base, "surely": surely, **alike})["surely"]


def test_of_groups_of_equal_variants_few_claim_a_difference():
    """120 groups of ten variants: without the correction about a quarter of them would."""
    source, groups = np.random.default_rng(4), 120
    wrong = 0
    for _ in range(groups):
        drawn = 0.9 + 0.01 * source.standard_normal((11, 5))
        names = ["base", *(f"v{k}" for k in range(10))]
        wrong += any(POINTS in each for each in said(dict(zip(names, drawn.tolist(), strict=True))).values())
    assert wrong <= groups * 0.05 + 3.3 * (groups * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize(
    ("base", "variant", "points", "lost"),
    [
        ([0.9, 0.91, 0.92, 0.9, 0.91], [0.93, None, 0.95, None, 0.945], None, "2 seeds with which v diverged"),
        ([0.9, 0.91, 0.92, 0.9, None], [0.93, 0.94, 0.95, 0.935, 0.94], "+3", "1 seed with which base diverged"),
        ([0.9, None, 0.92, 0.9, 0.91], [0.87, 0.88, 0.89, 0.871, 0.88], None, "1 seed with which base diverged"),
        ([0.9, 0.91, 0.92, 0.9, 0.91], [0.87, 0.88, None, 0.871, 0.88], "-3", "1 seed with which v diverged"),
    ],
)
def test_seeds_that_diverged_are_named_and_speak_for_no_side(base, variant, points, lost):
    """A method that keeps only the seeds it survived is not said to be the more accurate one."""
    told = said({"base": base, "v": variant})["v"]
    assert f"left out: {lost}" in told
    if points is None:
        assert POINTS not in told and "accuracy difference not shown, only on the seeds that are left (" in told
    else:
        assert f"{POINTS} {points}" in told


def test_too_few_seeds_because_of_divergence_are_told():
    told = said({"base": [0.9, 0.91, 0.92], "v": [0.95, None, None]})["v"]
    assert "1 pair of finished seeds, but 3 are needed; left out: 2 seeds with which v diverged" in told
