"""Reads data sets in the text format of LIBSVM: an item per line, `label i:v i:v ...` or `l1,l2,... i:v ...`.

The grammar is that of `hooke.readers.xmlc`, with these differences:

- there is no first line with counts: features and labels are those that occur, in both parts together;
- features count from 1;
- labels are -1 and +1, which become the classes 0 and 1, or whole numbers from 0, which stay as they are;
- a line with neither label nor feature is an error, unless only such lines follow.

Comments (`#`) and `qid:` are errors.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hooke.errors import DataInvalid, DataMissing
from hooke.readers import bag_files
from hooke.readers.bag_files import Files
from hooke.readers.sparse_lines import EMPTY, MOST_IDS, NEGATIVE, OTHER, Rules

if TYPE_CHECKING:
    from hooke.objective.bags import Bags
    from hooke.readers.sparse_tokens import Block

KIND = "libsvm"
RULES = Rules(features=MOST_IDS, labels=MOST_IDS, first=1, libsvm=True)


def find(name: str, workload: str = "libsvm-mlp", folders: bool = True) -> Files:
    """Return the files of a data set: `<name>` and `<name>.t`, or `<name>/train.txt` and `<name>/test.txt`.

    In $HOOKE_DATA/libsvm or $HOOKE_DATA, each also with .gz; the file of the test part is optional. `folders`:
    whether a folder of $HOOKE_DATA itself counts, too, whose files might be in another format. Only presence is
    checked. Raises DataMissing with the files to provide.
    """
    put = (
        f"Put the training part into a file `{KIND}/{name}` and the test part into `{KIND}/{name}.t` (or with .gz)"
    )
    places = bag_files.folders(name, KIND, workload, "a data set in the LIBSVM format", put)
    for place in places:
        beside = place.with_name(f"{place.name}.t")
        inside = [place / "train.txt"] if folders or place is places[0] else []
        if train := bag_files.existing(place, *inside):
            return Files(train, bag_files.existing(place / "test.txt" if train.parent == place else beside))
    looked = " nor ".join(f"{place} nor {place / 'train.txt'}" for place in places)
    raise DataMissing(f"{workload} does not find its data: there is neither a file {looked}, also with .gz. {put}")


def parts(name: str, workload: str = "libsvm-mlp", folders: bool = True) -> tuple[Bags, Bags]:
    """Return the training and the test part, memory-mapped from the cache, opened once per process.

    Without a file of the test part, one item in ten of the file is the test part, by the rule of
    `hooke.objective.parts`; both are then in memory. `folders` is that of `find`. Raises DataMissing for missing
    files, DataInvalid for faults.
    """
    files = find(name, workload, folders)
    with bag_files.READING:
        return _parts(files, name)


@functools.cache
def _parts(files: Files, name: str) -> tuple[Bags, Bags]:
    from hooke.objective.parts import held_out
    from hooke.readers import bag_cache

    texts = [LibsvmText(path) for path in (files.train, files.test) if path]
    loaded = [bag_cache.load(text, KIND, f"{name}-{text.path.name.removesuffix('.gz')}") for text in texts]
    if len(texts) == 1:
        kept, held = held_out(len(loaded[0]))
        return loaded[0].take(kept), loaded[0].take(held)
    if (flags := texts[0].flags | texts[1].flags) & NEGATIVE and flags & OTHER:
        raise DataInvalid(
            f"{files.train} and {files.test}: one has a label -1, the other one labels other than -1 and +1: "
            "number the classes of both parts from 0, or use -1 and +1 alone"
        )
    features, labels = max(text.features for text in texts), max(text.labels for text in texts)
    train, test = (dataclasses.replace(bags, feature_count=features, label_count=labels) for bags in loaded)
    return train, test


def read(path: Path) -> Bags:
    """Return the items of one file in memory, without a cache. Raises DataInvalid with the place of a fault."""
    from hooke.readers import sparse_text

    return sparse_text.collect(LibsvmText(path))


class LibsvmText:
    """A file in the LIBSVM format; `features` and `labels` are known when it has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.features = self.labels = self.flags = 0

    def __iter__(self) -> Iterator[Block]:
        from hooke.readers import sparse_text

        self.features = self.labels = self.flags = 0
        items = 0
        for line, text in sparse_text.lines(self.path):
            block = sparse_text.parsed(self.path, line, text, RULES, self.flags)
            count = int(block.filled.sum())  # only empty lines follow these
            self.flags |= block.flags | (EMPTY if count < len(block) else 0)
            block, items = block.head(count), items + count
            self.features = max(self.features, int(block.features.ids.max(initial=-1)) + 1)
            self.labels = max(self.labels, int(block.labels.ids.max(initial=-1)) + 1)
            yield block
        if not items:
            raise DataInvalid(f"{self.path}, line 1: the file has no item; an item is `label feature:value ...`")
