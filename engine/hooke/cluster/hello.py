"""The heartbeat of a cluster: registers it with the API every ten seconds."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hooke.catalogue import discovery as catalogue
from hooke.catalogue.items import Kind
from hooke.cluster.accounts import Account
from hooke.cluster.agent_client import ApiClient, Refused
from hooke.cluster.environment import for_user_code
from hooke.cluster.http_client import httpx
from hooke.cluster.launchers.mpi import library_of
from hooke.cluster.launchers.settings import LauncherSettings, LocalSettings
from hooke.cluster.retrying import asked_to_wait
from hooke.errors import DataMissing, HookeError
from hooke.hardware import description
from hooke.hardware.equipment import equipment
from hooke.spec.events import AgentHello, Described, FileFault
from hooke.spec.protocol import OLDEST_SERVER, PROTOCOL, AgentWelcome, refusal

EVERY = 10.0
READING = 60.0
"""Time limit for reading user files, s."""
SOON = 1.0
"""Delay after a failure, s: a cluster is online soon after its API."""
LATEST = 20.0
"""Longest delay that the API may ask for, s: half of the silence after which a cluster counts as offline."""


_log = logging.getLogger(__name__)


def describe(
    name: str,
    agent: str | None = None,
    catalogues: dict[str, Any] | None = None,
    launcher: LauncherSettings | None = None,
    home: Path | None = None,
    machines: Sequence[str] = (),
) -> AgentHello:
    """Return the description of this cluster; `catalogues` as returned by `discovery.everything`.

    `machines`: those that its ranks run on, as far as they are known.

    Where the launcher starts ranks elsewhere, the cores are its slots; hardware is that of the agent's host.
    """
    machine, versions = description.describe()
    launcher = launcher or LocalSettings()
    if (library := library_of(launcher)) is not None:
        versions["mpi"] = library
    slots = launcher.slots(description.usable_cores())
    return AgentHello.model_validate(
        {
            "name": name,
            "cores": slots,
            "slots": slots,
            "launcher": launcher.kind,
            "hardware": machine | equipment(),
            "versions": versions,
            "protocol": PROTOCOL,
            "oldest": OLDEST_SERVER,
            "agent": agent,
            "place": f"{os.uname().nodename}:{home}" if home else None,
            "machines": machines,
            "missing_data": missing_data(),
            **(catalogues or {}),
        }
    )


def missing_data() -> dict[str, str]:
    """Return built-in workload -> what it lacks of its data here, with its default parameters."""
    found = {}
    for name, item in catalogue.built_in("workload").items():
        try:
            item.cls().find_data()
        except DataMissing as error:
            found[name] = str(error)
    return found


def read_catalogues(account: Account | None = None) -> dict[str, Any]:
    """Return both catalogues and their problems, read in a separate process that a user's file may crash.

    If it crashes, return the built-in ones and the reason. `account`: that of the process; None: this one's.
    """
    command = [sys.executable, "-m", "hooke.catalogue.discovery"]
    environment = for_user_code(os.environ)
    if account is not None:
        environment = account.environment(environment)
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=READING,
            check=False,
            env=environment,
            **(account.options if account else {}),
        )
        if result.returncode == 0:
            read = json.loads(result.stdout)
            return read if account is None else _of_users(read)
        why = f"status {result.returncode}: {result.stderr.strip()[-500:]}"
    except (subprocess.TimeoutExpired, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
    told: dict[str, Any] = {f"{kind}s": _built_in(kind) for kind in catalogue.KINDS}
    said = f"the process that reads these files failed, so none is offered: {why}"[:2000]
    broken = {
        "kind": "algorithm",
        "name": catalogue.PATH,
        "file": os.environ.get(catalogue.PATH, ""),
        "error": said,
    }
    return told | {"problems": [broken]}


def _of_users(told: dict[str, Any]) -> dict[str, Any]:
    """Return catalogues of which another account has told: it is believed about users' files only.

    Otherwise a file of one user would change the defaults of the built-in methods of all others. Raises
    ValueError, KeyError or TypeError for anything else than catalogues.
    """
    read: dict[str, Any] = {"problems": [FileFault.model_validate(each).model_dump() for each in told["problems"]]}
    for kind in catalogue.KINDS:
        known, named = catalogue.built_in(kind), [Described.model_validate(each) for each in told[f"{kind}s"]]
        own = [each.model_dump() for each in named if each.name not in known]
        read[f"{kind}s"] = [*_built_in(kind), *(each for each in own if each["origin"] != "built-in")]
    return read


def _built_in(kind: Kind) -> list[dict[str, Any]]:
    return [item.description for item in catalogue.built_in(kind).values()]


class Heartbeat(threading.Thread):
    """Repeats the hello until stopped. The first one, and every one after a failure, includes the catalogues."""

    def __init__(
        self,
        line: ApiClient,
        describe: Callable[[dict[str, Any] | None], AgentHello],
        account: Account | None = None,
    ) -> None:
        """`describe` returns the hello with the given catalogues, or without; `account`: reads users' files."""
        super().__init__(name="heartbeat", daemon=True)
        self._line, self._describe, self._account = line, describe, account
        self._stopped = threading.Event()
        self.answered = threading.Event()
        """Set at the first answer of the API, and by `stop`."""
        self.refused = ""
        """Why the API refused the latest hello; empty if it accepted it."""
        self.welcome: AgentWelcome | None = None
        """The latest answer of an API that accepted the hello."""
        self.on_refused: Callable[[], None] = lambda: None
        """Called after every refusal."""

    def run(self) -> None:
        """Send the hello every ten seconds, with the catalogues after a failure, because the API may have lost
        them.

        User files are checked each time; new or changed ones are included.
        """
        told: str | None = None
        known: str | None = None  # the stamp at which the catalogues were read: reading costs a second of a core
        catalogues: dict[str, Any] = {}
        complaint, asked = "", 0.0
        while not self._stopped.is_set():
            try:
                stamp = catalogue.stamp(self._account.files if self._account else None)
                if stamp != known:
                    catalogues = read_catalogues(self._account)
                    _complain(catalogues["problems"])
                    known = stamp
                self._hello(catalogues if stamp != told else None)
                if complaint:
                    _log.warning("the API answers again")
                told, complaint, asked = stamp, "", 0.0
            except Exception as error:  # whatever happens, the agent must learn of it
                told, asked = None, asked_to_wait(error)
                if str(error) != complaint:
                    complaint = str(error)
                    _log.warning("%s: %s", _failure(error), error)
            self._stopped.wait(max(min(asked, LATEST), SOON) if complaint and not self.refused else EVERY)

    def _hello(self, catalogues: dict[str, Any] | None) -> None:
        try:
            welcome = self._line.hello(self._describe(catalogues))
            remedy = f"upgrade the server, or install hooke {welcome.version} here"
            there = (welcome.protocol, welcome.oldest)
            self.refused = refusal(there, "the server", remedy, OLDEST_SERVER) or ""
            self.welcome = welcome
        except Refused as error:
            self.refused = str(error)
        self.answered.set()
        if self.refused:
            self.on_refused()
            raise Refused(self.refused)
        if self._line.renewal_due:
            self._renew()

    def _renew(self) -> None:
        """Have the token renewed; if that fails, the next hello tries again, while the present one is valid."""
        try:
            self._line.renew_token()
            _log.info("the token of this agent was renewed")
        except (HookeError, httpx.HTTPError, OSError, ValueError) as error:
            _log.warning("the token of this agent could not be renewed: %s", error)

    def stop(self) -> None:
        """Request the end of the thread without waiting for it."""
        self._stopped.set()
        self.answered.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()


def _failure(error: Exception) -> str:
    if isinstance(error, Refused):
        return "the API refuses this agent"
    return "the API does not answer" if isinstance(error, httpx.HTTPError) else "no hello was sent"


def _complain(problems: list[dict[str, Any]]) -> None:
    for problem in problems:
        _log.warning("%s %s is not offered: %s: %s", *(problem[key] for key in ("kind", "name", "file", "error")))
