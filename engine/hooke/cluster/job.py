"""The job that an agent passes to a supervisor: attempts, the API to report to, and time limits."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from hooke.cluster.launchers.base import TRAIN
from hooke.cluster.launchers.settings import LauncherSettings, LocalSettings
from hooke.cluster.places import JobFolder
from hooke.cluster.watchdog import BACKSTOP
from hooke.spec.frozen import Frozen

_RETIRED = frozenset({"patient_after", "patient_retry"})


class Timing(Frozen):
    """Intervals and limits in seconds; the defaults suit a dashboard and a lease of 40 s."""

    look: float = Field(0.2, gt=0)
    """Between two looks at processes, markers and journals."""
    beat: float = Field(1.0, gt=0)
    """Between two requests of an attempt that runs."""
    idle_beat: float = Field(5.0, gt=0)
    """Between two requests of an attempt that waits for its turn in a shared process."""
    grace: float = Field(10.0, ge=0)
    """From SIGTERM to SIGKILL."""
    backstop: float = Field(BACKSTOP, ge=0)
    """After a run's wall limit, until ranks that have not ended by themselves are killed."""
    longest_retry: float = Field(8.0, gt=0)
    """Longest delay between two attempts to reach the API, also after days without it: well below a lease, so that
    a supervisor that lives is never called lost because it waits."""
    give_up: float = Field(3 * 86400.0, gt=0)
    """After the end of the attempt; its files stay, and the next start of the agent tries again."""
    farewell: float = Field(3.0, ge=0)
    """For a last delivery after the supervisor itself was asked to end."""

    @model_validator(mode="before")
    @classmethod
    def _read_earlier(cls, value: Any) -> Any:
        """Accept the jobs of earlier versions."""
        return {k: v for k, v in value.items() if k not in _RETIRED} if isinstance(value, dict) else value


class Order(Frozen):
    """One attempt, without its secret."""

    run: str
    attempt: int = Field(ge=1)
    spec: dict[str, object]
    """A RunSpec as JSON, validated by the supervisor."""
    resume_from: int = Field(1, ge=1)
    """The earliest attempt whose checkpoints this one may go on from."""


class Job(Frozen):
    """The attempts of one supervisor, which run one after the other and share processes where they can."""

    api: str
    """Base URL; `/api/v1/ingest` follows."""
    orders: list[Order] = Field(min_length=1)
    program: tuple[str, ...] = TRAIN
    """Program of a rank, as arguments of Python; the attempts' folders are appended."""
    timing: Timing = Timing()
    launcher: LauncherSettings = LocalSettings()
    """How its ranks are started: a supervisor that is started again uses the same."""
    account: str | None = None
    """The account of this host under which its ranks run; None: that of the agent."""
    path: str = ""
    """HOOKE_PATH of ranks under another account, which their supervisor does not see."""

    @property
    def name(self) -> str:
        """Return the folder name, a function of the orders, so that a repeated message finds the folder."""
        ids = ",".join(f"{order.run}.{order.attempt}" for order in self.orders)
        digest = hashlib.sha256(ids.encode()).hexdigest()[:12]
        return f"{self.orders[0].run}.{self.orders[0].attempt}-{digest}"


def read_job(folder: JobFolder) -> tuple[Job, dict[str, str]]:
    """Return the job and the tokens by attempt id (empty after complete delivery)."""
    job = Job.model_validate_json(folder.description.read_text())
    if job.program[-1:] == ("hooke.train",):  # written by an earlier version
        job = job.model_copy(update={"program": (*job.program[:-1], TRAIN[-1])})
    return job, read_tokens(folder.tokens)


def read_tokens(path: Path) -> dict[str, str]:
    """Return attempt id -> token of a file with tokens; nothing if it is not there, as after complete delivery."""
    with suppress(FileNotFoundError):
        return dict(json.loads(path.read_text()))
    return {}
