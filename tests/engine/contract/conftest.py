"""Plays cases: the virtual ones on demand, all that need MPI in a single mpirun, on first use."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hooke.catalogue import algorithm

from tests import warm_ranks
from tests.checkout import ROOT, python_path
from tests.engine.contract import suite
from tests.engine.contract.cases import Case, Played, World, play_virtual

PROGRAM, RANKS = "tests.engine.contract.program", 5
"""By its name: to import it would be to begin MPI."""
LIMIT = 240
"""Seconds after which a hanging mpirun is ended."""

Play = Callable[[Case, World], list[Played]]


def pytest_configure() -> None:
    """Refuse names of methods that are none: every test would be deselected, without a reason."""
    if wrong := suite.untested():
        raise pytest.UsageError(f"{suite.ONLY}: {'; '.join(wrong)}")


def mpirun() -> str:
    """Return the mpirun beside this Python."""
    return str(Path(sys.executable).with_name("mpirun"))


def search_path() -> str:
    """Return PYTHONPATH for a program of these tests: the repository, and what is in it already."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def run_program(folder: Path, ranks: int, cases: list[Case]) -> tuple[int, str]:
    """Play cases under MPI; return the exit status and the output. No process outlives the call."""
    (folder / "cases.pkl").write_bytes(pickle.dumps(cases))
    command = [mpirun(), "-n", str(ranks), sys.executable, "-m", "mpi4py"]
    command += ["-m", PROGRAM, str(folder)]
    own = {"UCX_LOG_LEVEL": "error", "PYTHONPATH": python_path(warm_ranks.INTERPRETERS)}
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | warm_ranks.environment() | own,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            status = -1
        output.seek(0)
        return status, output.read()


@pytest.fixture(scope="session")
def mpi_results(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, list[Played]]:
    """Return what every rank reported of every case played under MPI."""
    folder = tmp_path_factory.mktemp("contract")
    cases = suite.mpi_cases()
    status, output = run_program(folder, RANKS, cases)
    if status:
        pytest.fail(f"the contract program ended with status {status}:\n{output[-6000:]}", pytrace=False)
    return {
        case: [pickle.loads((folder / f"{number}.{rank}.pkl").read_bytes()) for rank in range(case.ranks)]
        for number, case in enumerate(cases)
    }


@pytest.fixture(scope="session")
def virtual_results() -> dict[Case, list[Played]]:
    """Return what has been played in the virtual world so far."""
    return {}


@pytest.fixture(scope="session")
def virtual_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the folders of cases are: among those of other tests, pytest counts all of them for each."""
    return tmp_path_factory.mktemp("virtual")


@pytest.fixture(scope="session")
def virtual_places() -> dict[Case, Path]:
    """Return the folder of each case that has been played in the virtual world so far."""
    return {}


@pytest.fixture
def played(
    request: pytest.FixtureRequest,
    virtual_results: dict[Case, list[Played]],
    virtual_places: dict[Case, Path],
    virtual_folder: Path,
) -> Play:
    """Return a function that plays a case in a world, and returns the report of every rank.

    A folder is made for a case that is played, not for every test: most tests look at what others have played.
    """

    def get(case: Case, world: World) -> list[Played]:
        if world == "mpi":
            return request.getfixturevalue("mpi_results")[case]
        if case not in virtual_results:
            virtual_places[case] = Path(tempfile.mkdtemp(dir=virtual_folder))
            virtual_results[case] = play_virtual(case, virtual_places[case], case in suite.written())
        return virtual_results[case]

    return get


@pytest.fixture
def catalogued(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[algorithm.Algorithm]], None]:
    """Return a function that adds a class to the catalogue."""

    def put(cls: type[algorithm.Algorithm]) -> None:
        known = algorithm.catalogue() | {cls.id(): cls}
        for module in ("hooke.catalogue.algorithm", "tests.engine.contract.cases"):
            monkeypatch.setattr(f"{module}.catalogue", lambda: known)

    return put
