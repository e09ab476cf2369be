"""The platform on one machine: starts its parts, waits until they respond, stops them in order."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hooke.cluster.http_client import client_options, httpx
from hooke.cluster.processes import signal_all, start_time

from hooke_api.base.read_settings import read_settings
from hooke_api.base.settings import secret
from hooke_api.local import attempts, parts
from hooke_api.local.instance import Instance, Note, StartError
from hooke_api.local.keeper import Keeper, end_left_over

PATIENCE = 60.0
"""Seconds until the parts must respond."""
ENDS_TOLERATED = 3
"""Number of ends of a part during start-up after which the start fails."""


class Platform:
    """Redis, API and agent of one folder. Call `start`, `ready`, and in any case `stop`."""

    def __init__(self, home: Path, host: str, port: int | None, say: Callable[[str], None]) -> None:
        """Lock the folder and reserve a port. Raises StartError if one of them is not available."""
        self.host = host
        self._say = say
        read_settings(home=home)  # a wrong one is told before anything is locked, or ended
        self.instance = Instance(home)
        self.keepers: list[Keeper] = []
        self.hurried = False
        """Whether the user does not want to wait for anything any more."""
        try:
            self._clear(port)
        except BaseException:  # also Ctrl-C: release the folder before passing it on
            self.instance.close()
            raise
        self._settings = read_settings(home=self.instance.home, host=host, port=self.instance.port)
        self._note = Note(self.url, self.instance.port)

    def _clear(self, port: int | None) -> None:
        """Adopt or end the processes left by a killed start, then choose the port."""
        previous = self.instance.previous
        ended = end_left_over(previous.parts)
        if ended:
            self._say(f"Stopped processes left by an earlier start: {', '.join(ended)}.")
        if moved := self.instance.choose_port(self.host, port):
            self._say(moved)
        alive = attempts.supervisors(self.instance.home)
        if not alive:
            return
        if self.instance.port == previous.port:
            self._say(f"Runs of an earlier start continue: {len(alive)} supervisor(s) adopted.")
        else:  # they report to the old address, which is not available any more
            self._say(f"Ending {len(alive)} supervisor(s) of an earlier start, which report to {previous.url}.")
            asyncio.run(attempts.end_all(self.instance.home, grace=2.0))

    @property
    def url(self) -> str:
        """Return the address of the API."""
        return parts.address(self.host, self.instance.port)

    @property
    def token(self) -> str:
        """Return the start-up token."""
        return self._settings.token

    @property
    def login(self) -> str:
        """Return the sign-in address for a browser."""
        return f"{self.url}/login?token={self.token}"

    def client(self) -> httpx.AsyncClient:
        """Return an HTTP client of the public API."""
        headers = {"authorization": f"Bearer {self.token}"}
        options = client_options(self.url) | {"trust_env": False}
        return httpx.AsyncClient(base_url=f"{self.url}/api/v1", headers=headers, timeout=10, **options)

    async def start(self) -> None:
        """Start the parts; each of them waits for the others as needed."""
        secret(self.instance.home / "agent-token")  # created before the agent reads it
        private = () if parts.external_broker() else (parts.redis(self.instance),)
        for part in (*private, parts.api(self.instance, self.host), parts.agent(self.instance, self.host)):
            keeper = Keeper(part, self._changed, self._say)
            self.keepers.append(keeper)
            await keeper.start()

    def _changed(self, name: str, pid: int) -> None:
        self._note.parts[name] = (pid, start_time(pid) or 0)
        self._note.write(self.instance.note_path)

    async def ready(self) -> bool:
        """Return True when the API responds and the agent has registered. Raises StartError on time-out."""
        until = time.monotonic() + PATIENCE
        async with self.client() as client:
            while not await self._answers(client):
                for keeper in self.keepers:
                    if keeper.ends >= ENDS_TOLERATED:
                        raise StartError(
                            f"{keeper.part.name} cannot start: {keeper.part.log} ends with\n{keeper.tail()}"
                        )
                if time.monotonic() > until:
                    raise StartError(f"no answer after {PATIENCE:g} s; see the logs in {self.instance.logs}")
                await asyncio.sleep(0.1)
        return True

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        try:
            if (await client.get("/readyz")).status_code != httpx.codes.OK:
                return False
            clusters = (await client.get("/clusters")).raise_for_status().json()["items"]
        except httpx.HTTPError:
            return False
        return any(cluster["name"] == parts.CLUSTER and cluster["online"] for cluster in clusters)

    async def stop(self) -> None:
        """Stop everything, the agent first and Redis last, so that the API still receives the ends of runs."""
        by_name = {keeper.part.name: keeper for keeper in self.keepers}
        try:
            if "agent" in by_name:
                await by_name["agent"].stop()
            resisting = await attempts.end_all(self.instance.home)
            if resisting:
                self._say(f"These processes of runs could not be ended: {resisting}")
            for name in ("api", "redis"):
                if name in by_name:
                    await by_name[name].stop()
        finally:
            self.kill()
            if not any(keeper.alive for keeper in self.keepers):
                self._note.parts.clear()
            self._note.write(self.instance.note_path)
            self.instance.close()

    def hurry(self) -> None:
        """Skip the grace period of a `stop` in progress; the next start, or the API, learns how runs ended."""
        self.hurried = True
        self.kill()
        signal_all(attempts.supervisors(self.instance.home), signal.SIGKILL)

    def kill(self) -> None:
        """Kill the parts; `stop` must follow, or have been called."""
        for keeper in self.keepers:
            keeper.kill()


def say(sentence: str) -> None:
    """Print one line for the user."""
    print(sentence, file=sys.stderr, flush=True)
