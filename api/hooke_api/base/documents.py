"""Experiments as request bodies: parsed by the engine's validator, described by its schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from hooke.catalogue.validation import parse_experiment
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec
from pydantic import PlainValidator


def storable(text: str) -> bool:
    """Return whether every database can store a text: no zero byte, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def storable_text(text: str) -> str:
    """Return program output as text that every database can store."""
    return text if storable(text) else "".join(c if storable(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _parse(document: Any) -> ExperimentSpec:
    faults = list(_unstorable(document))
    if faults:
        raise SpecError(faults)
    return parse_experiment(document)


def _unstorable(document: Any) -> Iterator[Fault]:
    pending: list[tuple[tuple[object, ...], Any]] = [((), document)]
    while pending:  # not recursive: a document may be nested as deeply as its parser allows
        path, value = pending.pop()
        if isinstance(value, str) and not storable(value):
            yield Fault(pointer(*path), "contains a zero byte or half of a surrogate pair")
        elif isinstance(value, list):
            pending += [((*path, i), item) for i, item in enumerate(value)]
        elif isinstance(value, dict):
            for name, item in value.items():
                if storable(name):
                    pending.append(((*path, name), item))
                else:
                    yield Fault(pointer(*path), "a name contains a zero byte or half of a surrogate pair")


@dataclass(frozen=True)
class Submitted:
    """An experiment as it was sent: validated in the thread of its endpoint, not on the event loop."""

    document: Any

    def spec(self) -> ExperimentSpec:
        """Return the experiment. Raises SpecError with a JSON Pointer for each fault of its form."""
        return _parse(self.document)


SubmittedExperiment = Annotated[Submitted, PlainValidator(Submitted, json_schema_input_type=ExperimentSpec)]
"""A request body with an experiment; `plan`, which knows the clusters, checks the names in it."""
