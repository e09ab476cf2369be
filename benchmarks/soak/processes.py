"""The processes of attempts on this machine, by what they are; and a watch for two attempts of a run at once."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

RANK, MPIRUN, GUARD, SUPERVISOR = "rank", "mpirun", "guard", "supervisor"
OTHER = "another process"


@dataclass(frozen=True)
class Found:
    """One process."""

    pid: int
    what: str
    attempts: tuple[str, ...]
    """`<run>.<attempt>` of each that it is for."""

    @property
    def runs(self) -> list[str]:
        """Return the ids of their runs."""
        return [name.rpartition(".")[0] for name in self.attempts]

    def __str__(self) -> str:
        return f"{self.what} {self.pid} of {', '.join(self.attempts[:3]) or 'a job'}"


def living(homes: Iterable[Path]) -> Iterator[Found]:
    """Yield every living process of attempts and supervisors that belongs to one of these homes."""
    marks = [os.fsencode(home) for home in homes]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (found := _look(entry, marks)) is not None:
            yield found


def _look(entry: Path, marks: list[bytes]) -> Found | None:
    try:
        command = (entry / "cmdline").read_bytes()
        if not any(mark in command for mark in marks) or b"hooke.cluster.agent" in command:
            return None
        status = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        environment = (entry / "environ").read_bytes().split(b"\0")
    except (OSError, IndexError):
        return None
    if status in "ZX":
        return None
    named = next((v[14:].decode() for v in environment if v.startswith(b"HOOKE_ATTEMPT=")), "")
    return Found(int(entry.name), _what(command.split(b"\0")), tuple(filter(None, named.split(","))))


def _what(words: list[bytes]) -> str:
    if b"hooke.cluster.supervisor" in words:
        return SUPERVISOR
    if Path(os.fsdecode(words[0])).name in ("mpirun", "mpiexec", "mpiexec.hydra"):
        return MPIRUN
    if b"hooke.cluster.guard" in words:  # a launch agent's shell quotes the words, and is no guard
        return GUARD
    return RANK if b"hooke.loop.train" in words else OTHER


class Watch(threading.Thread):
    """Looks several times a second whether ranks of two attempts of one run live at once."""

    def __init__(self, homes: Iterable[Path], every: float = 0.5) -> None:
        super().__init__(name="watch", daemon=True)
        self._homes, self._every = list(homes), every
        self._ended = threading.Event()
        self.twice: dict[str, set[str]] = {}
        """Run -> the attempts that were seen at once in two looks in a row."""
        self._before: dict[str, set[str]] = {}

    def run(self) -> None:
        """Look until stopped."""
        while not self._ended.wait(self._every):
            self.look(living(self._homes))

    def look(self, found: Iterable[Found]) -> None:
        """Note the runs of which ranks of several attempts live."""
        attempts: dict[str, set[str]] = defaultdict(set)
        for process in found:
            if process.what == RANK:
                for name in process.attempts:
                    attempts[name.rpartition(".")[0]].add(name)
        several = {run: names for run, names in attempts.items() if len(names) > 1}
        for run, names in several.items():
            if len(both := names & self._before.get(run, set())) > 1:
                self.twice.setdefault(run, set()).update(both)
        self._before = several

    def stop(self) -> None:
        """Return when it has ended."""
        self._ended.set()
        self.join()
