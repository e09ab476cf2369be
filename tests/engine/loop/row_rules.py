"""Elastic exchanges of touched rows, in float64 NumPy, from the rule alone.

An exchange pulls rows that were moved since the exchange before, by the worker that exchanges or, where all
exchange together, by any worker. Before the first exchange all rows count as moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.engine.contract.objective import Quadratics
from tests.engine.loop.setup import touched_rows

FAMILY = Quadratics(spread=0.3, layers=(100, 1, 37))
ROWS, WIDTHS = (20, 1, 37), (5, 1, 1)
SIZE = 138

Found = list[np.ndarray]
"""For every slice, a flag for each row."""


def rows_of(items: list[int]) -> Found:
    """Return which rows the items of a batch touch; a slice of one row always."""
    flags = [np.zeros(count, bool) for count in ROWS]
    for flag in flags:
        flag[touched_rows(len(flag), items)] = True
    return flags


def every() -> Found:
    return [np.ones(count, bool) for count in ROWS]


def joined(some: list[Found]) -> Found:
    return [np.any(flags, axis=0) for flags in zip(*some, strict=True)]


def elements(found: Found) -> np.ndarray:
    return np.concatenate([np.repeat(flags, width) for flags, width in zip(found, WIDTHS, strict=True)])


def gradient(worker: int, x: np.ndarray, items: list[int]) -> np.ndarray:
    h, b = (np.float64(part) for part in (FAMILY.h(worker), FAMILY.b(worker)))
    force = np.float64(FAMILY.forces()[items]).mean(axis=0)
    return np.where(elements(rows_of(items)), h * (x - b) - force, 0.0)


@dataclass
class Exchanged:
    """The weights at the end, and for every exchange which rows each worker had moved."""

    xs: list[np.ndarray]
    c: np.ndarray
    moved: list[list[Found]] = field(default_factory=list)


def together(
    start: np.ndarray,
    items: list[list[list[int]]],
    lr: float,
    a: float,
    period: int,
    momentum: float = 0.0,
    parts: int = 1,
) -> Exchanged:
    """All exchange at steps 0, tau, 2 tau: c' = c + a sum_i (x_i - c), x_i' = x_i - a (x_i - c) - lr g_i(x_i).

    `momentum` mu: c' has also mu (c - c_before), in all rows. `parts` G: G workers each have one x_i, and step
    along the mean of their gradients.
    """
    workers = range(len(items) // parts)
    xs, c, change = [np.float64(start) for _ in workers], np.float64(start), np.zeros(SIZE)
    moved, noted = [every() for _ in workers], []
    for t in range(len(items[0])):
        of = {i: range(i * parts, (i + 1) * parts) for i in workers}
        steps = [np.mean([gradient(j, xs[i], items[j][t]) for j in of[i]], axis=0) for i in workers]
        if t % period == 0:
            noted.append(moved)
            here = elements(joined(moved))
            stretches = [np.where(here, x - c, 0.0) for x in xs]
            xs = [x - a * stretch for x, stretch in zip(xs, stretches, strict=True)]
            change = a * np.sum(stretches, axis=0) + momentum * change
            c = c + change
            moved = [rows_of([]) for _ in workers]
        xs = [x - lr * step for x, step in zip(xs, steps, strict=True)]
        moved = [joined([before, *(rows_of(items[j][t]) for j in of[i])]) for i, before in enumerate(moved)]
    return Exchanged(xs, c, noted)


def in_turn(start: np.ndarray, items: list[list[list[int]]], lr: float, a: float) -> Exchanged:
    """One worker after the other exchanges at each of its steps: c' = c + a (x_i - c), by its own rows."""
    workers = range(len(items))
    xs, c = [np.float64(start) for _ in workers], np.float64(start)
    moved, noted = [every() for _ in workers], []
    for t in range(len(items[0])):
        for i in workers:
            step = gradient(i, xs[i], items[i][t])
            noted.append([moved[i]])
            stretch = np.where(elements(moved[i]), xs[i] - c, 0.0)
            c = c + a * stretch
            xs[i] = xs[i] - a * stretch - lr * step
            moved[i] = rows_of(items[i][t])
    return Exchanged(xs, c, noted)
