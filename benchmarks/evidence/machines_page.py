"""The page of all machines: every ratio on each of them, and pooled."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.finding_table import in_short
from benchmarks.evidence.pools import PooledFinding
from benchmarks.evidence.summary import Summary
from benchmarks.evidence.wording import processor, table

POOLING = (
    "Ratios are formed on one machine each, and pooled over kinds of machines by random effects: tau² of "
    "DerSimonian and Laird, interval of Hartung and Knapp, with a term for seeds, which all machines share "
    "([rule](../decisions/0035-pooling-over-machines.md)). I² is the share of variation between machines that "
    "seeds and chance do not explain; the ratio of a *further kind* of machine is expected in the prediction "
    "interval. Seconds are never pooled, nor are simulated ratios."
)
ONE = (
    "The paper's methods were measured on one kind of machine: nothing is pooled, and nothing is known of these "
    "ratios on other kinds."
)


def page(summary: Summary) -> Iterable[str]:
    """Yield the lines of the page."""
    yield "# Every ratio, by machine"
    yield ""
    yield from pooling(summary)
    yield ""
    header = ["ratio", *(f"{processor(v)}, {v.matrix.precision}" for v in summary.views.values())]
    several = len(summary.views) > 1
    if several:
        header += ["pooled", "tau², I²", "further kind"]
    lines = []
    for finding in summary.replication:
        each = [in_short(found) if found else "not measured" for found in map(finding.findings.get, summary.views)]
        lines.append(
            (f"{finding.claim.what}, {finding.where}", *each, *(pooled_cells(finding) if several else ()))
        )
    yield from table(header, lines)


def pooling(summary: Summary) -> Iterable[str]:
    """Yield what the reader has to know of pooling: nothing of it with one machine."""
    yield ONE if len(summary.views) == 1 else POOLING


def pooled_cells(finding: PooledFinding) -> tuple[str, str, str]:
    """Return a pooled ratio with its verdict, the variation of machines, and the prediction interval."""
    found = finding.pooled
    if found.machines < 2:
        simulated = PLACES[finding.place].world == "virtual"
        why = "simulated: not pooled" if simulated else "one kind: not pooled"
        why = why if found.machines else "not measured"
        return why, "", ""
    varied = "" if found.tau2 is None or found.i2 is None else f"{found.tau2:.2g}, {found.i2:.0%}"
    ends = (found.predicted_low, found.predicted_high)
    further = f"[{ends[0]:.2f}, {ends[1]:.2f}]" if ends[0] is not None and ends[1] is not None else ""
    counted = f"{found.machines} kinds, n = {found.seeds}"
    said = f": {finding.said}" if finding.said else ""
    return f"{finding.text}, {counted}{said}", varied, further
