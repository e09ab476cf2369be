"""Limits on the shape of a JSON body, checked on its bytes before any object is made of them.

A few bytes of JSON can become many objects: 500,000 zeros are a megabyte of text, a kilobyte of gzip, and 500,000
faults of a gigabyte. A document has no more faults than values, so these are counted first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hooke_api.base.errors import Malformed, TooLarge

_MARKS = re.compile(rb'"[^"]*+"|[\[\]{},]')
"""Strings, and the marks outside of them. Possessive: a string that does not end costs no second search."""
_OPEN, _CLOSE, _COMMA = frozenset(b"[{"), frozenset(b"]}"), ord(",")


@dataclass(frozen=True)
class ShapeLimits:
    """The most that a document may have."""

    marks: int
    """Strings (names among them), commas and brackets: about three for each field."""
    members: int
    """Items of one list, or fields of one object."""
    depth: int
    """Lists and objects inside one another."""


ORDINARY = ShapeLimits(marks=100_000, members=4_000, depth=60)
"""Of requests of users and agents: an experiment of 200 variants has about 20,000 marks, a catalogue 30,000."""
INGEST = ShapeLimits(marks=400_000, members=10_000, depth=8)
"""Of ingest: 5,000 records of 25 fields have 375,000 marks."""


def check_shape(body: bytes, limits: ShapeLimits) -> None:
    """Raise TooLarge if a JSON text has more than the limits, Malformed if it is not UTF-8.

    Whether it is JSON is left to its parser. Costs about 0.2 us for each mark, and no memory unless it has
    backslashes.
    """
    if b"\0" in body[:4] or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Malformed("the body is not UTF-8")  # the parser would accept UTF-16, in which nothing is counted
    text = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    open_: list[int] = []
    members = 0
    for count, found in enumerate(_MARKS.finditer(text)):
        if count >= limits.marks:
            raise TooLarge(f"the body has more than {limits.marks} names, texts, commas and brackets")
        mark = text[found.start()]
        if mark == _COMMA:
            members += 1
            if members >= limits.members:
                raise TooLarge(f"a list or an object of the body has more than {limits.members} members")
        elif mark in _OPEN:
            open_.append(members)
            members = 0
            if len(open_) > limits.depth:
                raise TooLarge(f"the body is nested deeper than {limits.depth} levels")
        elif mark in _CLOSE and open_:
            members = open_.pop()
