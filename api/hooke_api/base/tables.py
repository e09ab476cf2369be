"""Tables as CSV (RFC 4180), and other text, sent while it is read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from starlette.responses import StreamingResponse

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of formulas; numbers are no texts here."""


class CsvAnswer(StreamingResponse):
    """A table in parts."""

    media_type = "text/csv"


def csv_answer(parts: Iterator[str], name: str) -> CsvAnswer:
    """Return a table as it is read; browsers save it under its name, which is ASCII."""
    return CsvAnswer(parts, headers={"content-disposition": f'attachment; filename="{name}"'})


class TextAnswer(StreamingResponse):
    """A text in parts."""

    media_type = "text/plain"


class JsonAnswer(StreamingResponse):
    """A JSON document in parts."""

    media_type = "application/json"


def text_answer(parts: Iterator[str], name: str) -> TextAnswer:
    """Return a text as it is read; browsers save it under its name, which is ASCII."""
    return TextAnswer(parts, headers={"content-disposition": f'attachment; filename="{name}"'})


def json_answer(parts: Iterator[str], name: str) -> JsonAnswer:
    """Return a document as it is made; browsers save it under its name, which is ASCII."""
    return JsonAnswer(parts, headers={"content-disposition": f'attachment; filename="{name}"'})


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as lines. Empty: None, NaN and Inf. Times are ISO 8601; objects and lists are JSON.

    A text that a spreadsheet would read as a formula has an apostrophe before it, as in exports of the dashboard.
    """
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case dict() | list():
            return json.dumps(value, sort_keys=True)
        case str() if value.startswith(_FORMULA):
            return f"'{value}"
        case _:
            return value
