"""Plays setups: virtual ones on demand, all that need MPI in a single mpirun, on first use."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engine.comm.worlds import mpirun
from tests.engine.loop.setup import Report, Setup, World, play_virtual
from tests.engine.loop.setups import SETUPS


@dataclass
class Played:
    """What came of a setup."""

    setup: Setup
    folder: Path
    ranks: list[list[Report]]
    """Of every rank: the report of each attempt."""

    @property
    def first(self) -> list[Report]:
        return [reports[0] for reports in self.ranks]

    @property
    def last(self) -> list[Report]:
        return [reports[-1] for reports in self.ranks]


Play = Callable[[str, World], Played]
PROGRAM, RANKS = "tests.engine.loop.program", 4
"""By its name: to import it would be to begin MPI."""


@pytest.fixture(scope="session")
def mpi_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "setups.pkl").write_bytes(pickle.dumps(SETUPS))
    ended = mpirun(RANKS, PROGRAM, str(folder))
    if ended.returncode:
        pytest.fail(f"the program ended with status {ended.returncode}:\n{ended.stderr[-6000:]}", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Return a function that plays a setup in a world, once."""
    found: dict[tuple[str, World], Played] = {}

    def get(name: str, world: World) -> Played:
        setup = SETUPS[name]
        if (name, world) in found:
            return found[name, world]
        if world == "mpi":
            folder: Path = request.getfixturevalue("mpi_folder")
            ranks = [pickle.loads((folder / f"{name}.{r}.pkl").read_bytes()) for r in range(setup.ranks)]
            found[name, world] = Played(setup, folder / name, ranks)
        else:
            folder = tmp_path_factory.mktemp(name.replace(" ", "-")) / "run"
            found[name, world] = Played(setup, folder, play_virtual(setup, folder))
        return found[name, world]

    return get
