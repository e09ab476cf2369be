"""Beside the faults of the form all others are told, and none that only follows from what stands in."""

import copy
import time
from typing import Any

import pytest
from hooke.catalogue.validation import parse_experiment, validate_experiment
from hooke.errors import SpecError

from tests.engine.spec.documents import experiment, get, places

TUNED = experiment(
    variants=[
        {"name": "sync", "algorithm": "sync-easgd", "search": {"lr": {"low": 0.01, "high": 0.1}}},
        {"name": "sum", "algorithm": "sync-sgd", "sweep": {"lr": [0.1, 0.2]}},
    ],
    tuning={"trials": 4, "cluster": "local"},
)


def pointers(read: Any, document: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        read(document)
    return [fault.pointer for fault in caught.value.faults]


@pytest.mark.parametrize("document", [experiment(), TUNED], ids=["given", "tuned"])
@pytest.mark.parametrize("wrong", [[[]], "?\0", None], ids=["list", "text", "gone"])
def test_one_fault_of_the_form_is_told_alone(document, wrong):
    """Whatever place of a valid document is damaged so that its form is wrong."""
    validate_experiment(document)
    damages = 0
    for *path, last in filter(None, places(document)):
        damaged = copy.deepcopy(document)
        node = get(damaged, tuple(path))
        if wrong is None:
            del node[last]
        else:
            node[last] = wrong
        try:
            parse_experiment(damaged)
        except SpecError:
            damages += 1
            assert pointers(validate_experiment, damaged) == pointers(parse_experiment, damaged), (*path, last)
    assert damages >= 5


def test_all_faults_are_told_together():
    document = experiment(baseline="who", colour="red", budget={"samples": 0}, target={"value": 3})
    document["variants"][0]["parameters"]["lr"] = -1
    document["variants"][1]["algorithm"] = "nope"
    document["clusters"][0]["workers"] = [0, "auto"]
    assert set(pointers(validate_experiment, document)) == {
        "/colour",
        "/budget/samples",
        "/clusters/0/workers/0",
        "/variants/0/parameters/lr",
        "/variants/1/algorithm",
        "/baseline",
        "/target/value",
    }


def seconds(variants, fields):
    """Return the processor time of a validation in which every variant has fields that nobody knows."""
    strange = [{f"x{i}": 0 for i in range(fields)} for _ in range(variants)]
    before = time.process_time()
    with pytest.raises(SpecError) as caught:
        validate_experiment(experiment(variants=strange))
    assert len(caught.value.faults) > variants * fields
    return time.process_time() - before


def test_many_faults_take_time_in_proportion_to_their_number():
    """Eight times as many took 60 times as long, 5 s for 330 KB."""
    assert min(seconds(200, 160) for _ in range(2)) < 25 * min(seconds(25, 160) for _ in range(3))
    assert min(seconds(6, 160) for _ in range(2)) < 0.5, "below the number beyond which the rest is left"


@pytest.mark.parametrize("document", [None, [], "text", {}, {"variants": 3}])
def test_what_cannot_be_read_at_all_has_the_faults_of_its_form(document):
    assert pointers(validate_experiment, document) == pointers(parse_experiment, document)
