"""The mpirun that a launcher uses: whose it is, its options, and the library that belongs to it."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hooke.cluster.launchers.settings import LauncherSettings, SlurmSettings
from hooke.errors import LaunchError

Family = Literal["hydra", "openmpi"]
"""Hydra starts the ranks of MPICH and of what is made of it (Intel MPI, MVAPICH)."""
LIBRARY = "MPI4PY_LIBMPI"
"""The variable that names the library which mpi4py loads."""
PATIENCE = 10.0
"""Seconds within which `mpirun --version` answers."""


@dataclass(frozen=True)
class Mpirun:
    """An mpirun of this host."""

    path: str
    family: Family
    version: tuple[int, ...]
    """(0,) where it is not told."""
    brand: str = ""
    """Whose Hydra it is; empty: MPICH's."""

    @property
    def implementation(self) -> str:
        """Return name and version of the library that it belongs to."""
        whose = "Open MPI" if self.family == "openmpi" else self.brand or "MPICH"
        return f"{whose} {'.'.join(map(str, self.version))}" if self.version != (0,) else whose

    def options(self, ranks: int, cores: int) -> list[str]:
        """Return the options for so many ranks on so many cores of one host.

        Open MPI refuses to run as root, and to start more ranks than cores, unless it is told; it binds ranks to
        cores of its own choice, whereas Hooke places them (`hooke.hardware.placement`).
        """
        if self.family == "hydra":
            return []
        given = ["--bind-to", "none"]
        if os.geteuid() == 0:
            given.append("--allow-run-as-root")
        if ranks > cores:
            given += ["--map-by", ":OVERSUBSCRIBE"] if self.version >= (5,) else ["--oversubscribe"]
        return given

    def command(self, ranks: int, cores: int, further: Sequence[str], program: Sequence[str]) -> list[str]:
        """Return the command line that starts a program on so many ranks; `further`: options of the site."""
        return [self.path, *self.options(ranks, cores), *further, "-n", str(ranks), *program]


def find(named: Path | None = None) -> Mpirun:
    """Return the mpirun `named`, else the one beside this Python, else the first in PATH.

    Raises LaunchError if there is none, or if it does not tell what it is.
    """
    return _asked(str(named) if named else default_path())


def default_path() -> str:
    """Return the path of mpirun: the one installed beside this Python, else the first in PATH."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        raise LaunchError(
            f"no mpirun beside {sys.executable} and none in PATH: install the `compute` extra "
            "(it brings the mpich wheel), or put a site's MPI into PATH"
        )
    return found


@functools.cache
def _asked(path: str) -> Mpirun:
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{path} --version: {error}: name another mpirun in the launcher's settings") from None
    return parse_version(path, said.stdout + said.stderr)


def parse_version(path: str, text: str) -> Mpirun:
    """Return what `mpirun --version` says of itself. Raises LaunchError for an mpirun of an unknown kind."""
    if found := re.search(r"\((?:Open MPI|OpenRTE)\)\s*v?([\d.]+)", text):
        return Mpirun(path, "openmpi", _numbers(found[1]))
    if "HYDRA" in text or "Intel(R) MPI" in text:
        numbers = re.search(r"Version:?\s*([\d.]+)", text)
        brand = "Intel MPI" if "Intel(R) MPI" in text else ""
        return Mpirun(path, "hydra", _numbers(numbers[1]) if numbers else (0,), brand)
    if "PRRTE" in text or "PMIx Reference RunTime" in text:
        return Mpirun(path, "openmpi", (5,))  # Open MPI 5 starts ranks with it, and calls itself by its name
    first = next(iter(text.strip().splitlines()), "nothing")
    raise LaunchError(
        f"{path} is neither MPICH's nor Open MPI's: `--version` says {first!r}; "
        "name one of these in the launcher's settings (mpirun = ...)"
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip(".").split(".") if part) or (0,)


def library_of(settings: LauncherSettings) -> str | None:
    """Return name and version of the MPI library of a launcher's ranks; None: it is not known here.

    Of an mpirun it is the one that the mpirun belongs to, also where another one is installed beside this Python.
    Under srun, ranks load the library that is named, or the one that mpi4py finds.
    """
    if isinstance(settings, SlurmSettings) and settings.start == "srun":
        return None if settings.libmpi is None else str(settings.libmpi)
    return _library(settings.mpirun)


@functools.cache
def _library(named: Path | None) -> str | None:
    try:
        return find(named).implementation
    except LaunchError:
        return None


def variables_of_library(
    mpirun: Mpirun, named: Path | None, folder: Path, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that make mpi4py load the library of this mpirun; a mismatch would make N runs of one.

    mpi4py's wheel finds the wheel of MPICH by itself. `folder`: of the launch, for a link to a library of another
    name; `inherited`: the environment so far. Raises LaunchError if Open MPI's library is not found.
    """
    if named is not None:
        return _loaded(named, folder, inherited)
    if LIBRARY in os.environ:
        return {}
    places = _places(mpirun.path)
    names = ("libmpi.so.40",) if mpirun.family == "openmpi" else ("libmpi.so.12", "libmpich.so.12")
    if found := next((place / name for name in names for place in places if (place / name).exists()), None):
        return _loaded(found, folder, inherited)
    if mpirun.family == "hydra":
        return {}  # a Hydra starts ranks of any MPICH
    raise LaunchError(
        f"{mpirun.path} is Open MPI's, but there is no libmpi.so.40 in {', '.join(map(str, places))}: "
        "name it in the launcher's settings (libmpi = ...)"
    )


def _loaded(library: Path, folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make mpi4py load a library.

    mpi4py's wheel needs a `libmpi.so.12`. Debian's MPICH is called `libmpich.so.12`, so it is linked by that name.
    """
    if not library.name.startswith("libmpich.so"):
        return {LIBRARY: str(library)}
    link = folder / "lib" / "libmpi.so.12"
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        link.symlink_to(library.absolute())
    searched = filter(None, [str(link.parent), inherited.get("LD_LIBRARY_PATH")])
    return {LIBRARY: str(library), "LD_LIBRARY_PATH": os.pathsep.join(searched)}


def _places(path: str) -> Sequence[Path]:
    """Return the folders that may hold the library of an mpirun, before and after links are followed."""
    triple = sysconfig.get_config_var("MULTIARCH") or ""
    prefixes = dict.fromkeys([Path(path).absolute().parent.parent, Path(path).resolve().parent.parent])
    return [prefix / lib for prefix in prefixes for lib in ("lib", "lib64", f"lib/{triple}") if lib != "lib/"]
