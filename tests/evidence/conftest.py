"""A store of one machine: the ladder at two hosts, a few paces; recorded runs with times of their own."""

from pathlib import Path

import pytest

from benchmarks.evidence.matrix import FULL
from benchmarks.evidence.pages import BEGIN, END, index, write
from benchmarks.evidence.store import Store
from tests.evidence.storing import RECORDED, method, pace, stored
from tests.netlab.conftest import noise  # noqa: F401 - a fixture

SECONDS = {
    "Original EASGD, ordered": (100.0, 104.0, 99.0, 101.0, 102.0),
    "Sync EASGD1": (83.0, 84.0, 82.0, 83.5, 83.0),
    "Sync EASGD2": (82.0, 85.0, 81.0, 84.0, 83.5),
    "Sync EASGD3": (50.0, 52.0, 49.5, 50.5, 51.0),
    "Best Sync EASGD": (25.0, 26.0, 25.5),
    "PyTorch DDP": (40.0, 41.0, 39.0),
}


@pytest.fixture(scope="session")
def recorded():
    """Return (runs by key, sessions) as a store holds them; some of the matrix only."""
    runs = {}
    for label, times in SECONDS.items():
        runs |= method("2-hosts", label, dict(enumerate(times)))
    for label, rate in (("Sync EASGD3", 900.0), ("communication off", 4000.0), ("Sync EASGD3, per layer", 800.0)):
        runs |= pace("2-hosts", label, {n: rate * (1 + n / 100) for n in range(3)})
    for n, label in enumerate(("rung: Original EASGD, ordered", "rung: Sync EASGD3")):
        runs |= pace("copy-2", label, {0: 100.0 * (1 + 4 * n)})
    for label, rate in (("Hooke, bf16", 1000.0), ("plain PyTorch, bf16", 990.0)):
        runs |= pace("here", label, {n: rate + n for n in range(3)})
    return runs, RECORDED["sessions"]


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
