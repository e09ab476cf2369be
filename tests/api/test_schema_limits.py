"""Schemas of users' files, which are programs: what they may cost, and when they are evaluated."""

import functools
from contextlib import contextmanager

import pytest
from hooke.catalogue.discovery import built_in
from hooke_api.clusters.catalogues import Reported
from hooke_api.clusters.schema_limits import MOST_COST, _Size, schema_fault
from jsonschema import Draft202012Validator

from tests.api.test_catalogues import lab, mine

__all__ = ["lab"]


def multiplied(depth, times):
    """Return a schema of `depth` definitions, of which each refers so many times to the next one."""
    deeper = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * times} for i in range(depth)}
    return {"$defs": deeper | {f"d{depth}": {"type": "object"}}, "$ref": "#/$defs/d0"}


def doubling(depth):
    return multiplied(depth, 2)


def nested(depth):
    return {"properties": {"a": nested(depth - 1)}} if depth else {}


EXCESSIVE = {
    "references that double": (doubling(16), "nested deeper than 24 levels"),
    "references that multiply": (multiplied(4, 12), "evaluated in more than 5000 steps"),
    "many references": ({"anyOf": [{"$ref": "#/$defs/a"}] * 300, "$defs": {"a": {}}}, "more than 200 references"),
    "a circle": ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "refers to itself"),
    "another document": ({"$ref": "http://127.0.0.1:9/schema.json"}, "refers to another document"),
    "nothing": ({"$ref": "#/$defs/a"}, "refers to what it does not have"),
    "depth": (nested(20), "nested deeper than 24 levels"),
    "size": ({"description": "x" * 70_000}, "more than 64 KiB"),
    "oneOf in oneOf": (
        functools.reduce(lambda inner, _: {"oneOf": [inner]}, range(12), {}),
        "more than 5000 steps",
    ),
    "a slow pattern": ({"properties": {"rate": {"pattern": "^(a+)+$"}}}, "a pattern that may take long"),
    "a moved reference": ({"$id": "http://x/", "$ref": "#"}, "uses $id"),
    "no schema": ({"properties": {"rate": {"type": "no such type"}}}, "is invalid"),
}


@pytest.mark.parametrize("name", EXCESSIVE)
def test_a_schema_that_would_cost_too_much_is_a_fault_and_never_evaluated(name, monkeypatch):
    schema, why = EXCESSIVE[name]
    plain = Draft202012Validator.iter_errors

    def watched(validator, instance):
        assert validator.schema != schema, "the schema was evaluated"
        return plain(validator, instance)

    monkeypatch.setattr(Draft202012Validator, "iter_errors", watched)
    _, (fault,) = Reported({"schema": schema}).resolve({"rate": 1}, "variants", 0, "parameters")
    assert fault.pointer == "/variants/0"
    assert why in fault.message


def test_schemas_of_what_is_built_in_are_far_below_the_limits():
    for kind in ("algorithm", "workload"):
        for item in built_in(kind).values():
            assert schema_fault(item.description["schema"]) is None
            assert _Size(item.description["schema"])._cost(item.description["schema"], 0) < MOST_COST / 5


def test_a_reference_that_is_followed_is_still_evaluated():
    schema = {
        "$defs": {"rate": {"type": "number", "maximum": 1}},
        "properties": {"rate": {"$ref": "#/$defs/rate"}},
    }
    (fault,) = Reported({"schema": schema}).resolve({"rate": 2}, "variants", 0, "parameters")[1]
    assert fault.pointer == "/variants/0/parameters/rate"
    many = Reported({"schema": schema}).resolve({"rate": list(range(2000))}, "variants", 0, "parameters")[1]
    assert [fault.message for fault in many] == ["more than 1000 values"]


def test_nothing_is_validated_while_other_writers_wait(lab, monkeypatch):
    writing = []
    plain = lab.database.write

    @contextmanager
    def watched():
        with plain() as session:
            writing.append(True)
            yield session
            writing.pop()

    evaluated = Draft202012Validator.iter_errors

    def evaluate(validator, instance):
        assert not writing, "a schema was evaluated inside the transaction"
        return evaluated(validator, instance)

    monkeypatch.setattr(lab.database, "write", watched)
    monkeypatch.setattr(Draft202012Validator, "iter_errors", evaluate)
    assert lab.client.post("/experiments", json=mine(rate=0.5)).status_code == 201
    assert lab.client.post("/experiments", json=mine(rate=0)).status_code == 422
