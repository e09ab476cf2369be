"""The page of predictions: errors, aims and remarks, from stored results."""

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.prediction import conditions
from benchmarks.prediction.page import page
from benchmarks.prediction.running import errors
from tests.engine.calibration.documents_for_tests import made


def row(predicted, measured, method="Sync SGD"):
    return {
        "method": method,
        "steps": 60,
        "predicted": {"step": predicted, "exposed": 0.30},
        "measured": [{"step": each, "exposed": 0.25} for each in measured],
    }


def place(name, *rows, **changes):
    document = made(**changes).model_dump(mode="json", by_alias=True)
    return {"place": name, "workload": "digits-mlp", "at": 1.8e9, "calibration": document, "methods": list(rows)}


def test_errors_are_relative_for_steps_and_differences_for_shares():
    found = errors(row(1.1e-3, [0.9e-3, 1.0e-3, 5.0e-3]))
    assert found["step"] == pytest.approx(0.1)
    assert found["exposed"] == pytest.approx(0.05)


def test_the_page_says_whether_the_aim_is_met_and_what_is_not_to_be_trusted():
    good = page([place("local", row(1.05e-3, [1e-3]))])
    assert "median error 5.0 %, worst 5.0 % (aim: 10 % and 25 %; met)" in good
    assert "| Sync SGD | 1.05 | 1 | +5 | 30 | 25 | +5 |" in good
    assert "simulated" in good
    assert "The longest of the runs" not in good
    several = page([place("local", row(1e-3, [1e-3, 1.3e-3]), row(1e-3, [1.1e-3, 1e-3]))])
    assert "exceeds the shortest by 20 % in the median, 30 % at most" in several
    bad = page([place("hosts-8", row(0.5e-3, [1e-3]), row(1e-3, [1e-3], "other"), load=4.0)])
    assert "not met" in bad
    assert "8 ranks share 2 cores" in bad
    assert "Load of the minute before the calibration: 4.0" in bad


def test_there_are_ten_methods_and_each_runs():
    assert len({method.algorithm for method in conditions.METHODS}) == 10
    for method in conditions.METHODS:
        for each in conditions.PLACES.values():
            validate_run(conditions.document(method, "digits-mlp", each.workers, 240))
