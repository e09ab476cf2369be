"""Jitter of virtual gradients: what persists and what is common, and that a restart draws the same."""

import numpy as np
import pytest
from hooke.calibration.fitting import jitter
from hooke.catalogue.validation import validate_run
from hooke.loop.compute_time import ComputeTime

PARTS = {"compute_jitter": 0.1, "jitter_slow": 0.05, "jitter_common": 0.08, "jitter_between_ranks": 0.06}


def spec(seed=0, **virtual):
    return validate_run(
        {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": "sync-sgd"},
            "workers": 4,
            "seed": seed,
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5} | virtual,
            "batch": 10,
            "budget": {"samples": 1000},
            "evaluation": {"every": 1000},
        }
    )


def drawn(chosen, rank, steps):
    times = ComputeTime(chosen, rank)
    return [times.seconds() for _ in range(steps)]


def test_the_parts_that_are_drawn_are_those_that_are_asked_for():
    found = [jitter([drawn(spec(seed, **PARTS), rank, 640) for rank in range(4)]) for seed in range(20)]
    measured = {
        "compute_jitter": "independent",
        "jitter_slow": "slow",
        "jitter_common": "common",
        "jitter_between_ranks": "between_ranks",
    }
    for name, part in measured.items():
        assert np.mean([getattr(each, part) ** 2 for each in found]) ** 0.5 == pytest.approx(PARTS[name], rel=0.3)


def test_the_mean_is_that_of_the_specification():
    chosen = [spec(seed, compute_seconds_per_step=3e-4, **PARTS) for seed in range(30)]
    taken = [np.mean(drawn(each, 0, 320)) for each in chosen]
    assert np.mean(taken) == pytest.approx(10 * 1e-5 + 3e-4, rel=0.05)


def test_without_them_a_step_is_what_it_was():
    """The generator of earlier versions, and nothing else."""
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([0, 1, 1])))
    expected = [10 * 1e-5 * float(random.lognormal(-(0.05**2) / 2, 0.05)) for _ in range(5)]
    assert drawn(spec(), 1, 5) == expected


def test_no_rank_keeps_a_factor_that_all_ranks_have_for_some_steps():
    between = drawn(spec(compute_jitter=0.0, jitter_between_ranks=0.1), 4, 1)
    common = drawn(spec(compute_jitter=0.0, jitter_common=0.1, jitter_steps=1), 0, 64)
    assert not set(between) & set(common)


def test_a_restart_continues_the_draws():
    chosen = spec(jitter_steps=4, **PARTS)
    whole, first = drawn(chosen, 2, 20), ComputeTime(chosen, 2)
    for _ in range(7):
        first.seconds()
    second = ComputeTime(chosen, 2)
    second.restore(first.state(0), 0)
    assert [second.seconds() for _ in range(13)] == whole[7:]
