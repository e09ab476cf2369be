"""Pooling over machines against published figures, a second implementation, closed forms and simulated truths."""

import math

import numpy as np
import pytest
from hooke.comparison.crossing import Crossing
from hooke.comparison.pooling import holm_pooled, pooled, random_effects
from hooke.comparison.ranges import Range
from hooke.comparison.verdict import compare, compare_values, log_ratios, log_ratios_of_values
from scipy import stats

TRIALS = (
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232),
    (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
)  # fmt: skip
"""The 13 trials of BCG vaccine of Colditz et al., JAMA 271 (1994) 698: ill and not, vaccinated and not."""


def machines(table) -> dict[str, dict[int, Range]]:
    """Return exact log-ratios, machines x seeds, in the form that is pooled."""
    return {
        f"m{m}": {s: Range(v, v, v) for s, v in enumerate(map(float, row)) if not math.isnan(v)}
        for m, row in enumerate(table)
    }


def reference(means, variances):
    """Return mean, Hartung-Knapp error, DerSimonian-Laird tau^2 and I^2, in matrix form."""
    y, v = np.asarray(means), np.asarray(variances)
    k, one, w = len(y), np.ones(len(y)), np.diag(1 / v)
    projection = w - w @ np.outer(one, one) @ w / (one @ w @ one)
    q = y @ projection @ y
    tau2 = max(0.0, (q - (k - 1)) / np.trace(projection))
    total = np.linalg.inv(np.diag(v + tau2))
    mean = (one @ total @ y) / (one @ total @ one)
    error = np.sqrt((y - mean) @ total @ (y - mean) / (k - 1) / (one @ total @ one))
    return mean, error, tau2, max(0.0, (q - (k - 1)) / q)


def test_published_trials_give_the_published_figures():
    """Viechtbauer, J. Stat. Softw. 36 (2010), and the manual of metafor: DerSimonian-Laird on log risk ratios."""
    sides = [(a / (a + b), c / (c + d), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)) for a, b, c, d in TRIALS]
    found = random_effects([math.log(x / y) for x, y, _ in sides], [v for *_, v in sides])
    assert found.mean == pytest.approx(-0.7141, abs=5e-5)
    assert found.tau2 == pytest.approx(0.3088, abs=5e-5)
    assert found.i2 == pytest.approx(0.9212, abs=5e-5)


@pytest.mark.parametrize("k", [2, 3, 12])
def test_random_effects_agree_with_their_matrix_form(k):
    random = np.random.default_rng(k)
    for spread in (0.0, 0.05, 1.0):
        variances = random.uniform(0.01, 0.2, k)
        means = spread * random.standard_normal(k) + np.sqrt(variances) * random.standard_normal(k)
        found = random_effects(means.tolist(), variances.tolist())
        assert (found.mean, found.error, found.tau2, found.i2) == pytest.approx(reference(means, variances))


def test_one_estimate_has_no_random_effect():
    with pytest.raises(ValueError, match="at least two estimates, but there are 1"):
        random_effects([0.1], [0.2])


@pytest.mark.parametrize(("k", "n"), [(2, 5), (3, 3), (6, 4)])
def test_a_pooled_interval_agrees_with_the_analysis_of_variance(k, n):
    """A two-way layout without repetition, from its sums of squares in NumPy."""
    random = np.random.default_rng(n)
    table = 0.4 + 0.2 * random.standard_normal((k, 1)) + 0.1 * random.standard_normal((1, n))
    table = table + 0.1 * random.standard_normal((k, n))
    y, z, mean = table.mean(1), table.mean(0), table.mean()
    residual = ((table - y[:, None] - z + mean) ** 2).sum() / ((k - 1) * (n - 1))
    tau2 = max(0.0, y.var(ddof=1) - residual / n)
    variance = stats.sem(y) ** 2 + stats.sem(z) ** 2
    degrees = min(k, n) - 1
    low, high = stats.t.interval(0.95, degrees, mean, math.sqrt(variance))
    found = pooled(machines(table))
    assert (found.ratio, found.low, found.high) == pytest.approx(tuple(np.exp([mean, low, high])))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean) / math.sqrt(variance), degrees))
    assert found.tau2 == pytest.approx(tau2)
    assert found.i2 == pytest.approx(tau2 / (tau2 + residual / n))
    if k == 2:
        assert found.predicted_low is None
        assert found.predicted_high is None
    else:
        ends = stats.t.interval(0.95, min(k - 2, n - 1), mean, math.sqrt(tau2 + variance))
        assert (found.predicted_low, found.predicted_high) == pytest.approx(tuple(np.exp(ends)))


def test_one_machine_is_not_pooled_and_has_the_interval_of_its_own_verdict():
    slow = {s: Crossing(9.0 + s, 10.0 + s) for s in range(5)}
    fast = {s: Crossing(4.0 + s / 3, 5.0 + s / 3) for s in range(5)}
    found, alone = pooled({"a": log_ratios(slow, fast)}), compare(slow, fast)
    assert (found.machines, found.seeds, found.tau2, found.predicted_low) == (1, 5, None, None)
    assert (found.claim, found.ratio, found.low, found.high) == (alone.claim, alone.ratio, alone.low, alone.high)
    assert found.p == pytest.approx(alone.p)


def test_two_machines_that_disagree_say_so():
    """Closed form: without noise the error is half of the difference, and t has one degree of freedom."""
    found = pooled(machines([[0.5] * 3, [0.7] * 3]))
    half = stats.t.ppf(0.975, 1) * 0.1
    assert (found.low, found.high) == pytest.approx((math.exp(0.6 - half), math.exp(0.6 + half)))
    assert found.tau2 == pytest.approx(0.02)
    assert found.i2 == pytest.approx(1)
    assert found.claim == "not shown"


def test_what_a_seed_does_on_all_machines_does_not_average_out():
    """Machines that agree in every digit are no more evidence than one of them."""
    row = [0.1, 0.3, 0.35, 0.6, 0.2]
    alone, found = pooled(machines([row])), pooled(machines([row] * 8))
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert found.tau2 == 0


def test_the_grain_of_evaluations_does_not_average_out():
    """Closed form: all values lie anywhere in one range, on every machine."""
    logs = {s: Range(0.2, 0.5, 0.4) for s in range(5)}
    found = pooled({name: logs for name in "abcdef"})
    half = stats.t.ppf(0.975, 4) * math.sqrt(0.3**2 / 12 / 5)
    assert (found.low, found.high) == pytest.approx((math.exp(0.2 - half), math.exp(0.5 + half)))


def test_a_bound_on_one_machine_makes_the_pooled_ratio_a_bound():
    exact = {s: Range(v, v, v) for s, v in enumerate((1.0, 1.1, 0.9))}
    bound = {s: Range(v, v, v, open_above=True) for s, v in enumerate((1.0, 0.9, 1.05))}
    found = pooled({"a": exact, "b": bound, "c": exact})
    assert found.claim == "at least"
    assert found.low > 1
    assert (found.high, found.tau2, found.predicted_high) == (None, None, None)
    other = {s: Range(v, v, v, open_below=True) for s, v in enumerate((1.0, 0.9, 1.05))}
    found = pooled({"a": exact, "b": bound, "c": other})
    assert (found.claim, found.ratio, found.low, found.high) == ("not shown", None, None, None)


def test_seeds_that_not_all_machines_have_and_machines_with_two_pairs_are_left_out():
    full = log_ratios_of_values({s: 2.0 + s / 10 for s in range(5)}, dict.fromkeys(range(5), 1.0))
    three = {s: full[s] for s in (0, 1, 2)}
    found = pooled({"a": full, "b": three, "c": {0: full[0], 1: full[1]}})
    assert (found.machines, found.seeds, found.left_out) == (2, 3, 1)
    assert found.ratio == pytest.approx((2.0 * 2.1 * 2.2) ** (1 / 3))
    apart = {s + 10: log for s, log in full.items()}
    assert (pooled({"a": full, "b": apart}).claim, pooled({}).claim) == ("no claim", "no claim")


def test_pooled_ratios_are_corrected_for_their_number():
    row = log_ratios_of_values(dict(enumerate((1.4, 1.5, 1.3))), dict.fromkeys(range(3), 1.0))
    verdict = compare_values(dict(enumerate((1.4, 1.5, 1.3))), dict.fromkeys(range(3), 1.0))
    assert verdict.claim == "faster"
    one = pooled({"a": row})
    found = holm_pooled({n: one for n in range(9)} | {"none": pooled({})})
    assert found[0].p_adjusted == pytest.approx(9 * one.p)
    assert (found[0].claim, found[0].comparisons, found["none"].claim) == ("not shown", 9, "no claim")


@pytest.mark.parametrize(("tau", "common", "own"), [(0.0, 0.1, 0.02), (0.1, 0.1, 0.1), (0.3, 0.0, 0.1)])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_intervals_hold_the_true_mean_of_machines(k, tau, common, own):
    """Five seeds that do something on all machines alike; some machines are ten times as noisy as others."""
    random, times, seeds = np.random.default_rng(k), 400, 5
    noise = own * random.uniform(0.3, 3, (k, 1))
    held = predicted = 0
    for _ in range(times):
        table = 0.4 + tau * random.standard_normal((k, 1)) + common * random.standard_normal(seeds)
        found = pooled(machines(table + noise * random.standard_normal((k, seeds))))
        held += found.low <= math.exp(0.4) <= found.high
        if k > 2:
            further = math.exp(0.4 + tau * random.standard_normal())
            predicted += found.predicted_low <= further <= found.predicted_high
    least = 0.95 - 3.3 * math.sqrt(0.95 * 0.05 / times)
    assert held / times > least
    if k > 2:
        assert predicted / times > least - 0.01, "tau^2 is estimated from few machines"
