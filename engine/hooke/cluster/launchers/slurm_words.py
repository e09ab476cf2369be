"""Slurm's words: the answers of squeue, sbatch and scontrol, and what they mean for a job."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from hooke.cluster.verdict import Outside

SCRIPT = "job.sh"
FORMAT = "%i|%T|%r|%N|%j|%k"
"""Of squeue: id, state, reason, nodes, name, comment."""
WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"})
ACTIVE = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING", "STAGE_OUT"})
PAUSED = frozenset({"SUSPENDED", "STOPPED"})
_LIMITS = frozenset({"TIMEOUT", "DEADLINE"})
_OWN = frozenset({"COMPLETED", "FAILED"})
"""States in which a job ends by itself: its ranks tell why."""
_FOR_GOOD = re.compile(
    r"invalid partition|invalid account|invalid qos|invalid feature|invalid wckey|invalid generic resource"
    r"|invalid time limit|invalid job constraint|node configuration is not available|unrecognized option"
    r"|invalid option|invalid --|reservation is invalid|more processors requested than permitted"
    r"|parameter too long",
    re.IGNORECASE,
)
"""What sbatch says of a job that no waiting makes acceptable. Anything else, limits among them, may pass."""


@dataclass(frozen=True)
class Line:
    """One job as squeue tells it."""

    job: str
    state: str
    reason: str
    nodes: str
    name: str
    comment: str

    @property
    def words(self) -> str:
        """Return state and reason as squeue writes them, as in `PENDING (Resources)`."""
        return self.state if self.reason in ("", "None") else f"{self.state} ({self.reason})"


def parse(text: str) -> list[Line]:
    """Return the jobs in the answer of `squeue -h -o FORMAT`."""
    return [Line(*fields) for line in text.splitlines() if len(fields := line.strip().split("|", 5)) == 6]


def first_to_begin(lines: Sequence[Line]) -> Line:
    """Return the job of a launch of which none has begun: that is about to, else that waits, else the latest."""

    def number(line: Line) -> int:
        return int(line.job) if line.job.isdigit() else 0

    for states in (ACTIVE, WAITING):
        if some := [line for line in lines if line.state in states]:
            return min(some, key=number)
    return max(lines, key=number)


def refused_for_good(said: str) -> bool:
    """Return whether a refusal of sbatch is about the settings, which waiting does not change."""
    return bool(_FOR_GOOD.search(said))


def outside(line: Line, detail: str = "") -> Outside | None:
    """Return the end that Slurm made of a job; None if it ended by itself. `detail`: `scontrol show job`."""
    if line.state in _OWN:
        return None
    reason = re.search(r"\bReason=(\S+)", detail)
    told = replace(line, reason=reason[1]) if reason and line.reason in ("", "None") else line
    if line.state == "CANCELLED":
        why = f"Slurm job {line.job} was cancelled, not by Hooke but by an operator or with scancel: {told.words}"
        return Outside("cancelled", why)
    if line.state in _LIMITS:
        return Outside("limit", f"Slurm ended job {line.job} at its time limit: {told.words}")
    where = f" on {line.nodes}" if line.nodes else ""
    return Outside("infrastructure", f"Slurm ended job {line.job}{where}: {told.words}")


def exit_status(detail: str) -> int | None:
    """Return the exit status in `scontrol show job`, negative for a signal; None if it is not there."""
    found = re.search(r"\bExitCode=(\d+):(\d+)", detail)
    if found is None:
        return None
    return -int(found[2]) if int(found[2]) else int(found[1])


def name_of(ids: Sequence[str]) -> str:
    """Return the name of the job of these attempts, by which a later supervisor finds it."""
    return f"hooke.{ids[0]}"


def comment_of(ids: Iterable[str]) -> str:
    """Return the comment of the job of these attempts, by which each of them finds it.

    Slurm takes 1024 characters: 64 attempts, whose ids are longer, have marks of 12.
    """
    return f"hooke:{','.join(map(_mark, ids))}"


def is_of(comment: str, ids: Collection[str]) -> bool:
    """Return whether a job with this comment is of any of these attempts; earlier versions wrote the ids."""
    told = comment.removeprefix("hooke:").split(",")
    return not {*ids, *map(_mark, ids)}.isdisjoint(told)


def _mark(id: str) -> str:
    return hashlib.sha256(id.encode()).hexdigest()[:12]


def user() -> str:
    """Return the user whose jobs are searched, as a number: LOGNAME and USER may name another one."""
    return str(os.getuid())
