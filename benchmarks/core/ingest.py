"""Points per second that the API ingests, over HTTP, into SQLite. A point is one value of one column.

Several attempts post concurrently, like supervisors. Bodies are prepared beforehand, because the client shares the
machine with the server.
"""

from __future__ import annotations

import gzip
import sqlite3
import threading
import time
from collections.abc import Iterator
from statistics import quantiles

import httpx
import numpy as np
from hooke.spec.events import STEP_COLUMNS, Ingest, RankRecords, Start, Steps
from hooke.spec.journal import pack
from hooke.spec.protocol import PROTOCOL
from hooke_api.base.security import digest

from benchmarks.core._api import Api, running_api

Result = tuple[str, float, str, float | None]
ATTEMPTS, RANKS, REQUESTS = 4, 4, 25
NAMES = [name for name in STEP_COLUMNS if name not in ("rebuild", "worker", "joined")]
"""Columns of a step that most runs have."""
COLUMNS = len(NAMES)


def attempts(api: Api) -> list[str]:
    """Register one cluster for each attempt, submit one run for each, and return the dispatched runs."""
    names = [f"c{i}" for i in range(ATTEMPTS)]
    agent, program = ({"authorization": f"Bearer {token}"} for token in (api.agents, api.token))
    for name in names:
        body = {"name": name, "cores": RANKS, "slots": RANKS, "launcher": "local", "hardware": {}, "versions": {}}
        body |= {"protocol": PROTOCOL}
        httpx.post(f"{api.url}/api/v1/agents/hello", json=body, headers=agent).raise_for_status()
    spec = {
        "name": "ingest",
        "workload": {"name": "digits-mlp"},
        "variants": [{"name": "sync", "algorithm": "sync-sgd"}],
        "baseline": "sync",
        "clusters": [{"name": name, "workers": [RANKS], "seeds": 1} for name in names],
        "budget": {"samples": 10**7},
        "evaluation": {"every": 10**5},
    }
    httpx.post(f"{api.url}/api/v1/experiments", json=spec, headers=program).raise_for_status()
    for _ in range(200):
        found = httpx.get(f"{api.url}/api/v1/runs", params={"state": "dispatched"}, headers=program).json()[
            "items"
        ]
        if len(found) == ATTEMPTS:
            runs = [run["id"] for run in found]
            _give_tokens(api, runs)
            return runs
        time.sleep(0.05)
    raise TimeoutError("the runs were not dispatched")


def _give_tokens(api: Api, runs: list[str]) -> None:
    """Store a token of each attempt: those of claimed orders are told to agents only, and there are none."""
    with sqlite3.connect(api.home / "hooke.db", timeout=10) as database:
        rows = [(digest(token_of(run)), run, "2026-01-01 00:00:00.000000") for run in runs]
        database.executemany("INSERT INTO attempt_tokens VALUES (?, ?, 1, ?)", rows)


def token_of(run: str) -> str:
    """Return the token with which the attempt of a run reports here."""
    return f"token of {run}"


def bodies(run: str, steps: int) -> list[bytes]:
    """Return the requests of one attempt: `steps` random steps of every rank in each."""
    random = np.random.default_rng(0)
    made = []
    for number in range(REQUESTS):
        ranks = []
        for rank in range(RANKS):
            columns = {name: pack(name, _values(name, steps, number, random)) for name in NAMES}
            records: list[Start | Steps] = [Steps(seq=number + 1, n=steps, columns=columns)]
            if number == 0:
                records.insert(0, _start())
            ranks.append(RankRecords(rank=rank, records=records))
        request = Ingest(run=run, attempt=1, ranks=ranks)
        made.append(gzip.compress(request.model_dump_json().encode(), 1))
    return made


def _values(name: str, steps: int, number: int, random: np.random.Generator) -> list[float]:
    if STEP_COLUMNS[name][1] == "i":
        return list(range(number * steps, (number + 1) * steps))
    return list(random.random(steps))


def _start() -> Start:
    return Start(
        seq=0, role="worker", host="h", pid=1, unix=0, monotonic=0, world="mpi", ranks=RANKS, oversubscribed=False
    )


def post_all(api: Api, run: str, requests: list[bytes], took: list[float]) -> None:
    """Post the requests of one attempt, one after the other; record the seconds of each."""
    headers = {
        "authorization": f"Bearer {token_of(run)}",
        "content-encoding": "gzip",
        "content-type": "application/json",
    }
    with httpx.Client(headers=headers, timeout=60) as client:
        for body in requests:
            began = time.perf_counter()
            client.post(f"{api.url}/api/v1/ingest", content=body).raise_for_status()
            took.append(time.perf_counter() - began)


def measure() -> Iterator[Result]:
    """Yield points per second with full blocks, and requests per second with the data of a fast run."""
    for steps, label in ((512, "full blocks"), (100, "100 steps a rank")):
        with running_api() as api:
            prepared = [(run, bodies(run, steps)) for run in attempts(api)]
            took: list[float] = []
            threads = [threading.Thread(target=post_all, args=(api, *work, took)) for work in prepared]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - began
            if len(took) != ATTEMPTS * REQUESTS:
                raise RuntimeError("requests failed")
            yield f"ingest, {label}: points", len(took) * RANKS * steps * COLUMNS / seconds, "points/s", None
            yield f"ingest, {label}: requests", len(took) / seconds, "requests/s", None
            yield f"ingest, {label}: p95", quantiles(took, n=20)[-1] * 1e3, "ms", None
