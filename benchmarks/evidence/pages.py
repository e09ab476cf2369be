"""Writes the pages of a machine, their tables and figures from raw data, and the raw data from stored results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.evidence import (
    codesign_page,
    machines_page,
    pace_page,
    place_page,
    records,
    replication_page,
    summary_page,
)
from benchmarks.evidence.figures import draw
from benchmarks.evidence.finding_table import COLUMNS
from benchmarks.evidence.matrix import FULL, Matrix
from benchmarks.evidence.records import DATA
from benchmarks.evidence.store import Store
from benchmarks.evidence.summary import Summary
from benchmarks.evidence.view import view_of

MAKE, MAKE_QUICK = "make bench", "make bench QUICK=1"
BEGIN, END = "<!-- written by `python -m benchmarks.evidence pages` -->", "<!-- end -->"


def write(matrix: Matrix, store: Store | None, target: Path) -> list[Path]:
    """Write all pages and data below `target`; return the files. Raises FileNotFoundError if there are no results.

    With a store its results become the raw data in `target`; without one the pages are made from the raw data
    there. They cover the part of `matrix` that the machine could measure (`view_of`).
    """
    if store is not None:
        evidence = store.evidence()
        if not evidence.runs:
            raise FileNotFoundError(f"no result in {store.folder}")
        records.write(target / DATA, evidence)
    view = view_of(matrix, records.read(target / DATA))
    make = MAKE_QUICK if matrix.quick else MAKE
    written = list[Path]()
    for name, one in (("replication", replication_page), ("codesign", codesign_page)):
        written.append(_page(target / f"{name}.md", one.page(view, make)))
        written.append(_csv(target / f"{name}.csv", COLUMNS, one.rows(view)))
    written.append(_page(target / "pace.md", pace_page.page(view, make)))
    for place in view.matrix.places:
        written.append(_page(target / f"{place}.md", place_page.page(view, place, make)))
        written.append(_csv(target / f"{place}.csv", place_page.TABLE_COLUMNS, place_page.rows(view, place)))
    return written + draw(view, target / "figures")


def machines(results: Path) -> Iterator[Path]:
    """Yield the folders of `results` that contain the raw data of a machine."""
    yield from sorted(path.parent.parent for path in results.glob(f"*/{DATA}/{records.RUNS}"))


def index(results: Path) -> Summary:
    """Write the summary of all machines into the index of results, if there is one, between two comments.

    The page with every ratio by machine and that with all methods are written next to it; `summary_figures.draw`
    draws the figures of the summary that is returned.
    """
    path = results / "README.md"
    summary = Summary({folder.name: view_of(FULL, records.read(folder / DATA)) for folder in machines(results)})
    if not path.exists():
        return summary
    head, begin, rest = path.read_text().partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} lacks one of the lines {BEGIN!r} and {END!r}, which enclose its summary")
    lines = ["No machine has been measured with the present rules."]
    if summary.views:
        lines = list(summary_page.page(summary))
        _page(results / "machines.md", machines_page.page(summary))
        _page(results / summary_page.BEHIND, summary_page.behind(summary))
    path.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{tail}")
    return summary


def _page(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path


def _csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
