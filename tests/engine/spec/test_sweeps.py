"""Sweeps: what they stand for, by the product of their values, and where their faults are."""

import itertools

import pytest
from hooke.catalogue.validation import parse_experiment, validate_experiment
from hooke.errors import SpecError
from hooke.spec.specification import MAX_VARIANTS, fingerprint

from tests.engine.spec.test_experiment import assert_leads_into

LOCAL = {"name": "Local SGD", "algorithm": "local-sgd"}
DOCUMENT = {
    "name": "swept",
    "workload": {"name": "digits-mlp"},
    "variants": [LOCAL],
    "baseline": "Local SGD",
    "clusters": [{"name": "local", "workers": [2]}],
    "budget": {"samples": 1000},
    "evaluation": {"every": 100},
}


def swept(sweep, **more):
    return DOCUMENT | {"variants": [{"name": "first", "algorithm": "sync-sgd"}, LOCAL | {"sweep": sweep} | more]}


def test_a_variant_for_each_combination():
    """The same document as one in which all are written out by hand."""
    found = validate_experiment(swept({"period": [4, 16, 64], "lr": [0.1, 0.2]}, parameters={"momentum": 0.5}))
    by_hand = [
        LOCAL | {"name": f"Local SGD (period {p}, lr {r})", "parameters": {"momentum": 0.5, "period": p, "lr": r}}
        for p, r in itertools.product([4, 16, 64], [0.1, 0.2])
    ]
    first = {"name": "first", "algorithm": "sync-sgd"}
    written = DOCUMENT | {"variants": [first, *by_hand], "baseline": "Local SGD (period 4, lr 0.1)"}
    assert fingerprint(found) == fingerprint(validate_experiment(written))
    assert "sweep" not in str(found.model_dump(mode="json"))


def test_values_that_are_no_numbers_have_names():
    found = validate_experiment(swept({"momentum_kind": ["heavy-ball", "nesterov"]}))
    assert [each.name for each in found.variants[1:]] == [
        "Local SGD (momentum_kind heavy-ball)",
        "Local SGD (momentum_kind nesterov)",
    ]


@pytest.mark.parametrize(
    ("document", "pointer", "words"),
    [
        (swept({"period": []}), "/variants/1/sweep/period", "at least 1 item"),
        (swept({"period": [4, 4.0]}), "/variants/1/sweep/period/1", "listed twice"),
        (swept({"period": [4, 0]}), "/variants/1/sweep/period/1", "greater than"),
        (swept({"speed": [1]}), "/variants/1/sweep/speed/0", "unknown here"),
        (swept({"period": [4]}, parameters={"period": 8}), "/variants/1/sweep/period", "one or the other"),
        (swept({"lr": [0.1]}, search={"lr": None}), "/variants/1/sweep/lr", "sweep or search it"),
        (swept({"lr": [0.1, 0.2]}, name="n" * 112), "/variants/1/name", "more than 120 characters"),
        (swept({"lr": [0.1, 0.2]}, algorithm="unheard-of"), "/variants/1/algorithm", "no algorithm is called"),
        (swept({"lr": [0.1, 0.2]}) | {"baseline": "other"}, "/baseline", "no variant has this name"),
        (
            swept({"lr": [k / 1000 for k in range(1, 21)], "period": list(range(1, 11))}),
            "/variants",
            f"201 variants, those of sweeps included; at most {MAX_VARIANTS}",
        ),
    ],
)
def test_faults_are_told_where_they_are_in_the_document(document, pointer, words):
    with pytest.raises(SpecError) as caught:
        validate_experiment(document)
    assert any(fault.pointer == pointer and words in fault.message for fault in caught.value.faults), caught.value
    assert len({(fault.pointer, fault.message) for fault in caught.value.faults}) == len(caught.value.faults)
    for fault in caught.value.faults:
        assert_leads_into(document, fault.pointer)


def test_a_document_without_sweeps_keeps_its_fingerprint():
    assert "sweep" not in parse_experiment(DOCUMENT).model_dump(mode="json")["variants"][0]


def test_messages_of_the_validator_begin_with_what_is_wrong():
    document = DOCUMENT | {"variants": [LOCAL | {"search": {"lr": {"low": 2, "high": 1}}}], "tuning": {}}
    with pytest.raises(SpecError) as caught:
        validate_experiment(document)
    assert [fault.message for fault in caught.value.faults] == ["`low` must be less than `high`"]
