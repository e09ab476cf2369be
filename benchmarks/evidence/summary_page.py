"""The summary of the paper's methods: one figure and one table for each question, and a page behind with the rest.

The index answers how much is communicated, whether it scales, and what did not reproduce; which method is the
fastest it says by the tuned comparison. The page behind it has the times of all methods of the paper, and how to
read each table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.evidence import spread, summary_figures, summary_tables
from benchmarks.evidence.codesign import BESIDE_PEERS
from benchmarks.evidence.conditions import COSTS, TARGET
from benchmarks.evidence.machines_page import pooling
from benchmarks.evidence.methods import BEST, EASGD3, METHODS
from benchmarks.evidence.paces import RUNGS, rung
from benchmarks.evidence.pools import PooledFinding
from benchmarks.evidence.replication import PACKING, SCALING
from benchmarks.evidence.settings import MEANING, SEARCHED
from benchmarks.evidence.summary import Outcome, Share, Summary, outcome
from benchmarks.evidence.view import STAR
from benchmarks.evidence.wording import processor, table, title_of

FIGURES = "figures"
CAME_OUT: dict[Outcome, str] = {
    "held": "came out as stated",
    "smaller": "with less effect",
    "opposite": "the other way",
    "not shown": "without a difference",
    "open": "open",
    "not measured": "not measured",
}
"""Outcomes of the paper's statements, in the sentence of the conclusion."""
CROWDED = f"{STAR} oversubscribed: with its server it has one rank more than there are cores."
SCALE = (
    "Sync EASGD3's samples/s over those of the same ranks that never exchange. The paper's 91.5% are time on one "
    "node over time on N nodes, each with its own processors, which hosts on a few shared cores cannot repeat."
)
SCALE_IN_SHORT = (
    f"*Efficiency*: {SCALE.partition('. ')[0]}. The paper's 91.5% are of nodes with their own processors."
)
BEHIND = "paper.md"
"""The page behind the index."""
TITLE = "# The SC17 paper's methods as published"
Section = tuple[str, str, Iterable[str], Iterable[str]]
"""Title, name of the figure, text and table."""


def page(summary: Summary) -> Iterable[str]:
    """Yield the lines of the index."""
    tables = summary_tables
    yield from _sections(
        (
            "How much communication?",
            summary_figures.COMMUNICATION,
            (_about(), *_shares_in_short(summary)),
            tables.communication_in_short(summary),
        ),
        (
            "Does it scale?",
            summary_figures.SCALE,
            (SCALE_IN_SHORT,),
            tables.scaling_in_short(summary, EASGD3.label),
        ),
        (
            "What did not reproduce?",
            summary_figures.PAPERS,
            (_counted(summary), "", *_reading(summary)),
            tables.papers_in_short(summary),
        ),
    )
    yield ""
    yield "## Machines and pages"
    yield ""
    yield from pooling(summary)
    yield "[Every ratio, by machine](machines.md)."
    yield ""
    yield from table(("machine", "runs", "pages"), (_links(summary, name) for name in summary.views))


def behind(summary: Summary) -> Iterable[str]:
    """Yield the lines of the page behind the index: times of all methods, and how each table is to be read."""
    yield TITLE
    yield ""
    yield "The answers in short: [results](README.md). Written by `python -m benchmarks.evidence pages`."
    yield ""
    yield from _conclusion(summary)
    yield ""
    yield from _all_limits(summary)
    tables = summary_tables
    yield from _sections(
        ("Which method?", summary_figures.WHICH, _which(summary), tables.times(summary)),
        (
            "How much communication?",
            summary_figures.COMMUNICATION,
            _communication(summary),
            tables.communication(summary),
        ),
        ("Does it scale?", summary_figures.SCALE, _scaling(summary), tables.scaling(summary)),
        ("What did not reproduce?", summary_figures.PAPERS, _papers(summary), tables.papers(summary)),
    )


def _sections(*sections: Section) -> Iterable[str]:
    for title, figure, text, lines in sections:
        yield ""
        yield f"## {title}"
        yield ""
        told, rows = list(text), list(lines)
        if len(rows) <= 2:
            yield "Not measured."
            continue
        yield from told
        yield ""
        yield f"![{title}]({FIGURES}/{figure}.svg)"
        yield ""
        yield from rows


def _counted(summary: Summary) -> str:
    counts = Counter(outcome(finding) for finding in summary.stated)
    stated = len({finding.claim.what for finding in summary.stated})
    words = ", ".join(f"{counts[kind]} {text}" for kind, text in CAME_OUT.items() if counts[kind])
    return (
        f"**Of {sum(counts.values())} tests of {stated} statements of the SC17 paper on elastic averaging (EASGD, "
        f"arXiv 1708.02983), {words}.**"
    )


def _conclusion(summary: Summary) -> Iterable[str]:
    faster = [finding for finding in summary.which if finding.measured and finding.said == "faster"]
    yield (
        f"{_counted(summary)} Shown to be faster, at the settings that were chosen: "
        f"{_listed(summary, faster) or 'none'}."
    )


def _about() -> str:
    return (
        f"From here on: the SC17 paper's methods as published, LeNet on MNIST to {TARGET:.0%}, emulated hosts "
        f"([times, settings, limits]({BEHIND})). *Oversubscribed*: ranks wait for cores, too."
    )


def _all_limits(summary: Summary) -> Iterable[str]:
    kinds = f"{len(summary.views)} {'kind' if len(summary.views) == 1 else 'kinds'}"
    yield (
        f"**Limits.** These are verdicts on settings, not on methods: {_tried(summary)}, and these runs searched "
        "nothing else but the period, where a line says so. One model and data set (LeNet on MNIST, to "
        f"{TARGET:.0%} of the validation part), {kinds} of machine with {_cores(summary)} cores. Hosts are "
        "emulated on one machine; where they outnumber its cores (*oversubscribed*), a rank waits for a core as "
        f"well as for the network. {_unmeasured(summary)}"
    )


def _unmeasured(summary: Summary) -> str:
    if any(finding.measured for finding in summary.codesign if finding.claim in BESIDE_PEERS):
        return f"All settings of {BEST.label} were chosen among {SEARCHED} on this workload, its peers' were not."
    return (
        "Sync EASGD with every means has not been measured against PyTorch DDP, post-local SGD and mpi4py by the "
        "present rules."
    )


def _tried(summary: Summary) -> str:
    views = summary.views.values()
    found = [
        len(v.search(p, x).tried)
        for v in views
        for p in v.matrix.places
        for x in v.matrix.at(p)
        if v.reported(p, x)
    ]
    least, most = min(found, default=0), max(found, default=0)
    return (
        f"{least} to {most} learning rates were tried for each method"
        if most > least
        else f"{most} learning rates"
    )


def _cores(summary: Summary) -> str:
    found = sorted({cores for view in summary.views.values() if (cores := view.cores(view.runs))})
    return " or ".join(map(str, found)) or "unknown"


def _listed(summary: Summary, findings: Sequence[PooledFinding]) -> str:
    """Return ratios in words, by place."""
    places = dict.fromkeys(finding.place for finding in findings)
    there = {place: [f"{f.claim.what} {f.text}" for f in findings if f.place == place] for place in places}
    return "; ".join(f"with {summary.place(place)}, {'; '.join(told)}" for place, told in there.items())


def _which(summary: Summary) -> Iterable[str]:
    rest = [f for f in summary.which if f.measured and not f.said.startswith("faster")]
    told = "; ".join(f"{f.claim.what} ({summary.place(f.place)}): {f.said}" for f in rest)
    yield (
        f"Time to {TARGET:.0%} validation accuracy, of two methods on the same seeds. An arrow is a bound: the "
        f"second method missed the target. {f'Not faster, or no claim: {told}.' if told else ''}".rstrip()
    )
    yield ""
    yield MEANING
    yield ""
    yield (
        "The table describes: geometric means with 95% intervals. Only the figure's ratios are tested, at 95%, "
        "corrected together by Holm's procedure."
    )
    if len(summary.views) > 1:
        yield "Numbers of rates are those of the first machine with the method."


def _communication(summary: Summary) -> Iterable[str]:
    yield from _shares(summary, packing=True)
    if any(summary.views[share.machine].crowded(share.place, share.label) for share in summary.shares):
        yield CROWDED
    yield "Schedule, period and wire are as published but for period 16, which was not searched."


def _shares(summary: Summary, *, packing: bool = False) -> Iterable[str]:
    """Yield how long workers are blocked; `packing`: also what one message for all layers gains."""
    for place in dict.fromkeys(share.place for share in summary.shares):
        there = [share for share in summary.shares if share.place == place]
        often = [share for share in there if METHODS[share.label].period == 1]
        seldom = [share for share in there if METHODS[share.label].period > 1]
        told = [f"{_range(often)} of a worker's time with an exchange in every step"] if often else []
        told += [f"{_range(seldom)} with one every {METHODS[seldom[0].label].period} steps"] if seldom else []
        yield f"{summary.place(place).capitalize()}: blocked in communication for {', '.join(told)}."
    packed = [f for f in summary.of(PACKING) if f.measured and packing]
    if packed:
        told = "; ".join(f"{summary.place(f.place)}: {f.text}, {f.said}" for f in packed)
        yield f"One message for all layers, over one per layer, in samples/s: {told}."


def _shares_in_short(summary: Summary) -> Iterable[str]:
    """Yield the same, for the index, of places where exchanges of both kinds were measured."""
    for told in _shares(summary):
        if " with one every " in told:
            yield told.replace(" in communication for", "").replace("a worker's", "the")


def _range(shares: Sequence[Share]) -> str:
    low, high = min(share.mean for share in shares), max(share.mean for share in shares)
    return f"{low:.0%} to {high:.0%}" if high > low else f"{low:.0%}"


def _scaling(summary: Summary) -> Iterable[str]:
    yield from _efficiency(summary)
    yield (
        "Samples/s are medians [least, most]; efficiencies are geometric means with 95% intervals. *Of the "
        "limit*: a step takes at least the longer time of computing and of an all-reduce on full links."
    )


def _efficiency(summary: Summary) -> Iterable[str]:
    told = "; ".join(f"{summary.place(f.place)}: {f.text}" for f in summary.of(SCALING) if f.measured)
    ratio, _, papers = SCALE.partition(". ")
    yield f"{ratio}: {told or 'not measured'}. {papers}"


def _reading(summary: Summary) -> Iterable[str]:
    yield (
        f"*Open*: there may be a better rate ({_tried(summary)}). What does not hold here is not refuted for the "
        f"paper's machines ([where each was found]({BEHIND}#what-did-not-reproduce))."
    )


def _papers(summary: Summary) -> Iterable[str]:
    yield (
        "Methods as published; *abstract* and *account* say where a statement was found: in the abstract, or in a "
        "detailed account of the text, not checked against the paper. *Open*: the slower method may have a better "
        "rate than those tried, or a method diverged with other seeds at its rate. Lines on blocked communication "
        "are not among the tests counted above. A statement that does not hold here is not refuted for the "
        "paper's machines."
    )
    if any(summary_tables.crowded(summary, finding) for finding in summary.stated if finding.measured):
        yield CROWDED
    named = COSTS[0]
    for view in summary.views.values():
        third, first = (view.repeats(named.name, rung(method)) for method in (RUNGS[-1], RUNGS[1]))
        found = spread.quotient(third, first)
        if found:
            yield (
                "One reason: in the paper an exchange with the host is a copy to a device. With such a cost "
                f"({named.title}; **simulated**), Sync EASGD3 does {found.median.value:.1f} times the steps per "
                "second of Original EASGD, ordered."
            )
            return


def _links(summary: Summary, name: str) -> tuple[str, str, str]:
    view = summary.views[name]
    pages = {"replication": "replication", "codesign": "co-design", "pace": "pace"}
    told = [f"[{title}]({name}/{page}.md)" for page, title in pages.items()]
    told += [f"[{title_of(place)}]({name}/{place}.md)" for place in view.matrix.places]
    letter = f"{summary.letter(name)}: " if summary.letter(name) else ""
    return f"{letter}{processor(view)}, {view.matrix.precision}", str(len(view.runs)), ", ".join(told)
