"""The interval of the best of several variants: it holds the truth as often as that of a single one."""

import math
import statistics

import numpy as np
import pytest
from hooke.comparison.crossing import Crossing
from hooke.comparison.effort import Effort
from hooke.comparison.fastest import FREE, chosen_interval
from hooke.comparison.headline import headlines
from hooke.comparison.report import report
from hooke.comparison.verdict import compare_all

from tests.engine.comparison.test_fastest import BASE, HALF, SLOW, TARGET, runs
from tests.engine.comparison.test_verdict_truths import most
from tests.engine.comparison.truths import Truth, groups

GROUPS = 300


def t4_below(t):
    """Return P(T <= t) of Student's t with 4 degrees of freedom, in closed form."""
    share = t / math.sqrt(4 + t * t)
    return 0.5 + 0.75 * (share - share**3 / 3)


@pytest.mark.parametrize(("variants", "seeds"), [(3, 5), (20, 5)])
def test_the_best_of_equal_variants_is_as_fast_as_its_interval_says(variants, seeds):
    """Of variants that are all 1.3 times as fast, and evaluated often, the one with the largest ratio."""
    missed, alone, rng = 0, 0, np.random.default_rng(variants + seeds)
    truth = Truth(seeds, 1.3, variants=variants, evaluations=2000)
    for baseline, others in groups(truth, GROUPS, rng):
        verdicts = compare_all(baseline, others)
        best = max(verdicts, key=lambda name, of=verdicts: of[name].ratio)
        low, high = chosen_interval(baseline, others[best], verdicts[best], variants)
        missed += not low <= 1.3 <= high
        alone += not verdicts[best].low <= 1.3 <= verdicts[best].high
    assert missed / GROUPS <= most(GROUPS)
    assert alone / GROUPS > 0.09 or variants == FREE, "without the correction"


def test_up_to_three_variants_have_the_interval_of_their_verdict():
    again = [time * factor for time, factor in zip(HALF, (1.02, 0.97, 1.03, 0.99, 1.01), strict=True)]
    (found,) = report(runs(base=BASE, half=HALF, again=again), "base", TARGET, Effort()).fastest
    assert found.among == 2 <= FREE
    assert (found.low, found.high) == (found.verdict.low, found.verdict.high)
    (slow,) = report(runs(base=HALF, slow=SLOW), "base", TARGET, Effort()).fastest
    assert (slow.variant, slow.among, slow.low) == ("base", 0, slow.verdict.low)


def test_beyond_the_interval_is_wider_by_the_quantiles_of_t_and_a_claim_stays_above_one():
    """Seven variants with the same noise in another order: none is told apart from another."""
    noise = [1.0, 1.02, 0.97, 1.03, 0.985, 1.015, 0.99]
    times = {f"v{k}": [time * noise[(k + seed) % 7] for seed, time in enumerate(HALF)] for k in range(7)}
    found = report(runs(base=BASE, **times), "base", TARGET, Effort())
    (best,) = found.fastest
    assert best.among == 7
    logs = [math.log(b / v) for b, v in zip(BASE, times[best.variant], strict=True)]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(5)
    t = (math.log(best.high) - mean) / error
    assert 2 * (1 - t4_below(t)) == pytest.approx(0.05 * FREE / 7)
    assert best.low == pytest.approx(math.exp(mean - t * error))
    assert best.low < best.verdict.low < best.verdict.high < best.high
    (line,) = headlines(found, "base", True, True)
    assert f"{best.variant}, 2.0× (" in line and ", as the best of 7), not separated from" in line
    base, half = ({seed: Crossing(time, time) for seed, time in enumerate(times)} for times in (BASE, HALF))
    assert chosen_interval(base, half, best.verdict, 10**9)[0] == 1.0


def test_one_that_is_shown_before_larger_ratios_has_the_interval_that_holds_for_any_choice():
    """It was chosen for its small spread: with 3 seeds, an error of 5% times 3 / k would be one of 6 to 9%."""
    wild = [0.1, 2.0, 0.3, 1.5, 0.2]
    times = {f"w{k}": [time * wild[(k + seed) % 5] for seed, time in enumerate(HALF)] for k in range(5)}
    again = [time * factor for time, factor in zip(HALF, [1.0, 1.02, 0.97, 1.03, 0.985], strict=True)]
    (best,) = report(runs(base=BASE, shown=again, **times), "base", TARGET, Effort()).fastest
    assert (best.variant, best.verdict.claim, best.among) == ("shown", "faster", 6)
    logs = [math.log(b / v) for b, v in zip(BASE, again, strict=True)]
    t = (math.log(best.high) - statistics.fmean(logs)) / (statistics.stdev(logs) / math.sqrt(5))
    assert 2 * (1 - t4_below(t)) == pytest.approx(0.05 / 6)
