"""The rebuild schedule against the sum that defines it."""

import math

import pytest
from hooke.errors import ArgumentError
from hooke.hashing.schedule import RebuildSchedule


@pytest.mark.parametrize(("first", "growth"), [(50, 0.1), (50, 0.0), (1, 0.02), (7, 1.5), (1, 0.0), (3, 1e-9)])
def test_rebuilds_follow_the_growing_sum(first, growth):
    schedule = RebuildSchedule(first, growth)
    steps, total = [], 0.0
    while total < 3000:
        total += first * math.exp(growth * len(steps))
        steps.append(math.floor(total + 1e-6))
    assert [step for step in range(steps[-1] + 1) if schedule.is_rebuild(step)] == steps
    later = iter(steps)
    expected = next(later)
    for step in range(steps[-1]):
        if step == expected:
            expected = next(later)
        assert schedule.next_after(step) == expected


def test_a_step_far_away_is_found_at_once():
    schedule = RebuildSchedule(50, 0.1)
    number = next(n for n in range(1000) if sum(50 * math.exp(0.1 * i) for i in range(n + 1)) > 10**12)
    assert schedule.until(10**12) == number


@pytest.mark.parametrize(("first", "growth"), [(0, 0.1), (50, -0.1), (50, math.inf), (50, math.nan)])
def test_impossible_schedules_are_refused(first, growth):
    with pytest.raises(ArgumentError, match="must be"):
        RebuildSchedule(first, growth)
