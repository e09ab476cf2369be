"""The fastest variant of a place, against t tests whose p values have a closed form."""

import math
import statistics

import pytest
from hooke.comparison.effort import Effort
from hooke.comparison.figures import RunFigures
from hooke.comparison.report import report
from hooke.spec.specification import Target
from hooke.spec.states import RunState

TARGET = Target(metric="validation_accuracy", value=0.9)
BASE = [10.2, 11.9, 9.7, 12.4, 10.8]
HALF = [5.1, 5.95, 4.8, 6.3, 5.3]
NOISY = [4.1, 8.2, 5.6, 4.9, 7.0]
SLOW = [20.1, 24.2, 19.0, 25.3, 21.1]


def runs(**times: list[float | None]) -> list[RunFigures]:
    """Return runs whose times to the target, by seed, are known exactly; None: it was missed."""
    return [
        RunFigures(
            variant=variant,
            algorithm="sgd",
            cluster="local",
            workers=2,
            servers=0,
            seed=seed,
            simulated=False,
            state=RunState.SUCCEEDED,
            clock=50.0 if time is None else time,
            time_to_target=time,
            target_after=time,
        )
        for variant, found in times.items()
        for seed, time in enumerate(found)
    ]


def fastest(**times):
    (found,) = report(runs(**times), "base", TARGET, Effort()).fastest
    return found


def p_value(above: list[float], below: list[float]) -> float:
    """Return the two-sided p value of a paired t test of logarithms over five seeds: four degrees of freedom."""
    logs = [math.log(a / b) for a, b in zip(above, below, strict=True)]
    t = abs(statistics.fmean(logs)) / (statistics.stdev(logs) / math.sqrt(5))
    angle = math.atan(t / 2)
    return 1 - math.sin(angle) * (1 + math.cos(angle) ** 2 / 2)


def test_it_has_the_largest_speed_up_and_names_who_may_be_as_fast():
    found = fastest(base=BASE, half=HALF, noisy=NOISY, slow=SLOW)
    ratios = {
        name: statistics.geometric_mean(BASE) / statistics.geometric_mean(t)
        for name, t in {"half": HALF, "noisy": NOISY, "slow": SLOW}.items()
    }
    assert found.variant == max(ratios, key=lambda name: ratios[name]) == "half"
    assert found.verdict.ratio == pytest.approx(ratios["half"])
    assert p_value(BASE, HALF) < 0.05 / 3 and p_value(SLOW, HALF) < 0.05 / 3
    assert p_value(NOISY, HALF) > 0.05
    assert found.unseparated == ("noisy",)


def test_what_would_be_shown_alone_is_not_after_the_correction_for_all_pairs():
    close = [5.6, 6.3, 4.95, 6.45, 5.9]
    assert 0.05 / 3 < p_value(close, HALF) < 0.05
    assert fastest(base=BASE, half=HALF, close=close).unseparated == ()  # one pair besides the baseline
    again = [time * factor for time, factor in zip(close, (1.01, 0.97, 1.02, 0.98, 1.01), strict=True)]
    third = [time * 1.001 for time in again]
    assert "close" in fastest(base=BASE, half=HALF, close=close, again=again, third=third).unseparated


def test_one_that_is_shown_to_be_faster_comes_before_one_that_only_may_be():
    """`wild` has three times the speed in the mean, and nothing is shown of it."""
    wild = [0.8, 30.0, 2.0, 9.0, 1.5]
    assert statistics.geometric_mean(BASE) / statistics.geometric_mean(wild) > 2.5
    assert p_value(BASE, wild) > 0.1
    found = fastest(base=BASE, half=HALF, wild=wild)
    assert (found.variant, found.verdict.claim, found.unseparated) == ("half", "faster", ("wild",))
    assert fastest(base=BASE, wild=wild, noisy=[time * 1.9 for time in NOISY]).variant == "wild"


def test_it_is_the_baseline_where_no_ratio_is_above_one():
    found = fastest(base=HALF, slow=SLOW, noisy=[time * 1.3 for time in NOISY])
    assert found.variant == "base" and found.verdict.claim == "baseline"
    assert found.unseparated == ("noisy",)


def test_a_baseline_that_misses_the_target_leaves_a_bound():
    found = fastest(base=[None, 40.0, None, 41.0, None], half=HALF)
    assert (found.variant, found.verdict.claim, found.unseparated) == ("half", "at least", ())


def test_a_variant_of_which_no_bound_is_known_may_be_as_fast():
    """`sprints` is twenty times as fast, but missed the target with a seed with which the baseline did, too."""
    base = [10.2, 11.9, 9.7, None, None]
    sprints = [0.5, 0.6, 0.5, 0.6, None]
    half = [*HALF[:3], 24.0, 26.0]
    unknown = report(runs(base=base, sprints=sprints), "base", TARGET, Effort()).rows[1].verdict
    assert (unknown.claim, unknown.ratio, unknown.pairs) == ("not shown", None, 4)
    found = fastest(base=base, half=half, sprints=sprints)
    assert (found.variant, found.verdict.claim) == ("half", "at least")
    assert found.unseparated == ("sprints",)
    slow = fastest(base=base, slow=[*SLOW[:3], 105.0, 95.0], sprints=sprints)
    assert "sprints" in slow.unseparated


@pytest.mark.parametrize("times", [{"base": BASE[:2], "half": HALF[:2]}, {"half": HALF}, {"base": BASE}])
def test_nothing_is_said_without_three_pairs(times):
    assert fastest(**times) is None


def test_a_mean_time_is_geometric_and_only_where_every_seed_has_one():
    rows = report(runs(base=BASE, half=HALF, missed=[*HALF[:4], None]), "base", TARGET, Effort()).rows
    base, half, missed = (row.time_to_target for row in rows)
    assert half.mean == pytest.approx(math.prod(HALF) ** 0.2)
    assert base.mean / half.mean == pytest.approx(rows[1].verdict.ratio)
    assert missed.mean is None and missed.median == pytest.approx(statistics.median([*HALF[:4], 99.0]))
