"""The beginning of the index of results: which entry was the fastest at equal tuning; where elastic ones win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hooke.comparison.verdict import Verdict
from hooke.comparison.wording import figure

from benchmarks.regimes.networks_page import in_short
from benchmarks.tuned import field
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, POST_LOCAL
from benchmarks.tuned.forest import NAME, TITLE
from benchmarks.tuned.page import DECISION, IN_WORDS, sections
from benchmarks.tuned.records import Record
from benchmarks.tuned.rows import Row, elastic_verdict, verdicts
from benchmarks.tuned.rules import STAR, note_beside
from benchmarks.tuned.whole import largest_tables

BEGIN, END = "<!-- written by `python -m benchmarks.tuned publish` -->", "<!-- end of the tuned comparison -->"
OVER = (DDP_BF16, POST_LOCAL)
QUESTION = "## Which method?"
READING = (
    "*Tables of hosts*: workers of one machine with emulated links of 1 Gb/s; the time to a validation accuracy, "
    "each entry at the best of as many trials. *Elastic* methods pull workers toward a common center; slowmo "
    "averages them every few steps, with a momentum."
)
HEADER = (
    "| workload, target, where | fastest method entered | over DDP, bf16 hook | over post-local SGD | "
    "fastest elastic method entered, over the fastest other entry |\n"
    "|---|---|---|---|---|"
)
LEGEND = (
    "Ratios of times, above 1: less time; ≥ and ≤: bounds; 95% intervals; bold: shown by the "
    "[rule](../decisions/0020-one-rule-of-verdict.md). Seconds, settings, limits: [all tables](tuned.md)."
)
OPEN = {"no claim", "not shown"}
IN_INDEX = IN_WORDS | {"not shown": "neither", "no claim": "open"}
"""Claims in a count."""
CHOSEN = (field.methods_entered, field.elastic_entered)
"""Methods of a table, and its elastic ones."""


def written_into(text: str, records: Sequence[Record], networks: Sequence[Mapping[str, Any]]) -> str:
    """Return the index with its part renewed; `networks`: the records of the map over networks.

    Raises ValueError without the two lines that enclose it.
    """
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the index of results lacks one of the lines {BEGIN!r} and {END!r}")
    return f"{head}{begin}\n{overview(records, networks)}\n{end}{tail}"


def overview(records: Sequence[Record], networks: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the answer, the figure, a row for each table of hosts with a peer, and what all methods show."""
    tables = sections(records)
    shown = [(at, found) for at, found in tables if AT[at[2]].world != "virtual" and _is_shown(found)]
    rows = "\n".join([HEADER, *(_line(*at[:3], found) for at, found in shown)])
    picture = f"![{TITLE.partition(':')[0]}](tuned/{NAME})"
    last = [note_beside(DECISION)] if STAR in rows else []
    answer = _answer([found for _, found in shown], networks)
    return "\n\n".join([*answer, QUESTION, READING, picture, LEGEND, rows, *last, *largest_tables(tables)])


def _answer(tables: Sequence[Mapping[str, Row]], networks: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Yield which entry was the fastest, whether elastic averaging wins and where, and who was entered."""
    if tables:
        first, *others = Counter(next(iter(found)) for found in tables).most_common()
        fastest = f"{first[0]} in {first[1]} of {len(tables)} tables of hosts"
        fastest += "".join(f"; {name} in {number}" for name, number in others)
        claims = [verdict[2].claim for found in tables if (verdict := elastic_verdict(found))]
        yield (
            f"**Which entry is the fastest depends on workload, network and machine: {fastest}. The fastest "
            f"elastic method over the fastest other entry: {_counted(claims)}.**"
        )
    if networks:
        yield in_short(networks)
    if tables:
        of, elastic = (_span(len(chosen(found)) for found in tables) for chosen in CHOSEN)
        yield (f"A table of hosts has {of} of the catalogue's {field.methods()} methods ({elastic} elastic).")


def _span(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return f"{found[0]} to {found[-1]}" if found[0] < found[-1] else str(found[0])


def _counted(claims: Iterable[str]) -> str:
    counts = Counter(sorted(IN_INDEX.get(claim, claim) for claim in claims))
    return ", ".join(f"{claim} in {number}" for claim, number in counts.items()) or "not measured"


def _is_shown(found: Mapping[str, Row]) -> bool:
    return any(peer.name in found for peer in OVER) and bool(field.entered(found))


def _line(machine: str, task: str, place: str, found: Mapping[str, Row]) -> str:
    best, number = field.entered(found)[0], len(field.methods_entered(found))
    processor = machine.partition(" (")[0].replace("(R)", "").partition(" ")[0]
    where = f"{AT[place].hosts} hosts on {machine.rpartition(', ')[2]}, {processor}"
    cells = [
        f"{TASKS[task].title.rstrip(',')}, {100 * TASKS[task].target:.3g}%; {where}",
        f"{_marked(found[best])}, of {number}",
        *(_over(peer.name, best, found) for peer in OVER),
        _elastic(best, found),
    ]
    return f"| {' | '.join(cells)} |"


def _short(peer: str) -> str:
    """Return the name of a peer in the index, where all are PyTorch's."""
    return peer.removeprefix("PyTorch ")


def _marked(row: Row) -> str:
    return f"{row.name}{STAR}" if row.outdated else row.name


def _over(peer: str, best: str, found: Mapping[str, Row]) -> str:
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


def _elastic(best: str, found: Mapping[str, Row]) -> str:
    """Return the verdict on the fastest elastic method, with the names that stand in no other column."""
    verdict = elastic_verdict(found)
    if verdict is None:
        return "not measured"
    first, other, said = verdict
    over = "" if other in (best, *(peer.name for peer in OVER)) else f" over {_marked(found[other])}"
    who = "" if first == best else f" {_marked(found[first])}"
    return f"{_told(said)}{who}{over}"
