"""A generated data set of covtype's shape, where that one is not at hand: ten numbers, two choices as indicators.

Classes are those of a random perceptron with one hidden layer, and one in fifty is exchanged. Nothing else of
covtype is in it: results on it say how fast steps are and how methods compare, not how well covtype is learned.
"""

from __future__ import annotations

from pathlib import Path

NAME, ITEMS, FEATURES = "covtype-like", 40_000, 54
NUMBERS, CHOICES = 10, (4, 40)
"""Columns with numbers; and indicators of each choice, of which an item has one."""
HIDDEN, EXCHANGED = 8, 0.02


def make(data: Path, items: int = ITEMS, seed: int = 0) -> Path:
    """Write the data set to a folder for HOOKE_DATA, unless it is there; return its file."""
    import numpy as np

    path = data / "libsvm" / NAME
    if path.exists():
        return path
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(items, NUMBERS)).round(3)
    chosen = [random.choice(count, items, p=random.dirichlet(np.ones(count))) for count in CHOICES]
    rows = np.concatenate(
        [numbers, *(np.eye(count)[which] for count, which in zip(CHOICES, chosen, strict=True))], 1
    )
    inner = random.normal(size=(FEATURES, HIDDEN)) * 0.7
    score = np.tanh(rows @ inner) @ random.normal(size=HIDDEN)
    positive = (score > np.median(score)) ^ (random.random(items) < EXCHANGED)
    lines = []
    for sign, row, first, second in zip(positive, numbers.tolist(), *chosen, strict=True):
        told = [f"{column}:{value:g}" for column, value in enumerate(row, 1)]
        told += [f"{NUMBERS + 1 + first}:1", f"{NUMBERS + CHOICES[0] + 1 + second}:1"]
        lines.append(f"{'+1' if sign else '-1'} {' '.join(told)}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path
