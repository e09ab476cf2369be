"""The table of an audit, and its last line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from audit.judge import GROWS, Row
from audit.wrong import Wrong

HEAD = (
    "method", "settings", "world", "P", "center", "weights", "points", "missing", "tolerance", "same bits",
    "clock - work", "off clock", "",
)  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:.2f} ms"


def cells(row: Row) -> tuple[str, ...]:
    """Return one line of the table."""
    case = row.case
    differences = map(_number, (row.center, row.weights, row.points, row.missing))
    seconds = map(_milliseconds, (row.margin, row.off_clock))
    verdict = f"{len(row.faults)} FAULTS" if row.faults else "not begun" if row.late else "ok"
    tolerance = _number(row.tolerance or None)
    world = "virtual (simulated time)" if row.world == "virtual" else "MPI"
    head = (case.method, case.title, world, str(case.workers))
    return (*head, *differences, tolerance, ", ".join(row.equal), *seconds, verdict)


def line(row: Row) -> str:
    """Return one line on a run that has been compared with its equations."""
    case, worst = row.case, _number(_worst(row)) or "clocks alone"
    told = f"{case.method} {case.title}, {row.world}, P={case.workers}: {worst} of {_number(row.tolerance)}"
    return "\n    ! ".join([told, *row.faults])


def records(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows for JSON: differences relative to the largest element, seconds, faults."""
    return [
        {
            "method": row.case.method,
            "settings": row.case.title,
            "world": row.world,
            "workers": row.case.workers,
            "device": row.case.device,
            "center": row.center,
            "weights": row.weights,
            "points": row.points,
            "missing": row.missing,
            "tolerance": row.tolerance,
            "growth": row.growth,
            "same_bits": row.equal,
            "clock_minus_work": row.margin,
            "off_clock": row.off_clock,
            "begun": not row.late,
            "faults": row.faults,
        }
        for row in rows
    ]


def table(rows: Iterable[Row]) -> str:
    """Return the table with a header, with faults below their rows."""
    lines = [(HEAD, []), *((cells(row), row.faults) for row in rows)]
    widths = [max(len(line[k]) for line, _ in lines) for k in range(len(HEAD))]
    text = []
    for line, faults in lines:
        text.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        text += [f"    ! {fault}" for fault in faults]
    return "\n".join(text)


def summary(
    rows: Sequence[Row], found: Sequence[tuple[Wrong, Row]], unknown: Sequence[str], seconds: float
) -> str:
    """Return the largest differences, the result on the deliberate errors, and the last line.

    `unknown`: methods that only the audit has; each is a fault.
    """
    lines = [f"largest relative difference: {_largest([row for row in rows if row.growth < GROWS])}"]
    for row in rows:
        if row.growth >= GROWS:
            where = f"{row.case.method} {row.case.title}, {row.world}"
            lines.append(
                f"rounding grows {row.growth:.0e} times: {where}: {_number(_worst(row))}, "
                f"tolerance {_number(row.tolerance)}"
            )
    lines.append(f"same bits: in {sum(len(row.equal) for row in rows)} comparisons")
    lines += [
        f"wrong on purpose: {wrong.case.method}, {wrong.mistake}: "
        + ("NOT FOUND" if row.faults else f"found ({_number(_worst(row))}, tolerance {_number(row.tolerance)})")
        for wrong, row in found
    ]
    lines += [f"    ! {fault}" for _, row in found for fault in row.faults]
    lines += [f"    ! {name}: the product has no such method" for name in unknown]
    faults = len(unknown) + sum(len(row.faults) for row in [*rows, *(row for _, row in found)])
    methods = len({row.case.method for row in rows})
    late = sum(row.late for row in rows)
    scope = f"{methods} methods, {len(rows) - late} runs, {seconds:.0f} s"
    scope += f"; {late} more were not begun in time" if late else ""
    lines.append(f"audit FAILED: {faults} faults ({scope})" if faults else f"audit passed: no fault ({scope})")
    return "\n".join(lines)


def _worst(row: Row) -> float | None:
    return max((d for d in (row.center, row.weights, row.points, row.missing) if d is not None), default=None)


def _largest(rows: Sequence[Row]) -> str:
    worst = [(difference, row.case.method) for row in rows if (difference := _worst(row)) is not None]
    return "{:.1e} ({})".format(*max(worst)) if worst else "not compared"
