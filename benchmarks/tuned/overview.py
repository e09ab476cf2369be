"""The part of the index of results that says which method was the fastest at equal tuning."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, PEER_NAMES, POST_LOCAL
from benchmarks.tuned.page import DECISION, sections
from benchmarks.tuned.records import Record
from benchmarks.tuned.rows import Row, elastic_verdict, told, verdicts
from benchmarks.tuned.rules import WORDS, marked, note

BEGIN, END = "<!-- written by `python -m benchmarks.tuned publish` -->", "<!-- end of the tuned comparison -->"
HEADER = (
    "| workload, where | fastest of the catalogue, s by seed | over DDP, bf16 hook | over post-local SGD | "
    "fastest elastic method, over the fastest other |\n"
    "|---|---|---|---|---|"
)


def written_into(text: str, records: Sequence[Record]) -> str:
    """Return the index with its part renewed. Raises ValueError without the two lines that enclose it."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the index of results lacks one of the lines {BEGIN!r} and {END!r}")
    return f"{head}{begin}\n{overview(records)}\n{end}{tail}"


def overview(records: Sequence[Record]) -> str:
    """Return a table with a row for each comparison on hosts that has a peer and a method of the catalogue."""
    lines = (_line(*at, found) for at, found in sections(records) if AT[at[2]].world != "virtual")
    rows = "\n".join([HEADER, *filter(None, lines)])
    return f"{rows}\n\n{note(DECISION)}" if WORDS in rows else rows


def _line(machine: str, task: str, place: str, effort: str, found: dict[str, Row]) -> str | None:
    peers = [peer.name for peer in (DDP_BF16, POST_LOCAL) if peer.name in found]
    best = next((name for name in found if name not in PEER_NAMES), None)
    if not peers or best is None:
        return None
    processor, _, _ = machine.partition(" (")
    cells = [
        f"{TASKS[task].title} to {TASKS[task].target:.1%}; {AT[place].title}; {processor}; {effort}",
        f"{found[best].title}: {', '.join(found[best].seconds)}",
        *(_over(peer.name, best, found) for peer in (DDP_BF16, POST_LOCAL)),
        _elastic(found),
    ]
    return f"| {' | '.join(cells)} |"


def _over(peer: str, best: str, found: dict[str, Row]) -> str:
    said = verdicts(found, peer)
    return told(best, said[best]) if best in said else "not measured"


def _elastic(found: dict[str, Row]) -> str:
    verdict = elastic_verdict(found)
    if verdict is None:
        return "not measured"
    first, other, said = verdict
    return marked(f"{told(first, said)}, over {found[other].title}", found[first].outdated)
