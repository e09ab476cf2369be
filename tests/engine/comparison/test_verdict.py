"""The verdict against SciPy's paired t test, examples by hand, and what must not change it."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import (
    MARGIN,
    Verdict,
    compare,
    compare_all,
    compare_values,
    holm,
    paired_difference,
)
from hypothesis import assume, given
from hypothesis import strategies as st


def exactly(seconds: float) -> Crossing:
    """Return a time that is known exactly: the evaluations around it lie at one moment."""
    return Crossing(seconds, seconds)


def missed(seconds: float) -> Crossing:
    return Crossing(seconds, None)


def diverged(seconds: float) -> Crossing:
    return Crossing(seconds, None, diverged=True)


def reached(*seconds: float) -> dict[int, Crossing]:
    return dict(enumerate(map(exactly, seconds)))


def mixed(*crossings: tuple[float, bool]) -> dict[int, Crossing]:
    return {seed: exactly(s) if met else missed(s) for seed, (s, met) in enumerate(crossings)}


def between(*ends: tuple[float, float]) -> dict[int, Crossing]:
    return {seed: Crossing(after, by) for seed, (after, by) in enumerate(ends)}


def test_is_the_paired_t_test_on_logarithms():
    from scipy import stats

    baseline, variant = [10.2, 11.9, 9.7, 12.4, 10.8], [5.1, 5.6, 5.3, 6.4, 4.9]
    logs = [[math.log(t) for t in times] for times in (baseline, variant)]
    low, high = stats.ttest_rel(*logs).confidence_interval(0.95)
    found = compare(reached(*baseline), reached(*variant))
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-12)
    assert found.ratio == pytest.approx(stats.gmean(baseline) / stats.gmean(variant), rel=1e-12)
    assert (found.claim, found.pairs, found.censored) == ("faster", 5, 0)


@given(st.lists(st.tuples(st.floats(0.01, 1e5), st.floats(0.01, 1e5)), min_size=3, max_size=12))
def test_claims_exactly_when_the_paired_t_test_rejects(times):
    from scipy import stats

    differences = [math.log(b) - math.log(v) for b, v in times]
    spread = max(differences) - min(differences)
    assume(spread > 1e-9)
    p = stats.ttest_1samp(differences, 0).pvalue
    assume(abs(p - 0.05) > 1e-9)
    found = compare(reached(*(b for b, _ in times)), reached(*(v for _, v in times)))
    small = max(abs(math.log(found.low)), abs(math.log(found.high))) <= math.log(MARGIN)
    assert (found.claim == "same") == small
    assert (found.claim in ("faster", "slower")) == (p < 0.05 and not small)
    if found.claim == "not shown":
        assert found.low <= 1 <= found.high


def test_by_hand():
    # log-ratios log 2, log 2, log 4: mean 4/3 log 2, sd log 2 / sqrt 3, half width 4.302653 * log 2 / 3
    found = compare(reached(2, 4, 8), reached(1, 2, 2))
    assert found.ratio == pytest.approx(2 ** (4 / 3))
    half = 4.302652729911 / 3
    assert (found.low, found.high) == pytest.approx((2 ** (4 / 3 - half), 2 ** (4 / 3 + half)), rel=1e-9)
    assert found.claim == "not shown"  # 0.93 to 6.8


@pytest.mark.parametrize(
    ("factors", "claim"),
    [
        ((1.003, 1.004, 1.003), "same"),  # surely faster, by what nobody would notice
        ((0.999, 1.001, 1.0), "same"),
        ((1.02, 1.021, 1.02), "same"),
        ((1.08, 1.081, 1.08), "faster"),
        ((1.045, 1.046, 1.052), "faster"),  # 1.038 to 1.057: not all of it within 5%
        ((0.95, 1.0, 1.05), "not shown"),
        ((1.003, 1.004), "no claim"),
    ],
)
def test_practically_the_same_only_where_the_whole_interval_is_within_the_margin(factors, claim):
    baseline, variant = reached(*(10 * f for f in factors)), reached(*[10.0] * len(factors))
    assert compare(baseline, variant).claim == claim
    swapped = {"faster": "slower"}.get(claim, claim)
    assert compare(variant, baseline).claim == swapped


def test_fewer_than_three_pairs_claim_nothing():
    for n in (0, 1, 2):
        found = compare(reached(*[10.0] * n), reached(*[1.0] * n))
        assert (found.claim, found.pairs) == ("no claim", n)
    assert compare(reached(10.0, 10.0, 10.0, 10.0), {7: exactly(1.0)}).pairs == 0


def test_equal_times_are_not_faster():
    assert compare(reached(3, 4, 5), reached(3, 4, 5)).claim == "same"


def test_only_common_seeds_are_pairs():
    baseline = {0: exactly(10), 1: exactly(11), 2: exactly(12), 5: exactly(1e9)}
    variant = {0: exactly(5), 1: exactly(5.4), 2: exactly(6.1), 6: exactly(1e-9)}
    found = compare(baseline, variant)
    assert (found.pairs, found.claim) == (3, "faster")
    assert 1.9 < found.ratio < 2.1


def test_a_baseline_that_missed_the_target_gives_a_lower_bound():
    found = compare(mixed((20, False), (21, True), (20.5, False), (22, True)), reached(5, 5.2, 5.1, 5.3))
    assert found.claim == "at least" and found.high is None
    assert 3.9 < found.low < found.ratio < 4.2
    assert (found.censored, found.missed_by_baseline, found.missed_by_variant) == (2, 2, 0)
    # had the missing ones been reached later, the truth would lie above the bound
    truth = compare(reached(40, 21, 60, 22), reached(5, 5.2, 5.1, 5.3))
    assert truth.ratio > found.ratio


def test_a_baseline_that_missed_it_before_the_variant_reached_it_shows_nothing():
    found = compare(mixed((4, False), (4, False), (4, False)), reached(5, 5.2, 5.1))
    assert found.claim == "not shown" and found.ratio < 1 and found.high is None


def test_a_variant_that_missed_the_target_gives_an_upper_bound():
    found = compare(reached(5, 5.2, 5.1, 5.3), mixed((20, False), (21, True), (20.5, False), (22, True)))
    assert found.claim == "at most" and found.low is None
    assert found.ratio < found.high < 0.26


def test_a_pair_that_both_missed_is_left_out():
    never = mixed((20, False), (20, False), (20, False))
    found = compare(never, mixed((5, False), (6, False), (7, False)))
    assert (found.claim, found.ratio, found.pairs, found.missed_by_both) == ("no claim", None, 0, 3)
    one_each = compare(mixed((20, False), (20, True), (20, True)), mixed((1, True), (1, False), (1, True)))
    assert (one_each.claim, one_each.ratio, one_each.censored) == ("not shown", None, 2)
    one_both = compare(
        mixed((20, False), (20, True), (21, True), (20.5, True)),
        mixed((1, False), (10, True), (10, True), (10.2, True)),
    )
    assert (one_both.claim, one_both.pairs, one_both.missed_by_both) == ("faster", 3, 1)


def test_bounds_say_nothing_where_pairs_are_left_out_because_neither_reached_it():
    bounded = mixed((20, False), (20, False), (20, False), (20, True))
    variant = mixed((5, True), (5.1, True), (4.9, True), (5, True))
    assert compare(bounded, variant).claim == "at least"
    chosen = compare(bounded | {4: missed(20)}, variant | {4: missed(20)})
    assert (chosen.claim, chosen.ratio, chosen.low, chosen.missed_by_both) == ("not shown", None, None, 1)


def test_of_two_alike_on_average_the_one_that_varies_more_is_not_the_faster():
    """Both end just before the median time: the seeds that the steady one missed, the other one had luck with."""
    noise = np.random.default_rng(7)
    claims = Counter()
    for _ in range(300):
        steady, moody = np.exp(noise.normal(0, 0.02, 10)), np.exp(noise.normal(0, 0.3, 10))
        sides = ({n: exactly(t) if t < 0.98 else missed(0.98) for n, t in enumerate(x)} for x in (steady, moody))
        claims[compare(*sides).claim] += 1
    assert claims["faster"] + claims["at least"] + claims["slower"] + claims["at most"] <= 0.05 * 300


def test_a_run_that_diverged_is_beyond_every_time_however_early_it_did():
    baseline = dict(enumerate([diverged(0.3), diverged(0.2), exactly(30), exactly(31), exactly(29)]))
    variant = reached(10, 10.2, 9.9, 10.1, 10)
    found = compare(baseline, variant)
    assert found.claim == "at least" and found.low > 2.5
    assert (found.missed_by_baseline, found.diverged_by_baseline) == (2, 2)
    # its last clock says nothing
    later = baseline | {0: diverged(12.0), 1: diverged(0.0)}
    assert compare(later, variant) == found
    # nobody knows how long the others would have taken, so the longest clock that was seen stands for them
    assert found.ratio == pytest.approx(compare(reached(31, 31, 30, 31, 29), variant).ratio)
    assert compare(variant, baseline).claim == "at most"


def test_a_variant_that_diverged_at_once_is_not_faster():
    found = compare(reached(30, 31, 29), {seed: diverged(0.01) for seed in range(3)})
    assert found.claim != "faster" and found.low is None
    assert found.ratio <= 1


def test_the_same_evaluations_leave_an_interval():
    """The baseline met it at the 11th evaluation and the variant at the 10th, with every seed."""
    found = compare(between(*[(10, 11)] * 5), between(*[(9, 10)] * 5))
    assert found.ratio == pytest.approx(1.1)
    assert found.claim == "not shown" and found.coarse
    assert found.low < 1 and found.high > 11 / 9
    fine = compare(between(*[(10.99, 11)] * 5), between(*[(9.99, 10)] * 5))
    assert fine.claim == "faster" and 1.09 < fine.low < 10.99 / 10 and fine.high > 11 / 9.99


def test_ranges_widen_by_what_they_hide():
    """By hand: lower ends log 10/6 thrice, ranges log(11/5) - log(10/6) = log 1.32 wide."""
    found = compare(between(*[(10, 11)] * 3), between(*[(5, 6)] * 3))
    half = 4.302652729911 * math.log(1.32) / 6  # 1/12 of the squared width, over three seeds
    assert found.low == pytest.approx(10 / 6 * math.exp(-half), rel=1e-9)
    assert found.high == pytest.approx(11 / 5 * math.exp(half), rel=1e-9)


def test_a_target_met_by_the_first_evaluation_is_a_bound():
    found = compare(between((10, 11), (11, 12), (10, 11)), between((0, 5), (0, 5.1), (0, 4.9)))
    assert (found.claim, found.in_first_interval, found.high) == ("at least", 3, None)
    assert found.low > 1.5
    back = compare(between((0, 5), (0, 5.1), (0, 4.9)), between((10, 11), (11, 12), (10, 11)))
    assert (back.claim, back.low) == ("at most", None)
    both = compare(between((0, 1), (0, 2), (0, 3)), between((0, 1), (0, 1), (0, 1)))
    assert (both.claim, both.ratio, both.low, both.high) == ("not shown", None, None, None)


def test_a_target_met_before_the_first_step_is_left_out():
    start = Crossing(0.0, 0.0)
    found = compare(reached(10, 11, 12, 13), reached(5, 5.4, 6.1, 6) | {3: start})
    assert (found.claim, found.pairs, found.met_at_start) == ("faster", 3, 1)
    assert compare({0: start}, {0: start}).met_at_start == 1


def test_holm_by_hand():
    """Of p = 0.01, 0.04, 0.03, 0.005 the least counts four times, the next three times, and none overtakes."""

    def tested(p):
        return Verdict("faster", 2.0, 1.5, 2.5, 3, p=p, p_adjusted=p)

    found = holm(
        {"a": tested(0.01), "b": tested(0.04), "c": tested(0.03), "d": tested(0.005), "e": Verdict("baseline")}
    )
    assert {k: v.p_adjusted for k, v in found.items() if k != "e"} == pytest.approx(
        {"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06}
    )
    assert {k: v.claim for k, v in found.items()} == {
        "a": "faster", "b": "not shown", "c": "not shown", "d": "faster", "e": "baseline"
    }  # fmt: skip
    assert {(v.comparisons, v.undecided) for k, v in found.items() if k != "e"} == {(4, 2)}
    assert found["b"].shown_alone and found["b"].low == 1.5
    assert holm(found) == found


def test_several_variants_are_corrected_for():
    baseline = reached(10, 10.5, 9.6)
    just = {i: exactly(c.by / f) for (i, c), f in zip(baseline.items(), (1.2, 1.3, 1.4), strict=True)}
    factors = (1.1, 0.9, 1)
    alike = [{i: exactly(c.by * factors[i] ** k) for i, c in baseline.items()} for k in range(1, 6)]
    alone = compare(baseline, just)
    assert alone.claim == "faster" and 0.01 < alone.p < 0.05
    group = compare_all(baseline, {"just": just} | {str(k): one for k, one in enumerate(alike)})
    assert (group["just"].claim, group["just"].comparisons) == ("not shown", 6)
    assert group["just"].p_adjusted == pytest.approx(6 * alone.p)
    assert (group["just"].low, group["just"].high) == (alone.low, alone.high)
    assert compare_all(baseline, {"just": just})["just"] == alone


times = st.floats(0.01, 1e4)
outcomes = st.one_of(
    st.tuples(times, st.floats(0.5, 1)).map(lambda t: Crossing(t[0] * t[1], t[0])),
    times.map(lambda t: Crossing(0.0, t)),
    times.map(missed),
    times.map(diverged),
    st.just(Crossing(0.0, 0.0)),
)
sides = st.lists(st.tuples(outcomes, outcomes), max_size=9).map(
    lambda pairs: ({i: b for i, (b, _) in enumerate(pairs)}, {i: v for i, (_, v) in enumerate(pairs)})
)


def close(one, other) -> bool:
    figures = [(one.ratio, other.ratio), (one.low, other.low), (one.high, other.high)]
    same = all(a is None if b is None else a is not None and math.isclose(a, b, rel_tol=1e-6) for a, b in figures)
    counts = ("pairs", "missed_by_baseline", "missed_by_variant", "missed_by_both", "met_at_start")
    return same and all(getattr(one, c) == getattr(other, c) for c in counts)


def near_one(found) -> bool:
    return any(end is not None and abs(end - 1) < 1e-9 for end in (found.low, found.high))


@given(sides)
def test_swapping_the_sides_gives_the_reciprocal(pair):
    baseline, variant = pair
    forth, back = compare(baseline, variant), compare(variant, baseline)
    assume(not near_one(forth))
    assert close(forth, back.swapped) and forth.claim == back.swapped.claim


@given(sides, st.floats(1e-3, 1e3))
def test_scaling_all_times_changes_nothing(pair, scale):
    baseline, variant = pair
    scaled = [
        {k: Crossing(c.after * scale, None if c.by is None else c.by * scale, c.diverged) for k, c in side.items()}
        for side in pair
    ]
    found, other = compare(baseline, variant), compare(*scaled)
    assume(not near_one(found))
    assert close(found, other) and found.claim == other.claim


@given(sides, st.randoms(use_true_random=False))
def test_renaming_the_seeds_changes_nothing(pair, source: random.Random):
    names = list(range(100, 100 + len(pair[0])))
    source.shuffle(names)
    renamed = [{names[seed]: outcome for seed, outcome in side.items()} for side in pair]
    found, other = compare(*pair), compare(*renamed)
    assume(not near_one(found))
    assert close(found, other) and found.claim == other.claim


@given(sides)
def test_what_is_never_claimed(pair):
    found = compare(*pair)
    if found.claim in ("faster", "at least"):
        assert found.low > 1 and found.pairs >= 3 and not found.missed_by_variant
    if found.claim in ("slower", "at most"):
        assert found.high < 1 and found.pairs >= 3 and not found.missed_by_baseline
    if found.claim == "faster":
        assert found.high is not None and found.censored == 0


@given(sides, st.lists(st.tuples(st.floats(1, 100), st.floats(0.01, 1)), min_size=9, max_size=9))
def test_the_interval_holds_the_mean_whatever_the_times_really_were(pair, really):
    """Let every time be anywhere it may have been; one that was cut off lies some way beyond."""
    baseline, variant = pair
    found = compare(baseline, variant)
    longest = max((c.seconds for side in pair for c in side.values()), default=0)

    def true(crossing, later, part) -> float:
        if crossing.by is None:
            return later * (longest if crossing.diverged else crossing.after)
        return crossing.after + part * (crossing.by - crossing.after)

    logs = [
        math.log(true(b, *really[seed]) / true(v, *really[seed]))
        for seed, b, v in ((seed, baseline[seed], variant[seed]) for seed in baseline)
        if (b.met or v.met) and not b.at_start and not v.at_start
    ]
    assert found.pairs == len(logs)
    if found.low is not None:
        assert math.log(found.low) <= math.fsum(logs) / len(logs) + 1e-9
    if found.high is not None:
        assert math.log(found.high) >= math.fsum(logs) / len(logs) - 1e-9


def test_accuracy_and_throughput_are_paired_too():
    found = paired_difference({0: 0.9, 1: 0.8, 2: 0.85}, {0: 0.92, 1: 0.82, 2: 0.87, 3: 0.1})
    assert (found.mean, found.n) == (pytest.approx(0.02), 3)
    above, below = {0: 200.0, 1: 400.0, 2: 306.0, 3: 1.0}, {0: 100.0, 1: 200.0, 2: 150.0}
    speed = compare_values(above, below)
    assert (speed.claim, speed.pairs, speed.ratio) == ("faster", 3, pytest.approx((2 * 2 * 2.04) ** (1 / 3)))
    assert compare_values(below, above).claim == "slower"
