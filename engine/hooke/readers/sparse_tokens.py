"""Vectorised parser of sparse text: whole lines of `l1,l2,... f:v f:v ...` to compressed rows.

A line is a sequence of marks (all bytes that are no digits) and of runs of digits between them. Whether a mark may
follow another one, with or without digits between them, decides nearly all of the grammar, with one table look-up
per mark. Where a text is not accepted, `sparse_lines` finds the fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hooke.objective.bags import Csr
from hooke.readers.sparse_lines import LONGEST_ID, NEGATIVE, OTHER, Rules

LF, BLANK, CR, COMMA, COLON, DOT, EXPONENT, LABEL_SIGN, VALUE_SIGN, EXPONENT_SIGN, BAD, SIGN = range(12)
"""Kinds of marks. A SIGN becomes one of three others by the mark before it."""
KINDS = np.full(256, BAD, dtype=np.uint8)
_OF = {b"\n": LF, b" \t": BLANK, b"\r": CR, b",": COMMA, b":": COLON, b".": DOT, b"eE": EXPONENT, b"+-": SIGN}
for _bytes, _kind in _OF.items():
    KINDS[list(_bytes)] = _kind

_END = (BLANK, LF, CR)
AFTER = {
    (LF, False): (*_END, LABEL_SIGN),
    (LF, True): (*_END, COMMA),
    (COMMA, False): (LABEL_SIGN,),
    (COMMA, True): (*_END, COMMA),
    (LABEL_SIGN, True): (*_END, COMMA),
    (BLANK, False): _END,
    (BLANK, True): (COLON,),
    (CR, False): (LF,),
    (COLON, False): (VALUE_SIGN, DOT),
    (COLON, True): (*_END, DOT, EXPONENT),
    (VALUE_SIGN, False): (DOT,),
    (VALUE_SIGN, True): (*_END, DOT, EXPONENT),
    (DOT, False): (*_END, EXPONENT),
    (DOT, True): (*_END, EXPONENT),
    (EXPONENT, False): (EXPONENT_SIGN,),
    (EXPONENT, True): _END,
    (EXPONENT_SIGN, True): _END,
}
"""(mark, whether digits follow it) -> marks that may come next. A dot also needs digits on one of its sides."""
_TABLE = np.zeros((BAD + 1, 2, BAD + 1), dtype=np.bool_)
for (_left, _some), _next in AFTER.items():
    _TABLE[_left, int(_some), list(_next)] = True
LEGAL = _TABLE.ravel()
BEFORE_LABEL = np.isin(np.arange(BAD + 1), (LF, COMMA, LABEL_SIGN))

EXACT_DIGITS, EXACT_POWER = 15, 22
"""A decimal mantissa of so many digits, and such powers of ten, are exact in float64: one multiplication or
division then rounds correctly (Clinger, How to read floating point numbers accurately, PLDI 1990)."""
POWERS = np.array([float(f"1e{k}") for k in range(EXACT_POWER + 1)])
INTEGER_POWERS = 10 ** np.arange(LONGEST_ID + 1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive lines of a text; `flags` as in `sparse_lines`, except EMPTY."""

    features: Csr
    labels: Csr
    flags: int = 0

    def __len__(self) -> int:
        return len(self.features)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Whether each line has a label or a feature."""
        return (self.features.counts > 0) | (self.labels.counts > 0)

    def head(self, count: int) -> Block:
        """Return the first `count` items as views."""
        return Block(self.features.head(count), self.labels.head(count), self.flags)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Run i is between mark i and mark i + 1; `at` is the place of mark i, the first one before the text."""

    text: bytes
    at: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    length: NDArray[np.int64]
    number: NDArray[np.int64]

    def character(self, marks: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the bytes of marks."""
        return np.frombuffer(self.text, dtype=np.uint8)[self.at[marks]]


def parse(text: bytes, rules: Rules) -> Block | None:
    """Return the items of whole lines, the last one ended by a line feed; None if any line has a fault."""
    runs = _runs(text, rules.libsvm)
    if runs is None:
        return None
    left, right = runs.kinds[:-1], runs.kinds[1:]
    ends = np.flatnonzero(right == LF)
    labels_at = np.flatnonzero((runs.length > 0) & BEFORE_LABEL[left])
    colons = np.flatnonzero(right == COLON)
    labels, flags = _labels(runs, labels_at)
    features = runs.number[colons] - rules.first
    label_starts, feature_starts = _starts(labels_at, ends), _starts(colons, ends)
    ids_fit = (
        (runs.length[labels_at] <= LONGEST_ID).all()
        and (runs.length[colons] <= LONGEST_ID).all()
        and _within(labels, rules.labels)
        and _within(features, rules.features)
        and _ascending(label_starts, labels)
        and _ascending(feature_starts, features)
    )
    if not ids_fit:
        return None
    with np.errstate(over="ignore"):  # found by isfinite
        values = _values(runs, colons).astype(np.float32)
    if not np.isfinite(values).all():
        return None
    return Block(
        Csr(feature_starts, features.astype(np.int32), values), Csr(label_starts, labels.astype(np.int32)), flags
    )


def _runs(text: bytes, libsvm: bool) -> _Runs | None:
    buffer = np.frombuffer(text, dtype=np.uint8)
    digits = buffer - np.uint8(ord("0"))  # 10 and above, modulo 256: no digit
    found = np.flatnonzero(digits > 9)
    at = np.empty(len(found) + 1, dtype=np.int64)
    at[0], at[1:] = -1, found
    kinds = np.empty(len(at), dtype=np.uint8)
    kinds[0], kinds[1:] = LF, KINDS[buffer[found]]
    length = np.diff(at) - 1
    if (signs := np.flatnonzero(kinds == SIGN)).size:
        kinds[signs] = np.where(length[signs - 1] > 0, BAD, _signs(libsvm)[kinds[signs - 1]])
    left, right, some = kinds[:-1], kinds[1:], length > 0
    width = BAD + 1
    if not LEGAL[left * np.uint8(2 * width) + some * np.uint8(width) + right].all():
        return None
    if ((left[1:] == DOT) & ~some[1:] & ~some[:-1]).any():
        return None
    return _Runs(text, at, kinds, length, _numbers(digits, at[:-1] + 1, length))


def _signs(libsvm: bool) -> NDArray[np.uint8]:
    """Return the kind of a sign by the kind of the mark directly before it."""
    kinds = np.full(SIGN + 1, BAD, dtype=np.uint8)
    kinds[COLON], kinds[EXPONENT] = VALUE_SIGN, EXPONENT_SIGN
    if libsvm:
        kinds[[LF, COMMA]] = LABEL_SIGN
    return kinds


def _numbers(digits: NDArray[np.uint8], begin: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number that each run of digits is; 0 for empty runs and those of more than 18 digits."""
    numbers = np.zeros(len(length), dtype=np.int64)
    sizes = np.minimum(length, LONGEST_ID + 1).astype(np.uint8)
    for size in np.flatnonzero(np.bincount(sizes)[1 : LONGEST_ID + 1]) + 1:
        runs = np.flatnonzero(sizes == size)
        window = sliding_window_view(digits, int(size))[begin[runs]]
        number = window[:, 0].astype(np.int64)
        for place in range(1, size):
            number *= 10
            number += window[:, place]
        numbers[runs] = number
    return numbers


def _labels(runs: _Runs, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the labels, -1 as 0 and others below -1 as they are, and their flags."""
    labels = runs.number[at]
    negative = (runs.kinds[at] == LABEL_SIGN) & (runs.character(at) == ord("-"))
    labels[negative] *= -1
    ones = labels == -1
    flags = (NEGATIVE if ones.any() else 0) | (OTHER if (~ones & (labels != 1)).any() else 0)
    labels[ones] = 0
    return labels, flags


def _starts(at: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.zeros(len(ends) + 1, dtype=np.int64)
    starts[1:] = np.searchsorted(at, ends, side="right")
    return starts


def _within(ids: NDArray[np.int64], count: int) -> bool:
    return not len(ids) or bool(ids.min() >= 0 and ids.max() < count)


def _ascending(starts: NDArray[np.int64], ids: NDArray[np.int64]) -> bool:
    if len(ids) < 2:
        return True
    rising = ids[1:] > ids[:-1]
    firsts = starts[1:-1]
    rising[firsts[(firsts > 0) & (firsts < len(ids))] - 1] = True  # between two rows
    return bool(rising.all())


def _values(runs: _Runs, colons: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the correctly rounded value after each colon."""
    right = runs.kinds[1:]
    run = colons + 1
    signed = right[run] == VALUE_SIGN
    negative = signed & (runs.character(run + 1) == ord("-"))
    run = run + signed
    size, mantissa = runs.length[run], runs.number[run]
    dotted = right[run] == DOT
    run = run + dotted
    places = np.where(dotted, runs.length[run], 0)
    size = size + places
    mantissa = mantissa * INTEGER_POWERS[np.minimum(places, LONGEST_ID)] + np.where(dotted, runs.number[run], 0)
    scale, run, exact = _exponents(runs, run)
    scale = scale - places
    exact &= (size <= EXACT_DIGITS) & (np.abs(scale) <= EXACT_POWER)
    power = POWERS[np.minimum(np.abs(scale), EXACT_POWER)]
    values: NDArray[np.float64] = np.where(scale < 0, mantissa / power, mantissa * power)
    np.negative(values, out=values, where=negative)
    for i in np.flatnonzero(~exact):
        values[i] = float(runs.text[runs.at[colons[i] + 1] + 1 : runs.at[run[i] + 1]])
    return values


def _exponents(
    runs: _Runs, run: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the decimal exponent of each value, its last run, and whether the exponent is below 1000."""
    right = runs.kinds[1:]
    exponents, short = np.zeros(len(run), dtype=np.int64), np.ones(len(run), dtype=np.bool_)
    if len(having := np.flatnonzero(right[run] == EXPONENT)):
        run = run.copy()
        last = run[having] + 1
        signed = right[last] == EXPONENT_SIGN
        negative = signed & (runs.character(last + 1) == ord("-"))
        last = last + signed
        short[having] = runs.length[last] <= 3
        exponents[having] = np.where(negative, -runs.number[last], runs.number[last])
        run[having] = last
    return exponents, run, short
