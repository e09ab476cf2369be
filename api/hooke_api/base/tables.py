"""Tables as CSV (RFC 4180), sent while they are read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from starlette.responses import StreamingResponse


class CsvAnswer(StreamingResponse):
    """A table in parts."""

    media_type = "text/csv"


def csv_answer(parts: Iterator[str], name: str) -> CsvAnswer:
    """Return a table as it is read; browsers save it under its name, which is ASCII."""
    return CsvAnswer(parts, headers={"content-disposition": f'attachment; filename="{name}"'})


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as lines. Empty: None, NaN and Inf. Times are ISO 8601; objects and lists are JSON."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return ""
        case datetime():
            return value.isoformat()
        case dict() | list():
            return json.dumps(value, sort_keys=True)
        case _:
            return value
