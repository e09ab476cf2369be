"""Plays traced runs: virtual ones one by one, those over MPI in a single mpirun, on first use."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hooke.comm.virtual.communicator import run_virtual
from hooke.spec.journal import records
from hooke.trace.export import Written, write

from tests.engine.comm.worlds import mpirun
from tests.engine.trace.cases import RANKS, play, spec_of


@dataclass
class Traced:
    """A run that has ended: the document that was made of it, and what its journals say."""

    folder: Path
    document: Any
    done: list[Any]
    written: Written


@pytest.fixture(scope="session")
def mpi_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    ended = mpirun(RANKS, "tests.engine.trace.program", str(folder))
    if ended.returncode:
        pytest.fail(f"the program ended with status {ended.returncode}:\n{ended.stderr[-6000:]}", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Traced]:
    """Return a function that plays a case in a world, once."""
    found: dict[tuple[str, str], Traced] = {}

    def get(name: str, world: str) -> Traced:
        if (name, world) not in found:
            if world == "mpi":
                folder = request.getfixturevalue("mpi_folder") / name
            else:
                folder = tmp_path_factory.mktemp("virtual")
                network = spec_of(name, world).virtual
                assert network is not None
                run_virtual(RANKS, network, lambda comm: play(comm, name, folder, world))
            target = folder / "trace.json"
            written = write(folder, RANKS, target)
            done = [list(records(folder / f"journal.{rank}.jsonl"))[-1] for rank in range(RANKS)]
            found[name, world] = Traced(folder, json.loads(target.read_text()), done, written)
        return found[name, world]

    return get
