"""Commands of a scheduler or a launch agent that are asked without waiting for their answer."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    """Negative: a signal; TOO_LATE: it did not answer in time; MISSING: it could not be started."""
    out: str
    err: str

    @property
    def said(self) -> str:
        """Return its words in one line, for a message."""
        return " ".join((self.err or self.out).split())[:500] or f"status {self.status}"


TOO_LATE, MISSING = 1001, 1002


class Question:
    """A command that has been started; `answer` never blocks."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, patience: float = 30.0
    ) -> None:
        """`patience`: seconds until it is killed; its answer then has the status TOO_LATE."""
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed in `answer`
        self._until, self._patience = time.monotonic() + patience, patience
        self._given: Answer | None = None
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err, env=environment
            )
        except OSError as error:
            self._given = Answer(MISSING, "", f"{command[0]}: {error.strerror}")

    def answer(self) -> Answer | None:
        """Return the answer; None while there is none."""
        if self._given is None:
            status = self._process.poll()
            if status is None and time.monotonic() < self._until:
                return None
            if status is None:
                self._process.kill()
                self._process.wait()
                self._given = Answer(TOO_LATE, "", f"no answer within {self._patience:g} s")
            else:
                self._given = Answer(status, _read(self._out), _read(self._err))
            self._out.close()
            self._err.close()
        return self._given

    def drop(self) -> None:
        """End the command: nobody wants its answer any more."""
        self._until = 0.0
        self.answer()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def ask(command: Sequence[str], environment: Mapping[str, str] | None = None, patience: float = 10.0) -> Answer:
    """Return the answer of a command, waiting for it."""
    question = Question(command, environment, patience)
    while (answer := question.answer()) is None:
        time.sleep(0.01)
    return answer
