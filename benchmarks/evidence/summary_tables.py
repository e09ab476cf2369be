"""The tables of the summary: one for each question. Seconds of two machines never share a column."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.evidence import spread
from benchmarks.evidence.claim import Claim
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.methods import BEST, DDP_OVERLAP, EASGD3, ORIGINAL, PAIRS, seldom
from benchmarks.evidence.paces import PACES
from benchmarks.evidence.pools import PooledFinding
from benchmarks.evidence.records import Run
from benchmarks.evidence.replication import EXPOSED
from benchmarks.evidence.settings import settings_of
from benchmarks.evidence.summary import OUTCOMES, Efficiency, Share, Summary, outcome, time_of
from benchmarks.evidence.view import STAR, View
from benchmarks.evidence.wording import seconds, table

SHOWN = tuple(m.label for m in (ORIGINAL, EASGD3, PAIRS[0][0], seldom(PAIRS[0][0]), BEST, DDP_OVERLAP))
"""Methods in the table of communication; the figure has all."""


def times(summary: Summary) -> Iterable[str]:
    """Yield the time to the target of each method that was measured, and the origin of its settings."""
    columns = [
        (name, place)
        for name, view in summary.views.items()
        for place in view.matrix.places
        if any(view.reported(place, label) for label in view.matrix.at(place))
    ]
    views = summary.views
    header = ("method", "settings", *(f"{_place(summary, *column)}, {seconds(column[1])}" for column in columns))
    rows = []
    for label in dict.fromkeys(x for name, place in columns for x in views[name].matrix.at(place)):
        there = [(name, place) for name, place in columns if views[name].reported(place, label)]
        if there:
            (name, place), cells = there[0], (_time(views[n], p, label) for n, p in columns)
            order = time_of(views[name], place, label) or (0.0,)
            line = (label, settings_of(views[name], place, label), *cells)
            rows.append((columns.index(there[0]), order[0], line))
    yield from table(header, [line for *_, line in sorted(rows, key=lambda row: row[:2])])


def _place(summary: Summary, name: str, place: str) -> str:
    """Return a place in a few words, with the machine's letter if there are several."""
    hosts, view = PLACES[place].hosts, summary.views[name]
    where = f"{hosts} workers, simulated" if PLACES[place].world == "virtual" else f"{hosts} hosts"
    if view.note(place).startswith("over"):
        where += ", oversubscribed"
    return f"{summary.letter(name)}: {where}" if summary.letter(name) else where


def _time(view: View, place: str, label: str) -> str:
    found, runs = time_of(view, place, label), view.reported(place, label).values()
    if found is None:
        return ""
    middle, low, high = found
    if high is not None and low is not None:
        return f"{middle:.1f} [{low:.1f}, {high:.1f}]"
    diverged = sum(run.diverged == "yes" for run in runs)
    missed = sum(run.time_to_target is None for run in runs) - diverged
    told = [f"{n} of {len(runs)} {what}" for n, what in ((missed, "missed"), (diverged, "diverged")) if n]
    bound = f"≥ {low:.1f}" if low is not None else f"≤ {high:.1f}" if high is not None else f"{middle:.1f}"
    return f"{bound} ({', '.join(told)})" if told else bound


def communication(summary: Summary) -> Iterable[str]:
    """Yield step, blocked time and bytes of a few methods, by place and machine."""
    header = ("method", "where", "step, ms", "blocked, ms", "blocked, 95%", "MB per step on links")
    yield from table(header, (_shared(summary, share) for share in _few(summary)))


def communication_in_short(summary: Summary) -> Iterable[str]:
    """Yield shares of blocked time beside the paper's where it has one, for the index."""
    header = ("method", "where", "blocked, 95%", "the paper's")
    rows = []
    for share in (each for each in _few(summary) if each.label in EXPOSED):
        marked, where, *_, blocked, _ = _shared(summary, share)
        crowded_here = ", oversubscribed" if STAR in marked else ""
        rows.append((share.label, f"{where}{crowded_here}", blocked, f"{EXPOSED[share.label]:.0%}"))
    yield from table(header, rows)


def _few(summary: Summary) -> list[Share]:
    return [share for label in SHOWN for share in summary.shares if share.label == label]


def _shared(summary: Summary, share: Share) -> tuple[str, ...]:
    view = summary.views[share.machine]
    unit = " (virtual)" if PLACES[share.place].world == "virtual" else ""
    ends = "" if share.found.low is None else f" [{share.found.low:.1%}, {share.found.high or 0:.1%}]"
    return (
        view.marked(share.place, share.label),
        _place(summary, share.machine, share.place),
        _per_step(share.runs, "train_seconds", 1e3, ".1f") + unit,
        _per_step(share.runs, "communicate", 1e3, ".1f") + unit,
        f"{share.mean:.1%}{ends}",
        _per_step(share.runs, "link_wire_bytes", 1e-6, ".1f"),
    )


def _per_step(runs: Iterable[Run], name: str, factor: float, form: str) -> str:
    values = [(getattr(run, name), run.steps) for run in runs]
    found = spread.of(factor * value / steps for value, steps in values if value is not None and steps)
    return f"{found.median.value:{form}}" if found else ""


def scaling(summary: Summary) -> Iterable[str]:
    """Yield throughput with and without communication, by method, hosts and machine."""
    header = ("method", "where", "samples/s", "without communication", "efficiency, 95%", "of the limit")
    lines = []
    for one in summary.efficiencies:
        rates = [spread.of(run.throughput for run in side.values()) for side in (one.runs, one.alone)]
        lines.append(
            (
                one.label,
                _place(summary, one.machine, one.place),
                *(rate.text(",.0f") if rate else "" for rate in rates),
                _efficiency(one),
                one.of_limit.text(".0%") if one.of_limit and PACES[one.label].method == EASGD3 else "",
            )
        )
    yield from table(header, lines)


def scaling_in_short(summary: Summary, label: str) -> Iterable[str]:
    """Yield the efficiency of one method, for the index."""
    own = [one for one in summary.efficiencies if one.label == label]
    lines = [(_place(summary, one.machine, one.place), _efficiency(one)) for one in own]
    yield from table(("where", "efficiency, 95%"), lines)


def _efficiency(one: Efficiency) -> str:
    return f"{one.mean:.1%} [{one.low:.1%}, {one.high:.1%}]"


def papers(summary: Summary) -> Iterable[str]:
    """Yield each statement of the paper with what became of it, by place."""
    places = _stated(summary)
    header = ("statement", "paper", *map(summary.place, places))
    rows = _statements(summary, _became)
    for label, paper in EXPOSED.items():
        cells = (
            "; ".join(_exposed(s, paper) for s in _at(summary, label, place)) or "not measured" for place in places
        )
        rows.append((f"blocked in communication, {label}", f"{paper:.0%} (abstract)", *cells))
    yield from table(header, rows)


def papers_in_short(summary: Summary) -> Iterable[str]:
    """Yield each tested statement with what became of it, for the index: of what is open no ratio."""
    header = ("statement", "paper", *map(summary.place, _stated(summary)))
    rows = _statements(summary, _became_in_short)
    yield from table(header, ((what, _without_source(paper), *cells) for what, paper, *cells in rows))


def _stated(summary: Summary) -> list[str]:
    return list(dict.fromkeys(finding.place for finding in summary.stated))


def _statements(summary: Summary, told: Callable[[Summary, PooledFinding], str]) -> list[tuple[str, ...]]:
    """Return the row of each statement: name, paper, and what became of it at each place."""
    rows = list[tuple[str, ...]]()
    for what in dict.fromkeys(finding.claim.what for finding in summary.stated):
        found = [finding for finding in summary.stated if finding.claim.what == what]
        cells = ("; ".join(told(summary, f) for f in found if f.place == place) for place in _stated(summary))
        rows.append((_name(found[0].claim), str(found[0].claim.paper), *cells))
    return rows


def _became_in_short(summary: Summary, finding: PooledFinding) -> str:
    told = _became(summary, finding) if outcome(finding) != "open" else OUTCOMES["open"]
    return told.replace(OUTCOMES["smaller"], "less").replace(OUTCOMES["not shown"], "no difference")


def _without_source(paper: str) -> str:
    return paper.partition(" (")[0].replace("; no figure found", "")


def _name(claim: Claim) -> str:
    return claim.what.replace(", samples/s", "").replace(": samples/s over the same with communication off", "")


def _became(summary: Summary, finding: PooledFinding) -> str:
    told = OUTCOMES[outcome(finding)]
    star = f" {STAR}" if crowded(summary, finding) else ""
    return f"{told}: {finding.text}{star}" if finding.measured else told


def crowded(summary: Summary, finding: PooledFinding) -> bool:
    """Return whether a method alone had more ranks than cores where times to the target were compared."""
    labels = (*finding.claim.variant, *finding.claim.baseline)
    views = (summary.views[name] for name in finding.findings)
    return not finding.claim.pace and any(view.crowded(finding.place, label) for view in views for label in labels)


def _at(summary: Summary, label: str, place: str) -> list[Share]:
    return [share for share in summary.shares if (share.label, share.place) == (label, place)]


def _exposed(share: Share, paper: float) -> str:
    if share.found.low is None or share.found.high is None:
        return f"{share.mean:.1%}"
    side = "more" if share.found.low > paper else "less" if share.found.high < paper else "includes it"
    return f"{side}: {share.mean:.1%} [{share.found.low:.1%}, {share.found.high:.1%}]"
