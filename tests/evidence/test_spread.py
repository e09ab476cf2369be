"""Medians of bounds: whatever the true figures are, what is said of them holds. Nothing is judged by them."""

import math
import statistics
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.records import Run
from benchmarks.evidence.spread import Figure, Spread, quotient, times

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
    runs = [run(80), run(0, reached=False, seed=1, diverged="yes"), run(96, seed=2)]
    assert times(runs).text(".0f") == "96 [80, never]"


def test_quotients_are_formed_within_a_repeat():
    above = {n: run(10, samples=100 * (n + 1), seed=n) for n in range(3)}
    below = {n: run(10, samples=50 * (n + 1), seed=n) for n in (0, 2)}
    found = quotient(above, below)
    assert [figure.value for figure in found.figures] == [2, 2]
    assert found.keys == ("k0", "k0", "k2", "k2")
