"""Recorded results of real runs, keyed anew for the matrix as it is now."""

import json
from pathlib import Path

import pytest

from benchmarks.evidence.cells import pace_cells, target_cell
from benchmarks.evidence.conditions import FULL, METHODS, PLACES
from benchmarks.evidence.pages import BEGIN, END, index, write
from benchmarks.evidence.store import Store
from tests.evidence.storing import stored
from tests.netlab.conftest import noise  # noqa: F401 - a fixture

RECORDED = Path(__file__).with_name("recorded.json")


@pytest.fixture(scope="session")
def recorded():
    """Return (runs by key, sessions) as a store holds them: two hosts, one worker; some of the matrix only."""
    document = json.loads(RECORDED.read_text())
    paces = {(cell.place.name, cell.label, cell.seed): cell.key for cell in pace_cells(FULL)}
    runs = {}
    for run in document["runs"]:
        cell = run["cell"]
        if cell["kind"] == "pace":
            key = paces[cell["place"], cell["label"], cell["seed"]]
        else:
            place, method = PLACES[cell["place"]], METHODS[cell["label"]]
            key = target_cell(FULL, place, method, cell["rate"], cell["seed"]).key
        runs[key] = run
    return runs, document["sessions"]


@pytest.fixture(scope="session")
def store(recorded, tmp_path_factory) -> Store:
    return stored(tmp_path_factory.mktemp("store"), *recorded)


@pytest.fixture(scope="session")
def pages(store, tmp_path_factory) -> Path:
    results = tmp_path_factory.mktemp("results")
    (results / "README.md").write_text(f"# Results\n\n{BEGIN}\nold\n{END}\nafter\n")
    write(FULL, store, results / "a-machine")
    index(results)
    return results / "a-machine"
