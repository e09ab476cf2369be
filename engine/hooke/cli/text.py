"""Numbers and tables as plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hooke.errors import ArgumentError

_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys instead of showing them, and those that turn the direction of others."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i)?)?b?", re.IGNORECASE)


def plain(text: str) -> str:
    """Return a text without commands to the terminal that shows it: names and notes are those of other users."""
    return _COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text)


def problem(document: Any) -> str:
    """Return the sentences of an RFC 9457 problem, a line for each fault; empty for anything else."""
    if not isinstance(document, dict) or not isinstance(document.get("detail"), str):
        return ""
    detail, told = document["detail"], document.get("errors") or []
    more = [fault for fault in told if str(fault.get("message")) not in detail]
    return "\n  ".join([detail, *(f"{fault.get('pointer') or '/'}: {fault.get('message')}" for fault in more)])


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Return rows of equal length as aligned columns, two spaces between them."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join((indent + line).rstrip() for line in lines)


def seconds(value: float) -> str:
    """Return a duration with three significant digits and its unit."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value < 1000 * factor else f"{value:,.0f} s"
    return f"{value / 1e-6:.3g} us"


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.1f} %"


def size(count: float) -> str:
    """Return bytes in the largest unit that leaves at least one."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def bytes_in(text: str) -> int:
    """Return the number of bytes in a text such as `20GB`, `1.5TiB` or `4096`. Raises ArgumentError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ArgumentError(
            f"{text!r} is not a size: give a number of bytes, or one with a unit, such as 20GB or 20GiB"
        )
    number, prefix, binary = found.groups()
    power = 1 + "kmgt".index(prefix.lower()) if prefix else 0
    return round(float(number) * float(1024 if binary else 1000) ** power)


def moment(text: str | None) -> str:
    """Return a time of the API to the minute, or a dash for none."""
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M} UTC" if text else "-"
