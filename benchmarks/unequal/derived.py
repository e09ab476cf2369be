"""A data set with many features and few labels: the most frequent ones of finna-yso-en, records of libraries.

Labels and features of that set are numbered by falling frequency; items without any of the labels that are kept,
or without any of the features, are left out. Rows had norm 1 with all features.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE, NAME = "finna-yso-en", "finna-50"
LABELS, FEATURES = 50, 20_000


def derive(data: Path, into: Path) -> Path:
    """Make the data set in a folder for HOOKE_DATA, with links to all else in `data`; return its own folder.

    Raises FileNotFoundError if `data` does not hold the set that it is made of.
    """
    folder = into / NAME
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train.txt", "test.txt"):
        with gzip.open(data / SOURCE / f"{part}.gz", "rt") as lines:
            next(lines)  # the counts
            kept = list(shortened(lines))
        (folder / part).write_text(f"{len(kept)} {FEATURES} {LABELS}\n" + "".join(kept))
    for other in data.iterdir():
        if not (link := into / other.name).exists():
            link.symlink_to(other.resolve())
    return folder


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines `l1,l2 f:v f:v ...` that have kept labels and features, with these alone."""
    for line in lines:
        told, *features = line.split()
        labels = [label for label in told.split(",") if ":" not in label and int(label) < LABELS]
        kept = [each for each in features if int(each.partition(":")[0]) < FEATURES]
        if labels and kept:
            yield f"{','.join(labels)} {' '.join(kept)}\n"
