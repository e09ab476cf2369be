"""What YAML has and JSON has not is told with its place."""

import json
import math
from datetime import date

import pytest
from hooke.cli.sendable import as_json
from hooke.errors import ArgumentError

LOOP: list[object] = []
LOOP.append(LOOP)


def test_a_document_is_sent_as_it_is():
    document = {"name": "\u00fc", "seeds": [1, 2.5, True, None], "a/b": {}}
    assert json.loads(as_json(document)) == document
    assert as_json(None) is None


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"target": {"value": math.nan}}, "^/target/value: nan is not a finite number$"),
        ({"a/b": [0, -math.inf]}, "^/a~1b/1: -inf is not a finite number$"),
        (math.inf, "^/: inf is not a finite number$"),
        ({"name": date(2026, 1, 2)}, "^/name: a date cannot be sent: write a text or a number$"),
        (LOOP, "nested deeper than 60 levels, or contains itself$"),
    ],
)
def test_what_json_has_not_is_told_with_its_place(document, said):
    with pytest.raises(ArgumentError, match=said):
        as_json(document)
