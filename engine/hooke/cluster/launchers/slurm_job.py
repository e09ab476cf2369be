"""One job of Slurm, from its submission to its end, without ever waiting for a command of Slurm."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from hooke.cluster.launchers import in_job
from hooke.cluster.launchers import slurm_words as slurm
from hooke.cluster.launchers.asking import Answer, Question
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.batch import View
from hooke.cluster.launchers.settings import SlurmSettings
from hooke.cluster.launchers.slurm_words import ACTIVE, FORMAT, PAUSED, WAITING, Line
from hooke.cluster.verdict import Outside

FIRST, WAITS, RUNS, ENDS = 1.0, 10.0, 15.0, 0.3
"""Seconds between two questions: at first; at most in the queue; at most while it runs; after the ranks' end."""
GROWTH = 1.25
RETRY = 60.0
"""Most seconds between two submissions of a job that Slurm refuses."""
ANSWER = 30.0
"""Seconds that a command of Slurm may take; sbatch may have submitted its job although it took longer."""
SILENT = 120.0
"""Seconds without an answer of Slurm after which a job whose ranks have ended counts as ended."""
Asked = Literal["find", "submit", "watch", "detail", "act", "remove"]


class SlurmJob:
    """The job of a launch; it is first searched by its name, then submitted if Slurm does not know it."""

    def __init__(
        self, settings: SlurmSettings, launch: Launch, folder: Path, environment: dict[str, str], known: str = ""
    ) -> None:
        """`folder`: holds the script; `environment`: of the script; `known`: the job, if it was submitted."""
        self._settings, self._launch, self._folder, self._environment = settings, launch, folder, environment
        self._name = slurm.name_of(launch.ids)
        self._line: Line | None = None
        self._view = View("waiting", "its job is being submitted to Slurm")
        self._asked: tuple[Asked, Question] | None = None
        self._actions: list[list[str]] = []
        self._spare: list[str] = []
        """Jobs that are to leave the queue: Slurm took several for one launch."""
        self._cancelled = self._barred = False
        """`_barred`: no job can begin any more, whatever Slurm took without saying so."""
        self._lacking = 0
        self._next_at, self._pause, self._refused = 0.0, FIRST, 0
        self._answered_at = time.monotonic()
        self._id = known

    @property
    def id(self) -> str:
        """Return Slurm's number of the job; empty before it is known."""
        return self._id

    def look(self) -> View:
        """Return what is known of the job; see `BatchJob`."""
        if self._view.phase == "ended":
            return self._view
        if self._asked is not None and (answer := self._asked[1].answer()) is not None:
            what, self._asked = self._asked[0], None
            self._take(what, answer)
        if self._asked is None:
            self._ask()
        return self._view

    def signal(self, number: int) -> None:
        """Send a signal to every rank; before they have started, SIGTERM removes the job from the queue."""
        if number == signal.SIGTERM:
            self._bar()
        if self._view.phase == "running":
            name = signal.Signals(number).name.removeprefix("SIG")
            self._actions.append(["scancel", *self._reach(), f"--signal={name}"])
        elif number == signal.SIGTERM:
            self._actions.append(["scancel", "--state=PENDING"])

    def _reach(self) -> list[str]:
        """Return the option that sends a signal to `in_job`, which passes it on; tasks of srun get it directly."""
        by_srun = self._settings.start == "srun" and self._launch.world == "mpi"
        return [] if by_srun else ["--batch"]

    def kill(self) -> None:
        """End the job at once, wherever it is."""
        self._bar()
        self._actions += [["scancel", "--full", "--signal=KILL"], ["scancel"]]

    def _bar(self) -> None:
        """Keep a job from beginning whose number is not known; it is searched once more, to leave the queue."""
        self._cancelled = True
        if not self._id:
            with suppress(OSError):
                self._barred = self._barred or in_job.claim(str(self._folder), "")
            if self._asked is not None and self._asked[0] == "find":
                self._asked[1].drop()  # it may have looked before the job was in the queue
                self._asked = None
            self._soon()

    def _ask(self) -> None:
        """Ask the next question, if it is time to and the job has not ended."""
        if self._view.phase == "ended":
            return
        now = time.monotonic()
        if self._actions and self._id:
            self._put("act", [*self._actions.pop(0), self._id])
        elif now < self._next_at and not (self._ended_itself() and now > self._next_at - self._pause + ENDS):
            return
        elif self._spare:
            self._put("remove", ["scancel", "--state=PENDING", self._spare.pop()])
        elif not self._id:
            self._put("find", ["squeue", "-h", "-u", slurm.user(), "-t", "all", "-o", FORMAT])
        else:
            self._put("watch", ["squeue", "-h", "-t", "all", f"--name={self._name}", "-o", FORMAT])

    def _put(self, what: Asked, command: Sequence[str]) -> None:
        self._asked = (what, Question(command, self._environment, ANSWER))

    def _take(self, what: Asked, answer: Answer) -> None:
        takers = {
            "find": self._found,
            "submit": self._answered,
            "watch": self._seen,
            "detail": self._explained,
            "act": self._acted,
            "remove": self._removed,
        }
        self._later()
        takers[what](answer)

    def _later(self) -> None:
        longest = RUNS if self._view.phase == "running" else WAITS
        self._next_at = time.monotonic() + self._pause
        self._pause = min(self._pause * GROWTH, longest)

    def _soon(self) -> None:
        self._next_at, self._pause = 0.0, FIRST

    def _ended_itself(self) -> bool:
        return (self._folder / in_job.ENDED).exists()

    def _silent(self, answer: Answer) -> None:
        """Wait for a controller that does not answer, as after its restart; the job does not need it."""
        if self._barred and not self._id:
            self._not_submitted()
        elif self._view.phase == "waiting":
            self._view = View("waiting", f"Slurm does not answer, it is asked again: {answer.said}")
        elif self._ended_itself() and time.monotonic() - self._answered_at > SILENT:
            self._view = View("ended")

    def _found(self, answer: Answer) -> None:
        """Take the answer on all jobs of this user before the submission."""
        if answer.status != 0:
            self._silent(answer)
            return
        lines = slurm.parse(answer.out)
        own = [line for line in lines if line.name == self._name]
        most = self._settings.most_jobs
        others = sum(line.name.startswith("hooke.") and line.state in WAITING | ACTIVE for line in lines)
        if own:
            self._follow(own)
        elif not self._barred and (self._folder / in_job.STARTED).exists():
            self._lacks()
        elif self._cancelled:
            self._not_submitted()
        elif most is not None and others >= most:
            said = f"{others} jobs of Hooke are in Slurm's queue, and `most_jobs` allows {most}"
            self._view = View("waiting", f"not submitted yet: {said}")
        else:
            self._put("submit", ["sbatch", "--parsable", str(self._folder / slurm.SCRIPT)])

    def _not_submitted(self) -> None:
        self._view = View("ended", outside=Outside("cancelled", "it was not submitted to Slurm"))

    def _answered(self, answer: Answer) -> None:
        """Take sbatch's answer; without one, the job is searched by its name before it is submitted again."""
        self._answered_at = time.monotonic()
        if answer.status == 0:
            self._id = answer.out.strip().split(";")[0]
            self._view = View("waiting", f"job {self._id} is in Slurm's queue")
            self._soon()
            if self._cancelled:
                self._actions.insert(0, ["scancel"])
        elif slurm.refused_for_good(answer.said):
            self._view = View("ended", outside=Outside("infrastructure", f"Slurm refuses the job: {answer.said}"))
        else:
            self._refused += 1
            delay = min(RETRY, 2.0 * 2 ** min(self._refused, 10))
            self._next_at = 0.0 if self._cancelled else time.monotonic() + delay
            self._view = View("waiting", f"Slurm does not take the job yet, it is tried again: {answer.said}")

    def _seen(self, answer: Answer) -> None:
        if answer.status != 0:
            self._silent(answer)
            return
        self._answered_at = time.monotonic()
        lines = slurm.parse(answer.out)
        if lines:
            self._follow(lines)
        elif self._view.phase == "running" or (self._folder / in_job.STARTED).exists():
            self._lacks()
        elif self._line is not None or self._cancelled:
            self._view = View("ended", outside=Outside("infrastructure", f"Slurm has forgotten job {self._id}"))

    def _lacks(self) -> None:
        """Take that Slurm does not know the job that has begun: if it says so twice, it ended long ago."""
        self._lacking += 1
        if self._lacking > 1:
            self._view = View("ended")  # the files tell
        else:
            self._soon()

    def _follow(self, lines: list[Line]) -> None:
        """Take the state of the job; of several of its name, that of the one that has begun, or is to."""
        begun = in_job.begun(str(self._folder))
        if begun and begun not in [found.job for found in lines]:
            self._lacks()
            return
        self._lacking = 0
        line = next((found for found in lines if found.job == begun), None) or slurm.first_to_begin(lines)
        self._spare = [found.job for found in lines if found is not line and found.state in WAITING]
        changed = self._line is None or self._line.state != line.state
        self._line, self._id = line, line.job
        if changed:
            self._soon()
        if line.state in WAITING:
            self._spare += [line.job] if self._barred else []
            self._view = View("waiting", f"job {line.job} waits in Slurm's queue: {line.words}")
        elif line.state in ACTIVE:
            if self._view.phase == "waiting" and self._cancelled:
                self._actions.append(["scancel", *self._reach(), "--signal=TERM"])
            words = f"job {line.job} runs on {line.nodes}" if line.state == "RUNNING" else line.words
            self._view = View("running", words, paused=line.state in PAUSED)
        else:
            self._put("detail", ["scontrol", "show", "job", "-o", line.job])

    def _explained(self, answer: Answer) -> None:
        """Take the last details of a job that has ended."""
        assert self._line is not None  # noqa: S101 - asked for only with a line; this tells the type checker
        detail = answer.out if answer.status == 0 else ""
        self._view = View("ended", outside=slurm.outside(self._line, detail), status=slurm.exit_status(detail))

    def _removed(self, answer: Answer) -> None:
        """Leave it to the next look at the queue: a job that has not left it is asked to again."""

    def _acted(self, answer: Answer) -> None:
        if answer.status != 0 and "Invalid job id" not in answer.said and "already" not in answer.said:
            self._view = replace(self._view, words=f"Slurm did not take a signal: {answer.said}")
        self._soon()
