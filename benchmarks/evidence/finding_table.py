"""Findings as tables and as plain data, for the pages of the replication and of the co-design."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.evidence.claim import Finding, beside_paper, ratio, said
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.records import SIMULATED
from benchmarks.evidence.settings import of_claim
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import beside, table

COLUMNS = (
    "claim",
    "place",
    "simulated",
    "note",
    "paper",
    "ratio",
    "low",
    "high",
    "pairs",
    "p_adjusted",
    "comparisons",
    "verdict",
    "runs",
)
RULE = (
    "A ratio is a geometric mean over seeds with its 95% interval, by the rule that the dashboard uses "
    "(`hooke.comparison.verdict`): a time to the target is only known to lie between two evaluations; a "
    "run that did not meet the target gives a bound; a run that diverged never meets it; fewer than three pairs "
    "give no claim; verdicts are corrected for the number of comparisons on this page (Holm). Rates and periods "
    "are selected with a seed that is in no result. *Open*: the slower method may have a better rate than those "
    "tried. If it *diverges with other seeds*, the selected rate was the largest at which the tuning seed did not "
    "diverge; this is a fault of the search and no evidence against the method."
)


def ratios(view: View, found: Sequence[Finding], paper: bool) -> Iterable[str]:
    """Yield a table of findings, place by place; `paper`: with the paper's statements on the same methods."""
    header = (
        "claim",
        *(("paper",) if paper else ()),
        "where",
        "measured",
        *(("beside it",) if paper else ()),
        "verdict",
        "settings of both",
    )
    yield from table(header, (_line(view, finding, paper) for finding in found))


def _line(view: View, finding: Finding, paper: bool) -> tuple[str, ...]:
    where = PLACES[finding.place].title + beside(view.note(finding.place))
    claimed = finding.claim.paper
    measured = ratio(finding.verdict) if finding.verdict and finding.verdict.pairs else ""
    doubts = "" if finding.claim.pace else _crowded(view, finding)
    told = (where, f"{measured}{doubts}" if measured else "")
    settings = of_claim(view, finding.place, finding.claim) if measured and not finding.claim.pace else ""
    if not paper:
        return (finding.claim.what, *told, said(finding), settings)
    placed = beside_paper(finding.verdict, claimed) if finding.verdict else ""
    return (finding.claim.what, str(claimed or ""), *told, placed, said(finding), settings)


def _crowded(view: View, finding: Finding) -> str:
    """Return a warning if runs were oversubscribed at a place where others were not."""
    labels = (*finding.claim.variant, *finding.claim.baseline)
    return "; a server oversubscribed the cores" if any(view.crowded(finding.place, x) for x in labels) else ""


def plain(view: View, found: Iterable[Finding]) -> Iterable[dict[str, object]]:
    """Yield findings as plain data, each with the keys of its runs."""
    for finding in found:
        v = finding.verdict
        yield {
            "claim": finding.claim.what,
            "place": finding.place,
            SIMULATED: PLACES[finding.place].world == "virtual",
            "note": view.note(finding.place),
            "paper": str(finding.claim.paper or ""),
            **{name: _cut(getattr(v, name, None)) for name in ("ratio", "low", "high", "p_adjusted")},
            **{name: getattr(v, name, "") for name in ("pairs", "comparisons")},
            "verdict": said(finding),
            "runs": " ".join(dict.fromkeys(finding.keys)),
        }


def _cut(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def in_short(finding: Finding) -> str:
    """Return ratio and verdict in one cell."""
    measured = f"{ratio(finding.verdict)}: " if finding.verdict and finding.verdict.pairs else ""
    return f"{measured}{said(finding)}"
