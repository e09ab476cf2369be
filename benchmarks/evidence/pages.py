"""Writes the pages, their tables and figures from raw data, and the raw data from stored results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.evidence import claims_page, pace_page, place_page, records
from benchmarks.evidence.conditions import QUICK, Matrix
from benchmarks.evidence.figures import draw
from benchmarks.evidence.store import Store
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import count_at, table, title_of

MAKE, MAKE_QUICK = "make bench", "make bench QUICK=1"
BEGIN, END = "<!-- written by `python -m benchmarks.evidence pages` -->", "<!-- end -->"


def write(matrix: Matrix, store: Store | None, target: Path) -> list[Path]:
    """Write everything below `target`; return the files. Raises FileNotFoundError where nothing has been run.

    With a store its results replace the raw data in `target`; without one the pages are made of what lies there.
    """
    if store is not None:
        runs = store.load()
        if not runs:
            raise FileNotFoundError(f"no result in {store.folder}")
        records.write(target / "data", runs, store.sessions())
    view = View(matrix, records.read(target / "data"))
    make = MAKE_QUICK if matrix.seeds == QUICK.seeds else MAKE
    written = [_page(target / "claims.md", claims_page.page(view, make))]
    written.append(_csv(target / "claims.csv", claims_page.CSV_COLUMNS, claims_page.rows(view)))
    written.append(_page(target / "pace.md", pace_page.page(view, make)))
    for place in matrix.places:
        written.append(_page(target / f"{place}.md", place_page.page(view, place, make)))
        written.append(_csv(target / f"{place}.csv", place_page.TABLE_COLUMNS, place_page.rows(view, place)))
    _index(target / "README.md", view, make)
    return written + draw(view, target / "figures")


def _index(path: Path, view: View, make: str) -> None:
    """Write the table of these pages into the index of all results, where there is one, between two comments."""
    if not path.exists():
        return
    text = path.read_text()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has lost one of the lines {BEGIN!r} and {END!r}, between which its table stands")
    there, wanted = view.missing()
    rows = [("[claims](claims.md)", f"each claim of the paper, and what was measured; {there} of {wanted} runs")]
    for place in view.matrix.places:
        counted = "{} of {} runs".format(*count_at(view, place))
        rows.append(
            (f"[{place}]({place}.md)", f"time to the target, and where it goes: {title_of(place)}; {counted}")
        )
    rows.append(("[pace](pace.md)", "one worker beside plain PyTorch, weak scaling, the limit of the wire"))
    lines = table(("page", "what", "command"), ((*row, f"`{make}`") for row in rows))
    path.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{tail}")


def _page(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("\n".join(lines).rstrip() + "\n")
    return path


def _csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path
