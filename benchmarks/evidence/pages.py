"""Writes the pages of a machine, their tables and figures from raw data, and the raw data from stored results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.evidence import codesign_page, pace_page, place_page, records, replication_page
from benchmarks.evidence.figures import draw
from benchmarks.evidence.finding_table import COLUMNS
from benchmarks.evidence.matrix import FULL, Matrix
from benchmarks.evidence.records import DATA
from benchmarks.evidence.replication_page import compared
from benchmarks.evidence.store import Store
from benchmarks.evidence.view import View, view_of
from benchmarks.evidence.wording import processor, table, title_of

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


def index(results: Path) -> None:
    """Write the findings of all machines into the index of results, if there is one, between two comments."""
    path = results / "README.md"
    if not path.exists():
        return
    text = path.read_text()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} lacks one of the lines {BEGIN!r} and {END!r}, which enclose its table")
    views = {folder.name: view_of(FULL, records.read(folder / DATA)) for folder in machines(results)}
    rows = [row for name, view in views.items() for row in _index_rows(name, view)]
    lines = list[str]()
    if views:
        found = ((what, *(said.get(name, "not measured") for name in views)) for what, said in compared(views))
        header = ("replication", *(f"{processor(view)}, {view.matrix.precision}" for view in views.values()))
        lines = [*table(("machine", "page", "what"), rows), "", *table(header, found)]
    path.write_text(
        f"{head}{begin}\n"
        + "\n".join(lines or ["No machine has been measured with the present rules."])
        + f"\n{end}{tail}"
    )


def _index_rows(name: str, view: View) -> Iterable[tuple[str, str, str]]:
    there = f"{len(view.runs)} runs"
    yield processor(view), f"[replication]({name}/replication.md)", f"the paper's methods as published; {there}"
    yield (
        "",
        f"[co-design]({name}/codesign.md)",
        "Sync EASGD with every means and its peers, and the effect of each means",
    )
    for place in view.matrix.places:
        yield "", f"[{place}]({name}/{place}.md)", f"time to the target, and its parts: {title_of(place)}"
    yield "", f"[pace]({name}/pace.md)", "one worker and plain PyTorch, weak scaling, the limit of the wire"


def _page(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path


def _csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
