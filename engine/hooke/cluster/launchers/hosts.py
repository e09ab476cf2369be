"""Starts ranks on a list of hosts, over ssh or an agent script, and finds their processes there.

All hosts see the agent's home, this Python and the data under the same paths. The agent is called as
`agent... ADDRESS command...` and runs the command on that host, as ssh does.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hooke.cluster.launchers import base, mpi
from hooke.cluster.launchers.asking import Question
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.later import kill_later
from hooke.cluster.launchers.settings import HostsSettings
from hooke.errors import LaunchError

AGENT = Path(__file__).with_name("call_agent.sh")
_EVERY = 5.0
"""Seconds between two questions to a host whether it is there."""
_PATIENCE = 15.0


class HostsLauncher(Launcher):
    """mpirun on this host, its proxies and the ranks on those of the list."""

    def __init__(self, settings: HostsSettings) -> None:
        self._settings = settings
        self._heard = dict.fromkeys(self._addresses, time.monotonic())
        self._asked: dict[str, Question] = {}
        self._next_at = self._looked_at = 0.0
        self._said: dict[str, str] = {}

    @property
    def _addresses(self) -> list[str]:
        return [host.address for host in self._settings.hosts]

    def command(self, launch: Launch) -> list[str]:
        """Return mpirun with one guard per rank; for a virtual world, the guard alone, on the agent's host.

        Raises LaunchError if the hosts have fewer slots than there are ranks.
        """
        if launch.world == "virtual":
            return base.guarded(launch)
        slots = self._settings.slots(0)
        if launch.ranks > slots:
            raise LaunchError(f"{launch.ranks} ranks do not fit the {slots} slots of the launcher's host list")
        mpirun = mpi.find(self._settings.mpirun)
        hosts = ",".join(f"{host.address}:{host.slots}" for host in self._settings.hosts)
        if mpirun.family == "hydra":
            where = ["-launcher", "ssh", "-launcher-exec", str(AGENT), "-hosts", hosts]
        else:
            agent = ["--prtemca", "plm_ssh_agent"] if mpirun.version >= (5,) else ["--mca", "plm_rsh_agent"]
            names = {*self._own(launch), mpi.LIBRARY}  # without it ranks elsewhere load MPICH's wheel, each alone
            passed = [arg for name in sorted(names) for arg in ("-x", name)]
            where = ["--host", hosts, *agent, str(AGENT), *passed]
        return mpirun.command(launch.ranks, slots, [*self._settings.options, *where], base.guarded(launch))

    def _own(self, launch: Launch) -> dict[str, str]:
        """Return the variables that ranks on other hosts need, which Open MPI passes on only by name."""
        empty = base.environment(launch, {k: v for k, v in os.environ.items() if k.startswith("HOOKE_")})
        return empty | base.transport(os.environ)

    def environment(self, launch: Launch, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the common environment, that of several hosts, and the agent for `call_agent.sh`."""
        found = base.environment(launch, inherited) | {"UCX_LOG_LEVEL": "error"}
        if launch.world == "virtual":
            return found
        mpirun = mpi.find(self._settings.mpirun)
        found |= base.transport(inherited)
        found |= mpi.variables_of_library(mpirun, self._settings.libmpi, launch.folders[0], inherited)
        return found | {"HOOKE_LAUNCH_AGENT": shlex.join(self._settings.agent)}

    def family(self, launch: Launch) -> mpi.Family | None:
        """Return whose mpirun starts the ranks; None without one."""
        return None if launch.world == "virtual" else mpi.find(self._settings.mpirun).family

    def on(self, address: str, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command on a host."""
        return [*self._settings.agent, address, shlex.join(command)]

    def _remote(self, address: str, what: str, ids: Collection[str]) -> Question:
        return Question(
            self.on(address, [sys.executable, "-m", "hooke.cluster.remote", what, *ids]), patience=_PATIENCE
        )

    def unreachable(self) -> str:
        """Return which hosts do not answer the agent now, in a sentence; see `Launcher`."""
        asked = {a: Question(self.on(a, ["true"]), patience=_PATIENCE) for a in self._addresses}
        said = []
        for address, question in asked.items():
            while (answer := question.answer()) is None:
                time.sleep(0.02)
            if answer.status != 0:
                said.append(f"host {address} does not answer ({answer.said})")
        return "; ".join(said)

    def cut_off(self) -> str:
        """Return which hosts have not answered the agent for `silent_seconds`, in a sentence; see `Launcher`."""
        now = time.monotonic()
        if now - self._looked_at > self._settings.silent_seconds / 2:  # nobody has asked for a while
            self._heard = dict.fromkeys(self._addresses, now)
        self._looked_at = now
        for address, question in list(self._asked.items()):
            if (answer := question.answer()) is None:
                continue
            del self._asked[address]
            if answer.status == 0:
                self._heard[address] = now
            else:
                self._said[address] = answer.said
        if now >= self._next_at:
            self._next_at = now + min(_EVERY, self._settings.silent_seconds / 3)
            for address in self._addresses:
                if address not in self._asked:
                    patience = min(_PATIENCE, self._settings.silent_seconds / 2)
                    self._asked[address] = Question(self.on(address, ["true"]), patience=patience)
        silent = {a: now - at for a, at in self._heard.items() if now - at > self._settings.silent_seconds}
        return "; ".join(
            f"host {address} has not answered for {seconds:.0f} s, it is cut off or down "
            f"({self._said.get(address, 'no answer')})"
            for address, seconds in silent.items()
        )

    def alive(self, ids: Collection[str]) -> str:
        """Return on which hosts processes of these attempts are, or which hosts do not answer; empty: none."""
        found = [super().alive(ids)]
        for address, (told, said) in self._everywhere("list", ids).items():
            if told is None:
                found.append(f"whether any are left on host {address} is unknown, it does not answer: {said}")
            elif told["pids"]:
                found.append(f"{len(told['pids'])} of its processes are still running on host {address}")
        return "; ".join(filter(None, found))

    def stopped(self, ids: Collection[str]) -> list[str]:
        """Return a sentence for each process, on any host, that starts ranks and that a signal has stopped."""
        found = super().stopped(ids)
        for address, (told, _) in self._everywhere("stopped", ids).items():
            found += [f"{sentence} on host {address}" for sentence in (told or {}).get("stopped", [])]
        return found

    def sweep(self, ids: Collection[str]) -> list[int]:
        """Kill the processes of these attempts on every host; return those that remain on hosts that answer.

        On hosts that do not answer they are killed when these come back, by a process that outlives this one.
        """
        for question in self._asked.values():
            question.drop()
        self._asked.clear()
        left = super().sweep(ids)
        silent = []
        for address, (told, _) in self._everywhere("kill", ids).items():
            if told is None:
                silent.append(address)
            left += told["pids"] if told else []
        for address in silent:
            kill_later(self.on(address, [sys.executable, "-m", "hooke.cluster.remote", "kill", *ids]))
        return left

    def _everywhere(self, what: str, ids: Collection[str]) -> dict[str, tuple[dict[str, Any] | None, str]]:
        """Return the answer of `hooke.cluster.remote` on every host; None for one that gave none."""
        asked = {address: self._remote(address, what, ids) for address in self._addresses}
        found: dict[str, tuple[dict[str, Any] | None, str]] = {}
        while len(found) < len(asked):
            for address, question in asked.items():
                if (answer := question.answer()) is not None:
                    found[address] = (_parsed(answer.out) if answer.status == 0 else None, answer.said)
            time.sleep(0.02)
        return found


def _parsed(out: str) -> dict[str, Any] | None:
    """Return what `hooke.cluster.remote` printed, after whatever a login has printed; None if it did not."""
    try:
        told = json.loads(out.strip().splitlines()[-1])
        return told if isinstance(told["pids"], list) else None
    except (ValueError, KeyError, IndexError, TypeError):
        return None
