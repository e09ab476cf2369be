"""Cancels by users at moments when a run, or the API, is busy with something else."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from functools import partial

import httpx

from benchmarks.soak.drawing import Planned
from benchmarks.soak.installation import Installation
from benchmarks.soak.striking import Hit, awaited, fault, one, send


def _to_cancel(state: str, attempts: str, site: Installation, planned: Planned) -> str | None:
    query = (
        f"SELECT id FROM runs WHERE state = '{state}' AND NOT cancel_requested AND attempt {attempts} ORDER BY id"
    )
    return awaited(lambda: one(planned, [str(row[0]) for row in site.query(query)]))


def _cancel(
    state: str, attempts: str, site: Installation, planned: Planned, checkpoint: bool = False
) -> Hit | None:
    run = _to_cancel(state, attempts, site, planned)
    if run is None:
        return None
    try:
        if checkpoint:
            site.request("POST", f"/runs/{run}/checkpoint")
        answer = site.request("POST", f"/runs/{run}/cancel")
    except httpx.HTTPError as error:
        return Hit(f"{run}, {type(error).__name__}", [run], sure=False)
    return Hit(f"{run}, status {answer.status_code}", [run], sure=answer.is_success)


for _name, _state, _attempts in (
    ("starting", "starting", ">= 1"),
    ("running", "running", ">= 1"),
    ("retrying", "queued", "> 1"),
):
    fault(f"cancel while {_name}", 1)(partial(_cancel, _state, _attempts))
fault("cancel while checkpointing", 1)(partial(_cancel, "running", ">= 1", checkpoint=True))


@fault("cancel as the APIs are killed", 1)
def _cancel_and_kill(site: Installation, planned: Planned) -> Hit | None:
    """Whether the request was heard is known afterwards: the run is cancelled, or goes on."""
    run = _to_cancel("running", ">= 1", site, planned)
    if run is None:
        return None
    asking = threading.Thread(target=_ask, args=(site, run), daemon=True)
    asking.start()
    time.sleep(0.02 * planned.pick)
    send([api.pid for api in site.apis if api.pid], signal.SIGKILL)
    asking.join(10.0)
    return Hit(f"{run}, both APIs", [run])


def _ask(site: Installation, run: str) -> None:
    with suppress(httpx.HTTPError):
        site.request("POST", f"/runs/{run}/cancel")
