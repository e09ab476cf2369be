"""The rule of the train clock at evaluations under which a run was timed, and which entries it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.tuned.records import Record

RULE = 2
"""1: at an evaluation a method waited on the clock for what it had under way; 2: it does not (decision 96)."""
OVERLAPPED: Mapping[str, str | None] = {
    "co2": None,
    "delayed-gradient-averaging": "delay",
    "elastic-slowmo": "delay",
    "overlap-local-sgd": None,
    "pipe-sgd": "delay",
    "stochastic-gradient-push": "delay",
    "streaming-diloco": "delay",
    "sync-easgd": "pipelined",
    "sync-easgd2": "pipelined",
    "sync-easgd3": "pipelined",
}
"""Methods that may have transfers under way between two steps -> the parameter that lets them; None: always."""
WORDS = "earlier rule"
"""Marks an entry that was timed under rule 1, and that it concerns."""
NOTE = (
    f"*{WORDS}*: timed before [decision 96](LINK). At each evaluation the clock also ran for what a run had under "
    "way: the entry may take less, by at most one exchange per evaluation."
)

STAR = "†"
"""The mark in the index, where there is no room for words."""
NOTE_BESIDE = f"{STAR} timed by an [earlier rule](LINK): it may take less, by at most one exchange per evaluation."


def overlaps(method: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a method has transfers under way between two steps; a peer has none."""
    if method not in OVERLAPPED:
        return False
    parameter = OVERLAPPED[method]
    return parameter is None or bool(parameters.get(parameter))


def outdated(record: Record) -> bool:
    """Return whether a run was timed under an earlier rule, and would be timed otherwise now."""
    return record.get("rule", 1) < RULE and overlaps(record["entry"], record["parameters"])


def current(records: Iterable[Record]) -> list[Record]:
    """Return the records that are timed as they would be now."""
    return [record for record in records if not outdated(record)]


def marked(name: str, is_outdated: bool) -> str:
    """Return the name of an entry, with the mark if it was timed under an earlier rule."""
    return f"{name} ({WORDS})" if is_outdated else name


def note(link: str) -> str:
    """Return what the mark means; `link`: where the decision is."""
    return NOTE.replace("LINK", link)


def note_beside(link: str) -> str:
    """Return what the mark in the index means; `link`: where the decision is."""
    return NOTE_BESIDE.replace("LINK", link)
