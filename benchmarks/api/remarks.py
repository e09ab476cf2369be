"""Why goals were missed in published sessions: of each, what is known of the cause, and what was done since."""

from __future__ import annotations

from collections.abc import Mapping

REMARKS: Mapping[tuple[str, str], str] = {
    ("20261128-100209", "hour"): (
        "Why goals are missed: what is new of a run, and how many chunks and evaluations it has, was found by "
        "looking at all of them, twice for each request, so that requests took longer every minute. After "
        "this session came an index by which the new ones are found ([decision "
        "160](../decisions/0160-new-steps-by-an-index.md)), and their number is stored with the run "
        "([decision 162](../decisions/0162-counted-where-they-are-stored.md)). Of the memory, some 50 MB come "
        "within the first minutes, of which caches hold 12 MB; what holds the rest was not found."
    ),
    ("20261128-064522", "lists"): (
        "Why a goal is missed: most of these runs have as many samples as others, so that PostgreSQL sorted "
        "nearly all of them, by two columns, and compared them as decimal numbers. After this session it "
        "sorts by the figure alone and looks for the order among equal runs afterwards: 74 ms in the database "
        "instead of 208, measured under load ([decision "
        "155](../decisions/0155-slow-readers-ties-and-clocks-without-a-battery.md))."
    ),
}
"""Name of the record, scenario -> text."""
