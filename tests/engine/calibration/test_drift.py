"""Drift between calibrations: what may be compared, and how often an unchanged machine is said to have changed."""

import math

import numpy as np
import pytest
from hooke.calibration.documents import Duration
from hooke.calibration.drift import drift, told
from hooke.calibration.fitting import estimate

from tests.engine.calibration.documents_for_tests import curve, made


def measured_on(random, slow):
    """Return a calibration whose figures are medians of three rounds; `slow`: deviation between rounds."""

    def duration():
        rounds = [math.exp(slow * random.standard_normal()) * random.lognormal(0, 0.02, 15) for _ in range(3)]
        return estimate([each.tolist() for each in rounds]).model_dump()

    base = made()
    curves = [
        each.model_copy(update={"points": [p.model_copy(update=duration()) for p in each.points]})
        for each in base.curves
    ]
    rates = [
        rate.model_copy(update={"points": [p.model_copy(update=duration()) for p in rate.points]})
        for rate in base.compute
    ]
    return base.model_copy(
        update={"curves": curves, "compute": rates, "start": Duration.model_validate(duration())}
    )


@pytest.mark.parametrize("slow", [0.0, 0.05, 0.15])
def test_an_unchanged_machine_shows_drift_in_one_of_twenty_cases_at_most(slow):
    """Rounds may differ by more than the samples of one: three of them tell their spread only roughly."""
    random = np.random.default_rng(5)
    alarms = sum(bool(drift(measured_on(random, slow), measured_on(random, slow))) for _ in range(60))
    assert alarms <= 6  # of 60; more than 6 have a probability of 3% if it is one of twenty


def test_a_changed_machine_does():
    random = np.random.default_rng(6)
    base = measured_on(random, 0.02)
    slower = base.model_copy(
        update={
            "curves": [
                each.model_copy(
                    update={"points": [p.model_copy(update={"seconds": 2 * p.seconds}) for p in each.points]}
                )
                for each in base.curves
            ]
        }
    )
    assert len(drift(base, slower)) >= 10
    said = drift(base, slower)[0].told()
    assert "2.00 times as long as before (the uncertainties explain factors from 0." in said


def test_other_numbers_of_ranks_are_not_compared():
    """An all-reduce of 8 ranks takes longer than one of 2: that is no drift."""
    larger = made(workers=8, curves=[curve("all-reduce", 9e-5, 9e-9, "tree"), curve("message", 9e-6, 9e-9)])
    assert drift(made(), larger) == []
    said = told(made(), larger)
    assert said[0] == "the number of workers was 2 and is 8: times are not compared"
    assert not any("times as long" in each or "no difference" in each for each in said)


def test_another_processor_of_the_same_name_is_told():
    one, other = ({"cpu": "Xeon", "cpu_generation": f"family 6 model {model}"} for model in (85, 143))
    said = told(made(hardware=one), made(hardware=other))
    assert "cpu generation was family 6 model 85 and is family 6 model 143" in said
