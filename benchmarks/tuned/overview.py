"""The part of the index of results that says which method was the fastest at equal tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hooke.comparison.verdict import Verdict
from hooke.comparison.wording import figure

from benchmarks.tuned import field
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, POST_LOCAL
from benchmarks.tuned.forest import NAME, TITLE
from benchmarks.tuned.page import DECISION, IN_WORDS, sections
from benchmarks.tuned.records import Record
from benchmarks.tuned.rows import Row, elastic_verdict, verdicts
from benchmarks.tuned.rules import WORDS, note

BEGIN, END = "<!-- written by `python -m benchmarks.tuned publish` -->", "<!-- end of the tuned comparison -->"
OVER = (DDP_BF16, POST_LOCAL)
HEADER = (
    "| workload, where | fastest of those entered | seeds | over DDP, bf16 hook | over post-local SGD | "
    "fastest elastic method entered, over the fastest other |\n"
    "|---|---|---|---|---|---|"
)
LEGEND = "Ratios of times, above 1: less time; 95% intervals; in bold type what the rule shows."
OPEN = {"no claim", "not shown"}


def written_into(text: str, records: Sequence[Record]) -> str:
    """Return the index with its part renewed. Raises ValueError without the two lines that enclose it."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the index of results lacks one of the lines {BEGIN!r} and {END!r}")
    return f"{head}{begin}\n{overview(records)}\n{end}{tail}"


def overview(records: Sequence[Record]) -> str:
    """Return the answer, the figure, and a table of each comparison on hosts with a peer and a method."""
    real = [(at, found) for at, found in sections(records) if AT[at[2]].world != "virtual"]
    shown = [(at, found) for at, found in real if _is_shown(found)]
    rows = "\n".join([HEADER, *(_line(*at[:3], found) for at, found in shown)])
    picture = f"![{TITLE}](tuned/{NAME})"
    last = [note(DECISION)] if WORDS in rows else []
    return "\n\n".join([*_answer([found for _, found in shown]), picture, LEGEND, rows, *last])


def _answer(tables: Sequence[Mapping[str, Row]]) -> Iterable[str]:
    """Yield how often the fastest method entered is faster than a peer, and an elastic one than all others."""
    parts = []
    for peer in OVER:
        claims = [
            said[best].claim
            for found in tables
            if (best := field.entered(found)[0]) in (said := verdicts(found, peer.name))
        ]
        parts.append(f"over {peer.name}: {_counted(claims)}")
    elastic = [verdict[2].claim for found in tables if (verdict := elastic_verdict(found))]
    parts.append(f"an elastic one, over all others: {_counted(elastic)}")
    numbers = sorted({len(field.methods_entered(found)) for found in tables})
    if tables:
        of = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
        yield (
            f"**The fastest method entered, in {len(tables)} tables, {'; '.join(parts)}.** A table has "
            f"{of} of the {field.methods()} methods of the catalogue, and "
            "[not all peers](tuned.md): these are verdicts on entries, not on the catalogue."
        )


def _counted(claims: Iterable[str]) -> str:
    counts = Counter(sorted(IN_WORDS.get(claim, claim) for claim in claims))
    return ", ".join(f"{number} {claim}" for claim, number in counts.items()) or "not measured"


def _is_shown(found: Mapping[str, Row]) -> bool:
    return any(peer.name in found for peer in OVER) and bool(field.entered(found))


def _line(machine: str, task: str, place: str, found: dict[str, Row]) -> str:
    best, number = field.entered(found)[0], len(field.methods_entered(found))
    processor, cores = machine.partition(" (")[0].replace("(R)", ""), machine.rpartition(", ")[2]
    cells = [
        f"{TASKS[task].title} to {TASKS[task].target:.1%}; {AT[place].hosts} hosts on {cores}, {processor}",
        f"{found[best].title}, of {number}",
        str(len(found[best].runs)),
        *(_over(peer.name, best, found) for peer in OVER),
        _elastic(found),
    ]
    return f"| {' | '.join(cells)} |"


def _over(peer: str, best: str, found: dict[str, Row]) -> str:
    said = verdicts(found, peer)
    return _told(said[best]) if best in said else "not measured"


def _told(said: Verdict) -> str:
    """Return a ratio with its interval or bound, in bold type if there is a claim."""
    if said.unfair or (said.low is None and said.high is None) or said.ratio is None:
        return "open"
    if said.low is None or said.high is None:
        end = f"≥ {figure(said.low)}x" if said.low is not None else f"≤ {figure(said.high or 0)}x"
    else:
        end = f"{figure(said.ratio)}x ({figure(said.low)} to {figure(said.high)})"
    return end if said.claim in OPEN else f"**{end}**"


def _elastic(found: dict[str, Row]) -> str:
    verdict = elastic_verdict(found)
    if verdict is None:
        return "not measured"
    first, other, said = verdict
    number = len(field.elastic_entered(found))
    who = "the only one entered" if number == 1 else f"of {number}"
    return f"{_told(said)}: {found[first].title}, {who}, over {found[other].title}"
