"""Experiments as request bodies: validated by the engine's one validator, described by its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from hooke.errors import Problem, SpecError
from hooke.expand import pointer, validate_experiment
from hooke.spec import ExperimentSpec
from pydantic import PlainValidator


def storable(text: str) -> bool:
    """Return whether every database can store a text: no zero byte, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _validate(document: Any) -> ExperimentSpec:
    problems = list(_unstorable(document))
    if problems:
        raise SpecError(problems)
    return validate_experiment(document)


def _unstorable(document: Any) -> Iterator[Problem]:
    pending: list[tuple[tuple[object, ...], Any]] = [((), document)]
    while pending:  # not recursive: a document may be nested as deep as its parser allows
        path, value = pending.pop()
        if isinstance(value, str) and not storable(value):
            yield Problem(pointer(*path), "contains a zero byte or half of a surrogate pair")
        elif isinstance(value, list):
            pending += [((*path, i), item) for i, item in enumerate(value)]
        elif isinstance(value, dict):
            for name, item in value.items():
                if storable(name):
                    pending.append(((*path, name), item))
                else:
                    yield Problem(pointer(*path), "a name contains a zero byte or half of a surrogate pair")


SubmittedExperiment = Annotated[ExperimentSpec, PlainValidator(_validate, json_schema_input_type=ExperimentSpec)]
"""The body of a request that carries an experiment; faults become SpecError, each with its JSON Pointer."""
