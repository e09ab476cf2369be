"""Medians and quotients of bounds: whatever the true figures are, what is said of them holds."""

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.claim import Claim
from benchmarks.evidence.records import Run
from benchmarks.evidence.spread import Figure, Spread, quotient, times, times_faster

POSITIVE = st.floats(0.5, 500)


@st.composite
def bounded(draw):
    """Return figures and true values that they are exact figures or bounds of."""
    truths = draw(st.lists(POSITIVE, min_size=1, max_size=5))
    figures = []
    for truth in truths:
        side = draw(st.sampled_from("=<>"))
        by = draw(st.floats(1, 3))
        figures.append(Figure(truth * {"=": 1, "<": by, ">": 1 / by}[side], side))
    return figures, truths


def holds(figure: Figure, truth: float) -> bool:
    near = math.isclose(figure.value, truth, rel_tol=1e-9)
    return near or {"=": False, ">": truth > figure.value, "<": truth < figure.value}[figure.side]


@given(bounded())
def test_what_is_said_of_a_median_is_true(drawn):
    figures, truths = drawn
    assert holds(Spread(tuple(figures)).median, statistics.median(truths))


def test_a_bound_far_from_the_middle_leaves_the_median_exact():
    assert Spread((Figure(3), Figure(4), Figure(100, ">"))).median == Figure(4)
    assert Spread((Figure(3), Figure(4), Figure(2, ">"))).median == Figure(3, ">")
    assert Spread((Figure(3), Figure(4), Figure(100, ">"))).text(".0f", " s") == "4 s [3, ≥ 100]"


def run(seconds, reached=True, seed=0, **others) -> Run:
    blank = dict.fromkeys(Run.__dataclass_fields__)
    time = seconds if reached else None
    return replace(Run(**blank), key=f"k{seed}", seed=seed, time_to_target=time, train_seconds=seconds, **others)


def test_a_run_that_diverged_never_meets_the_target():
    """Not "within 0 s", which bounds nothing: the median of 80, 96 and never is 96."""
    base = {0: run(80), 1: run(0, reached=False, seed=1, state="failed_user"), 2: run(96, seed=2)}
    other = {0: run(40), 1: run(50, seed=1), 2: run(48, seed=2)}
    assert times(list(base.values())).text(".0f") == "96 [80, ∞]"
    assert times_faster(base, other).text(".0f", "x") == "2x [2, ∞]"
    assert times_faster(other, base).text(".1f") == "0.5 [0.0, 0.5]"
    assert times_faster({1: base[1]}, {1: run(7, reached=False, seed=1)}) is None


@given(st.lists(st.tuples(POSITIVE, st.booleans(), POSITIVE, st.booleans()), min_size=1, max_size=4), POSITIVE)
def test_a_quotient_of_times_holds_for_runs_that_never_met_the_target(pairs, later):
    base = {n: run(s, met, n) for n, (s, met, _, _) in enumerate(pairs)}
    other = {n: run(s, met, n) for n, (_, _, s, met) in enumerate(pairs)}
    said = times_faster(base, other)
    known = [pair for pair in pairs if pair[1] or pair[3]]
    assert (said is None) == (not known)
    for figure, (slow, slow_met, fast, fast_met) in zip(said.figures if said else (), known, strict=True):
        truth = (slow if slow_met else slow + later) / (fast if fast_met else fast + later)
        assert holds(figure, truth)


def test_quotients_are_formed_within_a_repeat():
    above = {n: run(10, samples=100 * (n + 1), seed=n) for n in range(3)}
    below = {n: run(10, samples=50 * (n + 1), seed=n) for n in (0, 2)}
    found = quotient(above, below)
    assert [figure.value for figure in found.figures] == [2, 2]
    assert found.keys == ("k0", "k0", "k2", "k2")


@pytest.mark.parametrize(
    "figures, verdict",
    [
        ([6, 5.5, 7], "target met"),
        ([11, 10.5, 12], "target met, aim met"),
        ([6, 5.1, 7], "target met by the median, not by all"),
        ([5, 4, 7], "target not met by the median, not by all"),
        ([1, 2, 3], "target not met"),
        ([(6, ">"), (7, ">"), 8], "target met"),
        ([(3, ">"), (4, ">"), (5, ">")], "not shown: only a bound is known"),
        ([(3, "<"), (4, "<"), (5, "<")], "target not met"),
        ([6], "target met (so far: 1 of 3)"),
        (None, "not measured"),
    ],
)
def test_verdicts(figures, verdict):
    claim = Claim("", "", None, target=5.3, aim=10)
    made = [Figure(*f) if isinstance(f, tuple) else Figure(f) for f in figures or []]
    assert claim.verdict(Spread(tuple(made)) if made else None) == verdict


def test_a_share_is_better_when_it_is_less():
    claim = Claim("", "", None, target=0.14, aim=0.05, better="less", form=".0%")
    assert claim.verdict(Spread((Figure(0.03), Figure(0.04), Figure(0.02)))) == "target met, aim met"
    assert claim.verdict(Spread((Figure(0.1), Figure(0.12), Figure(0.02)))) == "target met"
    assert claim.verdict(Spread((Figure(0.3), Figure(0.4), Figure(0.2)))) == "target not met"
    assert claim.told(claim.target) == "≤ 14%"
