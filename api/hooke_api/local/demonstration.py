"""`hooke demo`: submits a comparison through the public API, shows its progress, prints its verdict."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
from hooke.cli.document import read
from hooke.cli.sendable import as_json
from hooke.cli.verdict import show, show_choices
from hooke.spec.states import TERMINAL, RunState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hooke_api.local.instance import StartError
from hooke_api.local.platform import Platform

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "comparison.yaml"
LOOK_SECONDS = 1.0
SILENCE = 60.0
"""Seconds without a response of the API (it may be restarting) after which the demonstration gives up."""
FAREWELL = 15.0
"""Seconds to wait for the runs of a cancelled experiment to end: their ranks have 10 s to end by themselves.

The next start would begin those that wait for their turn.
"""
PLAIN_WIDTH = 160
"""Width of the verdict in columns if standard output is not a terminal."""


class Demonstration:
    """One experiment from submission to verdict, through the public API."""

    def __init__(self, document: dict[str, Any], console: Console | None = None) -> None:
        self.document = document
        self.console = console or Console()
        if not self.console.is_terminal:
            self.console.width = PLAIN_WIDTH

    @classmethod
    def of(cls, path: Path | None) -> Demonstration:
        """Read the experiment from a YAML or JSON file; by default the example comparison."""
        path = path or EXAMPLE
        try:
            document = read(path)
        except OSError as error:
            raise StartError(f"{path}: {error.strerror}") from error
        if not isinstance(document, dict):
            raise StartError(f"{path} is not an experiment: a mapping of fields is expected")
        return cls(document)

    async def run(self, platform: Platform) -> bool:
        """Run the experiment; return whether every run succeeded.

        Cancels the experiment if it is cancelled itself.
        """
        async with platform.client() as client:
            experiment = await self._submitted(client, platform)
            self.console.print(f"Experiment {experiment['number']}: {experiment['name']}", highlight=False)
            self.console.print(
                f"Watch it live: {platform.url}/experiments/{experiment['id']}", highlight=False, soft_wrap=True
            )
            show_warnings(self.console, experiment)
            try:
                runs = await self._watch(client, experiment["id"])
            except asyncio.CancelledError:
                await self._cancel(client, experiment["id"], platform)
                raise
            if experiment["spec"].get("tuning"):
                show_choices(self.console, await _get(client, f"/experiments/{experiment['id']}/tuning"))
            comparison = await _get(client, f"/experiments/{experiment['id']}/comparison")
            show(self.console, comparison)
            return await self._report_failures(client, runs)

    async def _submitted(self, client: httpx.AsyncClient, platform: Platform) -> dict[str, Any]:
        """Return the experiment, submitted. The API may have stored one that is interrupted: cancel it then."""
        submitting = asyncio.ensure_future(self._submit(client))
        try:
            return await asyncio.shield(submitting)
        except asyncio.CancelledError:
            with suppress(StartError, httpx.HTTPError):
                await self._cancel(client, (await submitting)["id"], platform)
            raise

    async def _cancel(self, client: httpx.AsyncClient, experiment: str, platform: Platform) -> None:
        """Cancel the experiment, and wait until its runs have ended, FAREWELL has passed or the user hurries."""
        path, until = f"/experiments/{experiment}", time.monotonic() + FAREWELL
        asked = ended = False
        while not ended and time.monotonic() < until and not platform.hurried:
            with suppress(httpx.HTTPError):  # busy, or starting again
                if not asked:
                    (await client.post(f"{path}/cancel", timeout=2)).raise_for_status()
                    asked = True
                    self._tell("Cancelling the experiment; press Ctrl-C again not to wait for it.")
                found = (await client.get(path, timeout=2)).raise_for_status().json()
                ended = found["finished_at"] is not None
            await asyncio.sleep(0.1)
        if not ended:
            told = "its runs may continue at the next start" if asked else "the API did not respond"
            self._tell(f"Experiment {experiment} has not ended: {told}. Cancel it then, in the dashboard.")

    def _tell(self, sentence: str) -> None:
        with suppress(OSError, SystemExit):  # a closed pipe: rich ends the process
            self.console.print(sentence, highlight=False, soft_wrap=True)

    async def _submit(self, client: httpx.AsyncClient) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/experiments", content=as_json(self.document), headers=headers)
        if answer.is_success:
            return dict(answer.json())
        problem = answer.json()
        faults = "".join(
            f"\n  {fault['pointer'] or '/'}: {fault['message']}" for fault in problem.get("errors", [])
        )
        raise StartError(f"the experiment was refused: {problem['detail']}{faults}")

    async def _watch(self, client: httpx.AsyncClient, experiment: str) -> list[dict[str, Any]]:
        """Follow the runs until all have ended, and no others will be added; return them."""
        with Meter(self.console) as meter:
            while True:
                ended = (await _get(client, f"/experiments/{experiment}"))["finished_at"] is not None
                runs = await _all_runs(client, experiment)
                meter.update(runs)
                if ended:
                    return runs
                await asyncio.sleep(LOOK_SECONDS)

    async def _report_failures(self, client: httpx.AsyncClient, runs: list[dict[str, Any]]) -> bool:
        # a trial may diverge: that is what it is for
        failed = [run for run in runs if run["rung"] is None and run["state"] != RunState.SUCCEEDED]
        for run in failed:
            whole = await _get(client, f"/runs/{run['id']}")
            why = whole["history"][-1]["why"] if whole["history"] else "no reason recorded"
            where = f"{run['variant']}, seed {run['seed']}, {run['cluster']}"
            self.console.print(
                f"Run {run['number']} ({where}) {run['state']}: {why}", highlight=False, soft_wrap=True
            )
        return not failed


def show_warnings(console: Console, experiment: dict[str, Any]) -> None:
    """Print the warnings about an accepted experiment, one line each."""
    for warning in experiment["warnings"]:
        where = warning["pointer"] or "/"
        console.print(f"warning: {where}: {warning['message']}", highlight=False, markup=False, soft_wrap=True)


async def _get(client: httpx.AsyncClient, path: str, **query: Any) -> dict[str, Any]:
    """Return the JSON response to a GET; waits while the API is restarting."""
    until = time.monotonic() + SILENCE
    while True:
        try:
            return dict((await client.get(path, params=query)).raise_for_status().json())
        except httpx.TransportError as error:
            if time.monotonic() > until:
                raise StartError(f"the API has not responded for {SILENCE:g} s: {error}") from error
            await asyncio.sleep(LOOK_SECONDS)


async def _all_runs(client: httpx.AsyncClient, experiment: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    query = {"experiment": experiment, "limit": 200}
    while True:
        page = await _get(client, "/runs", **query)
        runs += page["items"]
        if not page["next_cursor"]:
            return runs
        query["cursor"] = page["next_cursor"]


class Meter:
    """Progress of a list of runs: a live bar on a terminal, otherwise a line for every run that ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._told = -1
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[dim]{task.fields[now]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("runs", total=None, left="", now="")

    def __enter__(self) -> Meter:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, SystemExit):  # a terminal that is gone must not hide why the block ended
            self._bar.stop()

    def update(self, runs: list[dict[str, Any]]) -> None:
        """Show the state of these runs."""
        done = sum(run["state"] in TERMINAL for run in runs)
        left = remaining(runs, time.monotonic() - self._began)
        if left and all(run.get("rung") is not None for run in runs):
            left += " for these trials; others, or the measurement, follow"
        now = ", ".join(
            f"{run['variant']} #{run['seed']} on {run['cluster']}" for run in runs if run["state"] == "running"
        )
        self._bar.update(self._task, completed=done, total=len(runs), left=left, now=now)
        if not self._console.is_terminal and done != self._told:
            self._told = done
            states = Counter(run["state"] for run in runs)
            counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            self._console.print(f"{done}/{len(runs)} runs ended ({counts}) {left}".rstrip(), highlight=False)


def remaining(runs: list[dict[str, Any]], elapsed: float) -> str:
    """Return an estimate of the remaining time as text; empty if there is not enough data."""
    parts = [1.0 if run["state"] in TERMINAL else min(1.0, run["samples"] / run["budget"]) for run in runs]
    share = sum(parts) / max(1, len(parts))
    if share < 0.05 or share == 1:
        return ""
    seconds = elapsed * (1 - share) / share
    return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"
