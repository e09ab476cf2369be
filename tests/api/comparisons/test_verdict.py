"""The verdict against SciPy's paired t test, examples by hand, and what must not change it."""

import math
import random

import pytest
from hooke_api.comparisons.verdict import Outcome, compare, paired_difference, paired_ratio
from hypothesis import assume, given
from hypothesis import strategies as st


def reached(*seconds: float) -> dict[int, Outcome]:
    return {seed: Outcome(s, True) for seed, s in enumerate(seconds)}


def mixed(*outcomes: tuple[float, bool]) -> dict[int, Outcome]:
    return {seed: Outcome(*o) for seed, o in enumerate(outcomes)}


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
    small = max(abs(math.log(found.low)), abs(math.log(found.high))) <= math.log(1.01)
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
        ((1.02, 1.021, 1.02), "faster"),
        ((1.009, 1.0095, 1.0105), "faster"),  # 1.0078 to 1.0115: not all of it within 1%
        ((0.99, 1.0, 1.01), "not shown"),
        ((1.003, 1.004), "no claim"),
    ],
)
def test_practically_the_same_only_where_the_whole_interval_is_within_one_percent(factors, claim):
    baseline, variant = reached(*(10 * f for f in factors)), reached(*[10.0] * len(factors))
    assert compare(baseline, variant).claim == claim
    swapped = {"faster": "slower"}.get(claim, claim)
    assert compare(variant, baseline).claim == swapped


def test_fewer_than_three_pairs_claim_nothing():
    for n in (0, 1, 2):
        found = compare(reached(*[10.0] * n), reached(*[1.0] * n))
        assert (found.claim, found.pairs) == ("no claim", n)
    assert compare(reached(10.0, 10.0, 10.0, 10.0), {7: Outcome(1.0, True)}).pairs == 0


def test_equal_times_are_not_faster():
    assert compare(reached(3, 4, 5), reached(3, 4, 5)).claim == "same"


def test_only_common_seeds_are_pairs():
    baseline = {0: Outcome(10, True), 1: Outcome(11, True), 2: Outcome(12, True), 5: Outcome(1e9, True)}
    variant = {0: Outcome(5, True), 1: Outcome(5.4, True), 2: Outcome(6.1, True), 6: Outcome(1e-9, True)}
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


def test_a_baseline_that_missed_it_sooner_than_the_variant_reached_it_shows_nothing():
    found = compare(mixed((4, False), (4, False), (4, False)), reached(5, 5.2, 5.1))
    assert found.claim == "not shown" and found.ratio < 1 and found.high is None


def test_a_variant_that_missed_the_target_gives_an_upper_bound():
    found = compare(reached(5, 5.2, 5.1, 5.3), mixed((20, False), (21, True), (20.5, False), (22, True)))
    assert found.claim == "at most" and found.low is None
    assert found.ratio < found.high < 0.26


def test_both_missed_says_nothing():
    never = mixed((20, False), (20, False), (20, False))
    found = compare(never, mixed((5, False), (6, False), (7, False)))
    assert (found.claim, found.ratio, found.censored) == ("not shown", None, 3)
    one_each = compare(mixed((20, False), (20, True), (20, True)), mixed((1, True), (1, False), (1, True)))
    assert (one_each.claim, one_each.ratio, one_each.censored) == ("not shown", None, 2)
    one_both = compare(mixed((20, False), (20, True), (20, True)), mixed((1, False), (1, True), (1, True)))
    assert (one_both.claim, one_both.ratio, one_both.censored) == ("not shown", None, 1)


outcomes = st.tuples(st.floats(0.01, 1e4), st.booleans()).map(lambda o: Outcome(*o))
sides = st.lists(st.tuples(outcomes, outcomes), max_size=9).map(
    lambda pairs: ({i: b for i, (b, _) in enumerate(pairs)}, {i: v for i, (_, v) in enumerate(pairs)})
)


def close(one, other) -> bool:
    figures = [(one.ratio, other.ratio), (one.low, other.low), (one.high, other.high)]
    same = all(a is None if b is None else a is not None and math.isclose(a, b, rel_tol=1e-6) for a, b in figures)
    counts = ("pairs", "missed_by_baseline", "missed_by_variant", "missed_by_both")
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
    scaled = [{k: Outcome(o.seconds * scale, o.reached) for k, o in side.items()} for side in pair]
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


@given(sides, st.lists(st.floats(1, 100), min_size=9, max_size=9))
def test_a_bound_holds_whatever_the_censored_times_really_were(pair, later):
    """Let the baseline reach the target some time after its budget: the bound stays below the true mean ratio."""
    baseline, variant = pair
    variant = {seed: Outcome(o.seconds, True) for seed, o in variant.items()}
    truth = {seed: Outcome(o.seconds * (1 if o.reached else later[seed]), True) for seed, o in baseline.items()}
    bound, exact = compare(baseline, variant), compare(truth, variant)
    if bound.ratio is not None:
        assert bound.ratio <= exact.ratio * (1 + 1e-12)


def test_accuracy_and_throughput_are_paired_too():
    found = paired_difference({0: 0.9, 1: 0.8, 2: 0.85}, {0: 0.92, 1: 0.82, 2: 0.87, 3: 0.1})
    assert (found.mean, found.n) == (pytest.approx(0.02), 3)
    assert paired_ratio({0: 100.0, 1: 200.0}, {0: 200.0, 1: 400.0}).mean == pytest.approx(2.0)
