"""Why goals were missed in published sessions: of each, what is known of the cause, and what was done since."""

from __future__ import annotations

from collections.abc import Mapping

REMARKS: Mapping[tuple[str, str], str] = {
    ("20261128-100209", "hour"): (
        "Why goals are missed: what is new of a run, and how many chunks and evaluations it has, was found by "
        "looking at all of them, twice for each request, so that requests took longer every minute. After "
        "this session came an index by which the new ones are found ([decision "
        "160](../decisions/0160-new-steps-by-an-index.md)), and their number is stored with the run "
        "([decision 162](../decisions/0162-counted-where-they-are-stored.md)). What holds the memory, and the "
        "8 MB that are saved since: [decision 167]"
        "(../decisions/0167-what-the-api-keeps-and-what-it-takes-for-a-number.md)."
    ),
}
"""Name of the record, scenario -> text."""
