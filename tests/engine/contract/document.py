"""Finds what the tests verify of each method, and writes docs/algorithms.md, .json and the trajectories on file.

`make algorithms` runs it; `--check` writes nothing and ends with status 1 where the page is another one. What was
verified is collected by pytest from the `property` marks of the contract suite and of the tests of the loop, and
from the cases that they are parametrized with: nothing is listed by hand.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.discovery import built_in
from hooke.catalogue.page import page

from tests.engine.contract import exchanges, trajectories
from tests.engine.contract.cases import Case
from tests.engine.loop.setups import SETUPS

SUITES = (Path(__file__).parent, Path(__file__).parents[1] / "loop")
"""Folders of tests that say by their marks which property of which method they are about."""
PAGE = Path(__file__).parents[3] / "docs" / "algorithms.md"


class Collector:
    """A pytest plugin: (algorithm, property) -> world -> worker counts, of all collected tests."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look at every collected test."""
        for item in session.items:
            parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
            for mark in item.iter_markers("property"):
                world = parameters.get("world", mark.kwargs.get("world", "virtual"))
                for name, workers in subjects(parameters, mark.kwargs):
                    for key in mark.args:
                        self.found[name, key][world].add(workers)


def subjects(parameters: dict[str, Any], stated: dict[str, Any]) -> list[tuple[str, int]]:
    """Return (algorithm, workers) of what a test is about: its case, setup or names, or what its mark states.

    Methods that are written in the tests themselves are in no catalogue, and nothing is said of them.
    """
    if isinstance(case := parameters.get("case"), Case):
        return [(case.algorithm, case.workers)]
    if setup := SETUPS.get(parameters.get("name", "")):
        return [(setup.algorithm, setup.workers)] if setup.algorithm in catalogue() else []
    names = [parameters[key] for key in ("name", "this", "algorithm") if parameters.get(key) in catalogue()]
    workers = parameters.get("workers", stated.get("workers", 1))
    return [(name, workers) for name in (*names, *stated.get("of", ()))]


def collected() -> dict[tuple[str, str], dict[str, set[int]]]:
    """Return what the suites' tests are about, by `pytest --collect-only`."""
    collector = Collector()
    options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = pytest.main([*options, *map(str, SUITES)], plugins=[collector])
    if status:
        raise SystemExit(f"the tests cannot be collected:\n{said.getvalue()}")
    return collector.found


def document() -> str:
    """Return the page of the built-in methods."""
    return page({name: item.cls for name, item in built_in("algorithm").items()}, collected())


def main() -> int:
    """Write trajectories and page, or compare the page."""
    text = document()
    if "--check" in sys.argv:
        return int(PAGE.read_text() != text)
    trajectories.main()
    exchanges.main()
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
