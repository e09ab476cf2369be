"""The layout of an agent's home folder.

    HOME/jobs/<job>/            job.json, tokens.json (0600), supervisor.log, delivered
    HOME/runs/<run>/<attempt>/  spec.json, supervisor.lock, journal.<rank>.jsonl, rank.<rank>.log,
                                exit.<rank>.json, launcher.log, reports.jsonl, log.jsonl, cancel, dead, delivered

What ranks write is in its folder `ranks` if they run under another account (`hooke.cluster.accounts`).

A marker is a file whose existence is the message; it survives the process that wrote it.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hooke.cluster.accounts import RANKS, own
from hooke.errors import NotFound

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def append_line(path: Path, text: str, *, sync: bool = False) -> None:
    """Append a line to a file: all of it or nothing, so that a full disk leaves no half line. Raises OSError."""
    with own(), path.open("ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        data = text.encode() + b"\n"
        try:
            while data:
                data = data[file.write(data) :]
            if sync:
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(file.fileno(), size)
            raise


def described(error: OSError) -> str:
    """Return an error of the system with its name and file: `No space left on device (ENOSPC): /home/...`."""
    name = errno.errorcode.get(error.errno or 0, "")
    place = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{f' ({name})' if name else ''}{place}"


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file atomically: readers, also after a crash, see all of it or nothing."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class AttemptFolder:
    """The folder of one attempt."""

    path: Path
    run: str
    attempt: int

    @property
    def id(self) -> str:
        """Return `<run>.<attempt>`, the value of HOOKE_ATTEMPT in each of its processes."""
        return f"{self.run}.{self.attempt}"

    @property
    def ranks(self) -> Path:
        """The folder that the ranks write to: this one, or theirs if they run under another account."""
        theirs = self.path / RANKS
        return theirs if theirs.is_dir() else self.path

    @property
    def spec(self) -> Path:
        """The resolved RunSpec as JSON."""
        return self.ranks / "spec.json"

    @property
    def lock(self) -> Path:
        """Lock held by the supervisor while it lives."""
        return self.path / "supervisor.lock"

    @property
    def job(self) -> Path:
        """File with the name of the attempt's job."""
        return self.path / "job"

    @property
    def token_sha256(self) -> Path:
        """SHA-256 of the attempt's token: it proves to the API that this agent has received the attempt."""
        return self.path / "token.sha256"

    @property
    def cancel(self) -> Path:
        """Marker: the end of this attempt has been requested; if not started yet, it is skipped."""
        return self.path / "cancel"

    @property
    def dead(self) -> Path:
        """Marker: this attempt was declared dead to the API, so it must never start."""
        return self.path / "dead"

    @property
    def delivered(self) -> Path:
        """Marker: the API has acknowledged all data of this attempt."""
        return self.path / "delivered"

    @property
    def reports(self) -> Path:
        """Every StateReport so far, one JSON line each."""
        return self.path / "reports.jsonl"

    @property
    def log(self) -> Path:
        """The numbered lines of output that were or will be shipped."""
        return self.path / "log.jsonl"

    @property
    def launcher_log(self) -> Path:
        """The output of mpirun itself."""
        return self.path / "launcher.log"

    @property
    def launched(self) -> Path:
        """The batch job of the launch that begins with this attempt (`hooke.cluster.batch.Launched`)."""
        return self.path / "launched.json"

    @property
    def system(self) -> Path:
        """Samples of what the ranks on this host use, one JSON line each (`hooke.cluster.sampling`)."""
        return self.path / "system.jsonl"

    def journal(self, rank: int) -> Path:
        """Return the journal of a rank."""
        return self.ranks / f"journal.{rank}.jsonl"

    def rank_log(self, rank: int) -> Path:
        """Return the output of a rank."""
        return self.ranks / f"rank.{rank}.log"

    def exit(self, rank: int) -> Path:
        """Return the guard's record of how a rank ended."""
        return self.ranks / f"exit.{rank}.json"

    def begun(self) -> bool:
        """Return whether a rank has written anything; if so, the attempt is never started again."""
        return any(self.ranks.glob("journal.*.jsonl"))


@dataclass(frozen=True)
class JobFolder:
    """The folder of one order to an agent: the attempts that one supervisor owns."""

    path: Path

    @property
    def description(self) -> Path:
        """A Job as JSON; holds no secret."""
        return self.path / "job.json"

    @property
    def tokens(self) -> Path:
        """The attempts' tokens, readable by the owner only; removed after complete delivery."""
        return self.path / "tokens.json"

    @property
    def offered(self) -> Path:
        """Tokens of later claims of its attempts: of use if the server does not know the first ones any more."""
        return self.path / "offered.json"

    @property
    def delivered(self) -> Path:
        """Marker: the job is finished and delivered."""
        return self.path / "delivered"

    @property
    def supervisor_log(self) -> Path:
        """Log of the supervisor: its own errors and those of the API."""
        return self.path / "supervisor.log"


@dataclass(frozen=True)
class Home:
    """The folder with the persistent state of an agent."""

    path: Path

    def attempt(self, run: str, attempt: int) -> AttemptFolder:
        """Return the folder of an attempt. Raises NotFound for a name that would leave the home."""
        if not _SAFE.fullmatch(run) or attempt < 1:
            raise NotFound(f"{run!r} attempt {attempt} cannot be the name of a folder")
        return AttemptFolder(self.path / "runs" / run / str(attempt), run, attempt)

    def job(self, name: str) -> JobFolder:
        """Return the folder of a job. Raises NotFound for a name that would leave the home."""
        if not _SAFE.fullmatch(name):
            raise NotFound(f"{name!r} cannot be the name of a folder")
        return JobFolder(self.path / "jobs" / name)

    def jobs(self) -> list[JobFolder]:
        """Return every job, the oldest first."""
        return [JobFolder(path.parent) for path in sorted(self.path.glob("jobs/*/job.json"))]

    def attempts(self) -> list[AttemptFolder]:
        """Return every attempt that has a folder here."""
        found = self.path.glob("runs/*/*/supervisor.lock")
        return [self.attempt(path.parent.parent.name, int(path.parent.name)) for path in sorted(found)]
