"""The exact parser of one line of sparse text: slow, and used only to say what is wrong, and where."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hooke.errors import HookeError

MOST_IDS = (1 << 31) - 1
"""Ids are int32."""
LONGEST_ID = 18
"""Maximum number of digits of an id, leading zeros included."""
LARGEST = 2.0**128 - 2.0**103
"""Values of this magnitude and above are rounded to an infinite float32."""
NEGATIVE, OTHER, EMPTY = 1, 2, 4
"""Flags of a LIBSVM file: a label -1 occurs; one that is neither -1 nor +1 occurs; a line with nothing occurs."""

_FIELD = re.compile(rb"[^ \t]+")
_ID = re.compile(rb"[0-9]+")
_SIGNED = re.compile(rb"[+-]?[0-9]+")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Rules:
    """What a line may contain: `features` and `labels` bound the ids, `first` is the smallest feature id written.

    `libsvm`: labels may have a sign, -1 stands for class 0, and no item is without labels and features.
    """

    features: int
    labels: int
    first: int = 0
    libsvm: bool = False


class LineFault(HookeError):
    """A line is not in the format; `column` counts bytes from 1."""

    def __init__(self, column: int, message: str) -> None:
        self.column = column
        super().__init__(message)


def check(line: bytes, rules: Rules, flags: int = 0) -> int:
    """Check one line, without its line feed; return the flags of the lines before it with its own.

    Raises LineFault for the first fault.
    """
    line = line.removesuffix(b"\r")
    previous = -1
    fields = list(_FIELD.finditer(line))
    if rules.libsvm and not fields:
        return flags | EMPTY
    if flags & EMPTY:
        raise LineFault(1, "follows a line with neither label nor feature: remove empty lines")
    if fields and fields[0].start() == 0:
        flags = _labels(fields.pop(0)[0], rules, flags)
    for field in fields:
        previous = _feature(field[0], field.start() + 1, previous, rules)
    return flags


def _labels(field: bytes, rules: Rules, flags: int) -> int:
    if b":" in field:
        raise LineFault(
            1,
            f"the line begins with the feature {shown(field)}; if it has no labels, begin it with a space",
        )
    previous = -1
    for column, text in _split(field):
        label = _label(text, column, rules)
        if label == -1:
            flags |= NEGATIVE
        elif label != 1:
            flags |= OTHER
        if rules.libsvm and flags & NEGATIVE and flags & OTHER:
            raise LineFault(
                column,
                f"label {label} in a file that has both -1 and labels other than -1 and +1: number the classes "
                "from 0, or use -1 and +1 alone",
            )
        label = max(label, 0)
        if label <= previous:
            raise LineFault(
                column, f"label {label} follows label {previous}: sort the labels of a line, each once"
            )
        previous = label
    return flags


def _split(field: bytes) -> Iterator[tuple[int, bytes]]:
    column = 1
    for text in field.split(b","):
        yield column, text
        column += len(text) + 1


def _label(text: bytes, column: int, rules: Rules) -> int:
    if not text:
        raise LineFault(column, "a label is missing beside a comma: labels are l1,l2,... without spaces")
    if not (_SIGNED if rules.libsvm else _ID).fullmatch(text):
        raise LineFault(column, f"label {shown(text)} is not a whole number from 0 to {rules.labels - 1}")
    label = _bounded(text, column, "label")
    if label < (-1 if rules.libsvm else 0):
        raise LineFault(column, f"label {label} is negative: labels are -1 and +1, or count from 0")
    if label >= rules.labels:
        raise LineFault(
            column, f"label {label} is too large: {rules.labels} labels count from 0 to {rules.labels - 1}"
        )
    return label


def _bounded(text: bytes, column: int, what: str) -> int:
    if len(text.lstrip(b"+-")) > LONGEST_ID:
        raise LineFault(column, f"{what} {shown(text)} has more than {LONGEST_ID} digits")
    return int(text)


def _feature(field: bytes, column: int, previous: int, rules: Rules) -> int:
    name, colon, value = field.partition(b":")
    last = rules.features + rules.first - 1
    if not colon:
        raise LineFault(
            column, f"{shown(field)} has no value: a feature is written id:value, labels only at the start"
        )
    if not _ID.fullmatch(name):
        raise LineFault(column, f"feature {shown(name)} is not a whole number from {rules.first} to {last}")
    feature = _bounded(name, column, "feature")
    if feature < rules.first:
        raise LineFault(column, f"feature {feature} is too small: features count from {rules.first}")
    if feature > last:
        raise LineFault(
            column, f"feature {feature} is too large: {rules.features} features count from {rules.first} to {last}"
        )
    if feature <= previous:
        raise LineFault(
            column, f"feature {feature} follows feature {previous}: sort the features of a line, each once"
        )
    _value(value, column + len(name) + 1, feature)
    return feature


def _value(text: bytes, column: int, feature: int) -> None:
    if _INFINITE.fullmatch(text):
        raise LineFault(column, f"the value of feature {feature} is {shown(text)}: values are finite numbers")
    if not _NUMBER.fullmatch(text):
        raise LineFault(column, f"the value of feature {feature}, {shown(text)}, is not a decimal number")
    number = float(text)
    if not math.isfinite(number) or abs(number) >= LARGEST:
        raise LineFault(column, f"the value of feature {feature}, {shown(text)}, is too large for float32")


def shown(text: bytes) -> str:
    """Return bytes of a file as they can be read in a message, at most 40 of them."""
    return ascii(text[:40].decode("latin-1")) + ("..." if len(text) > 40 else "")
