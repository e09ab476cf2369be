"""The machines that a cluster computes on, for its hello: clusters that share one are not timed at once."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Protocol

from hooke.cluster.launchers.asking import Question
from hooke.cluster.launchers.hosts import HostsLauncher
from hooke.cluster.launchers.settings import HostsSettings, LauncherSettings, LocalSettings
from hooke.hardware.machine import machine

AGAIN = 60.0
"""Seconds after which a host that has not told its machine is asked again."""
_PATIENCE = 15.0
_log = logging.getLogger(__name__)


class Machines(Protocol):
    """What tells the machines of a cluster."""

    def look(self) -> list[str]:
        """Return the identities that are known so far, without waiting for any."""


class OwnMachine:
    """Of ranks on the agent's host."""

    def __init__(self, home: Path | None) -> None:
        kept = home / "machine-id" if home is not None else None
        self._own = machine(kept=kept)

    def look(self) -> list[str]:
        """Return this machine."""
        return [self._own] if self._own else []


class ListedMachines:
    """Of ranks on a list of hosts, which are asked through the launch agent, each until it has answered."""

    def __init__(self, settings: HostsSettings) -> None:
        self._launcher = HostsLauncher(settings)
        self._known: dict[str, str] = {}
        self._asked: dict[str, Question] = {}
        self._next = dict.fromkeys((host.address for host in settings.hosts), 0.0)

    def look(self) -> list[str]:
        """Return the machines of the hosts that have answered; ask the others."""
        for address, question in list(self._asked.items()):
            if (answer := question.answer()) is not None:
                del self._asked[address]
                self._note(address, answer.out if answer.status == 0 else "", answer.said)
        for address, at in self._next.items():
            if address not in self._known and address not in self._asked and time.monotonic() >= at:
                self._next[address] = time.monotonic() + AGAIN
                command = [sys.executable, "-m", "hooke.cluster.remote", "machine"]
                self._asked[address] = Question(self._launcher.on(address, command), patience=_PATIENCE)
        return sorted(set(self._known.values()) - {""})

    def _note(self, address: str, out: str, said: str) -> None:
        try:
            told = json.loads(out.strip().splitlines()[-1])["machine"]
        except (ValueError, KeyError, IndexError, TypeError):
            _log.warning("host %s has not told which machine it is: %s", address, said or "no answer")
            return
        self._known[address] = str(told)


class UnknownMachines:
    """Of batch jobs: their scheduler chooses the nodes, and keeps others off if the settings say so."""

    def look(self) -> list[str]:
        """Return nothing."""
        return []


def machines_of(launcher: LauncherSettings | None, home: Path | None) -> Machines:
    """Return what tells the machines that ranks of this launcher run on. `home`: the agent's folder."""
    if launcher is None or isinstance(launcher, LocalSettings):
        return OwnMachine(home)
    return ListedMachines(launcher) if isinstance(launcher, HostsSettings) else UnknownMachines()
