"""Training over active sets whose samples share a draw: derivatives, or derivatives and the step of the rows.

    sets = assembler.drawn(step, labels, candidates)
    output = train(sets, h, w2, optimizer, b2)               # in place of softmax, by_row and optimizer.step

The numbers are those of `hooke.hashing.rows.softmax` over the same sets, up to rounding: sums are ordered
otherwise. They do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.active import DrawnSets
from hooke.hashing.drawn_kernels import SEVERAL, count_rows, shared_gradients, softmax_drawn
from hooke.hashing.entries import Entries, by_row, check_ids
from hooke.hashing.family import Ints
from hooke.hashing.kernels import copy_rows
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.step_kernels import Real
from hooke.hashing.threads import ONE, Threads

Flags = NDArray[np.uint8]
_NONE = np.empty(0, np.uint8)


@dataclass(frozen=True)
class DrawnOutput:
    """What `derivatives` computes."""

    shared: Real
    """Derivatives of the loss by the logits of the drawn rows, (samples, drawn)."""
    delta: Real
    """The same of every entry of the samples' own lists."""
    gradient: Real
    """Derivative of the loss by the hidden vectors, (samples, width)."""
    loss: NDArray[np.float64]
    """Cross-entropy of each sample, not scaled."""


def derivatives(
    sets: DrawnSets, vectors: Real, weight: Real, bias: Real | None = None, *, scale: float | None = None,
    threads: Threads = ONE,
) -> DrawnOutput:  # fmt: skip
    """Return loss and derivatives of a softmax over each sample's active rows, as `hooke.hashing.rows.softmax`."""
    still = RowOptimizer("sgd", weight.shape, dtype=weight.dtype)
    return _softmax(sets, vectors, weight, bias, scale, threads, (still, _NONE, _NONE))


def gradients(
    sets: DrawnSets, output: DrawnOutput, vectors: Real, weight: Real, optimizer: RowOptimizer,
    threads: Threads = ONE,
) -> tuple[Ints, Real]:  # fmt: skip
    """Return the active rows of all samples, without order, and their gradients; see `RowOptimizer.gradients`."""
    entries = by_row(sets.own.lists, output.delta, len(weight), threads)
    rows, found = optimizer.gradients(entries, vectors, weight, threads, len(sets.drawn))
    _write_drawn(output.shared, vectors, found[len(rows) :], threads)
    return np.concatenate([rows, sets.drawn]), found


def train(
    sets: DrawnSets, vectors: Real, weight: Real, optimizer: RowOptimizer, bias: Real | None = None, *,
    scale: float | None = None, threads: Threads = ONE, touched: Flags | None = None,
) -> DrawnOutput:  # fmt: skip
    """Return what `derivatives` does, and step each active row along its gradient.

    A row that is in the own list of one sample only takes its step as soon as this sample has used it.
    touched[row] is set to 1, if given.
    """
    optimizer.begin(weight, bias)
    flags = _NONE if touched is None else touched
    ids = sets.own.lists.ids
    check_ids(ids, len(weight), "labels")
    many = np.zeros(len(weight), np.uint8)
    count_rows(ids, many)
    output = _softmax(sets, vectors, weight, bias, scale, threads, (optimizer, many, flags))
    entries = _of_several(sets.own.lists, output.delta, many, threads)
    optimizer.apply(entries, vectors, weight, bias, threads, touched=touched)
    drawn = drawn_gradients(output.shared, vectors, bias is not None, threads)
    optimizer.apply_given(sets.drawn, drawn, weight, bias, threads, touched)
    return output


def drawn_gradients(shared: Real, vectors: Real, biased: bool, threads: Threads = ONE) -> Real:
    """Return the gradients of the drawn rows, (drawn, width), with that of the bias last if `biased`."""
    sums = np.empty((shared.shape[1], vectors.shape[1] + biased), vectors.dtype)
    _write_drawn(shared, vectors, sums, threads)
    return sums


def _write_drawn(shared: Real, vectors: Real, sums: Real, threads: Threads) -> None:
    threads.over(len(sums), lambda begin, end: shared_gradients(begin, end, shared, vectors, sums), 32)


def _of_several(lists: Lists, delta: Real, many: Flags, threads: Threads) -> Entries:
    """Return the entries whose row is in the lists of several samples, sorted by row."""
    kept = many[lists.ids] == SEVERAL
    starts = np.concatenate([[0], np.cumsum(kept)])[lists.starts]
    return by_row(Lists(starts, lists.ids[kept]), delta[kept], len(many), threads)


def _softmax(
    sets: DrawnSets, vectors: Real, weight: Real, bias: Real | None, scale: float | None, threads: Threads,
    stepping: tuple[RowOptimizer, Flags, Flags],
) -> DrawnOutput:  # fmt: skip
    """Compute derivatives; with counts of rows (see `count_rows`), step those of one sample."""
    lists, n, (optimizer, many, flags) = sets.own.lists, len(vectors), stepping
    check_ids(lists.ids, len(weight), "labels")
    check_ids(sets.drawn, len(weight), "drawn rows")
    if len(sets.own.positives) != n:
        raise ArgumentError(f"{len(sets.own.positives)} active sets given for {n} hidden vectors")
    if vectors.dtype != weight.dtype or vectors.shape[1] != weight.shape[1]:
        raise ArgumentError(
            f"{vectors.dtype} vectors of {vectors.shape[1]} given to {weight.dtype} rows of {weight.shape[1]}"
        )
    drawn, width = len(sets.drawn), weight.shape[1]
    rows, columns = np.empty((drawn, width), weight.dtype), np.empty((width, drawn), weight.dtype)
    threads.over(drawn, lambda begin, end: copy_rows(begin, end, sets.drawn, weight, rows, columns), 64)
    biases = np.empty(0, weight.dtype) if bias is None else bias
    drawn_bias = np.zeros(drawn, weight.dtype) if bias is None else bias[sets.drawn]
    output = DrawnOutput(
        np.empty((n, drawn), weight.dtype),
        np.empty(len(lists.ids), weight.dtype),
        np.empty_like(vectors),
        np.empty(n),
    )
    factor, arguments = 1 / max(n, 1) if scale is None else scale, optimizer.arguments(weight.dtype)

    def work(begin: int, end: int) -> None:
        softmax_drawn(
            begin, end, rows, columns, drawn_bias, sets.targets.starts, sets.targets.ids, lists.starts, lists.ids,
            sets.own.positives, vectors, weight, biases, factor, many, *arguments, flags,
            output.shared, output.delta, output.gradient, output.loss,
        )  # fmt: skip

    threads.over(n, work, 8)
    return output
