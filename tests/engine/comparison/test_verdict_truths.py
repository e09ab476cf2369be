"""The rule against simulated truths: how often it is wrong where the truth is known, and what it finds."""

from dataclasses import replace

import pytest

from tests.engine.comparison.truths import CONDITIONS, Truth, judge

ERRORS = 3.3
"""Standard errors by which a counted share may exceed 5%: by chance one in two thousand does."""


def most(count: int) -> float:
    return 0.05 + ERRORS * (0.05 * 0.95 / count) ** 0.5


NOISES = ("heavy tails", "late", "missing")
"""Tried with three seeds alone here; decision 138 has the others."""
SEEDS, EVALUATIONS, RATIOS = (3, 5, 10), (5, 20, 100), (0.7, 1.5)
ONE_SIDED = ("unpaired", "paired", "baseline censored", "variant censored")


@pytest.mark.parametrize(
    ("seeds", "evaluations", "name"),
    [
        (seeds, EVALUATIONS[::2][(i + j) % 2], name)  # every two of the three occur together
        for i, seeds in enumerate(SEEDS)
        for j, name in enumerate(CONDITIONS)
        if seeds == SEEDS[0] or name not in NOISES
    ],
)
def test_where_nothing_differs_a_difference_is_rarely_said(seeds, evaluations, name):
    """Of comparisons that can make a claim at most 5% claim a difference; an end left open is not wrong."""
    truth = replace(Truth(seeds, evaluations=evaluations), **CONDITIONS[name])
    found = judge(truth, 1000, seeds)
    able = found.verdicts - found.claims["no claim"]
    assert able > 200
    assert found.wrong_groups <= most(able) * able
    assert found.missed_low + found.missed_high <= most(able) * able


@pytest.mark.parametrize("name", ["unpaired", "paired", "censored", "diverged"])
@pytest.mark.parametrize("seeds", [3, 5])
def test_six_variants_are_judged_together(seeds, name):
    """Of groups of six comparisons at most 5% hold one that is wrong."""
    truth = replace(Truth(seeds, evaluations=100, variants=6), **CONDITIONS[name])
    found = judge(truth, 300, seeds)
    assert found.wrong_groups / found.groups <= most(found.groups)


@pytest.mark.parametrize(
    ("seeds", "evaluations", "name", "ratio"),
    [
        (seeds, evaluations, name, RATIOS[(i + j + k) % 2])  # every three of the four occur together
        for i, seeds in enumerate(SEEDS)
        for j, evaluations in enumerate(EVALUATIONS)
        for k, name in enumerate(ONE_SIDED)
    ],
)
def test_intervals_and_bounds_hold_the_true_ratio(seeds, evaluations, name, ratio):
    truth = replace(Truth(seeds, ratio, evaluations=evaluations), **CONDITIONS[name])
    truth = replace(truth, variant_budget=truth.variant_budget / ratio)
    found = judge(truth, 400, seeds)
    assert found.intervals > 300
    assert found.missed <= most(found.intervals)


def test_a_difference_that_is_there_is_found():
    """Half the time, noise of 10% in each run: 20 evaluations and five seeds are enough."""
    assert judge(Truth(5, 2.0), 300, 1).share("faster") > 0.97
    assert judge(Truth(5, 0.5), 300, 1).share("slower") > 0.97
    assert judge(Truth(10, 1.5, evaluations=100, variants=6), 100, 1).share("faster") > 0.97
    assert judge(Truth(10, 2.0, diverging=0.3), 300, 1).share("at least", "faster") > 0.5
    assert judge(Truth(10, 2.0, budget=1.0), 300, 1).share("at least", "faster") > 0.9


def test_practically_the_same_is_found_where_noise_is_small():
    assert judge(Truth(5, noise=0.005, evaluations=200), 300, 1).share("same") > 0.9
