"""Bodies made to cost memory, against a real process: what the kernel says that it took."""

import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
from hooke.spec.events import STEP_COLUMNS, Checkpointed

from tests.api.hands import ALONE, HELLO, SPEC, start, steps
from tests.waiting import LIMIT, free_port, wait_for

MOST_MIB = 64
TOKEN = "the token of the attempt"


class Measured:
    """An API in a process of its own, with one run whose attempt has TOKEN."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        names = {"home": home, "port": port, "schedule": "false", "redis_url": f"unix://{home}/absent.sock"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        environment = kept | {f"HOOKE_{name.upper()}": str(value) for name, value in names.items()}
        with (home / "log").open("wb") as log:
            command = [sys.executable, "-m", "hooke_api"]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        wait_for(self._lives, (home / "log").read_text)
        token = (home / "token").read_text().strip()
        self.client = httpx.Client(
            base_url=f"{self.url}/api/v1", headers={"authorization": f"Bearer {token}"}, timeout=LIMIT
        )
        self.run = self._begin_run()

    def _lives(self) -> bool:
        try:
            return httpx.get(f"{self.url}/livez").status_code == 200
        except httpx.TransportError:
            return False

    def _begin_run(self) -> str:
        headers = {"authorization": f"Bearer {(self.home / 'agent-token').read_text().strip()}"}
        self.client.post("/agents/hello", json=HELLO, headers=headers).raise_for_status()
        self.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
        run = self.client.get("/runs").json()["items"][0]["id"]
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        with closing(sqlite3.connect(self.home / "hooke.db", timeout=LIMIT)) as connection, connection:
            connection.execute("UPDATE runs SET state = 'running', attempt = 1")
            connection.execute(
                "INSERT INTO attempts (run_id, number, created_at, reports, logs, checkpoints_asked)"
                " VALUES (?, 1, '2026-01-01 00:00:00', 0, -1, 0)",
                (run,),
            )
            connection.execute(
                "INSERT INTO attempt_tokens (token_sha256, run_id, attempt, created_at)"
                " VALUES (?, ?, 1, '2026-01-01 00:00:00')",
                (digest, run),
            )
        return run

    def ingest(self, body: bytes, **headers: str) -> httpx.Response:
        sent = {"authorization": f"Bearer {TOKEN}", "content-encoding": "gzip"} | headers
        return self.client.post("/ingest", content=body, headers=sent)

    def memory(self, name: str) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith(name)).split()[1]) / 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


@pytest.fixture(scope="module")
def api(tmp_path_factory, sqlite_template):
    home = tmp_path_factory.mktemp("measured")
    shutil.copy(sqlite_template, home / "hooke.db")
    made = Measured(home)
    try:
        yield made
    finally:
        made.client.close()
        made.process.kill()
        made.process.wait(LIMIT)


def longest(seq: int) -> dict:
    """Return the longest record there may be, of random numbers: 65,536 steps."""
    count, chance = 65_536, np.random.default_rng(1)
    columns = {
        name: chance.integers(1, 2**20, count) if dtype[1] == "i" else chance.random(count)
        for name, dtype in STEP_COLUMNS.items()
    }
    return json.loads(steps(seq, n=count, **columns).model_dump_json())


def requests(run: str) -> dict[str, tuple[int, bytes]]:
    """Return name -> the status that a request gets, and its body before compression."""

    def body(**parts) -> bytes:
        return json.dumps({"run": run, "attempt": 1} | parts).encode()

    def of_rank(*records) -> bytes:
        return body(ranks=[{"rank": 0, "records": list(records)}])

    begun = json.loads(start().model_dump_json())
    line = {"seq": 0, "rank": 0, "stream": "stdout", "unix": 1.7e9, "text": "x"}
    saved = Checkpointed(seq=2, step=1, samples=1, path="p", bytes=1, sha256="0" * 64).model_dump()
    many = [saved | {"seq": 1 + i} for i in range(9_000)]
    return {  # the dearest first: what it leaves to the process hides what the others take
        "the longest record": (200, of_rank(begun, longest(1))),
        "500,000 zeros in ranks": (413, body(ranks=[0] * 500_000)),
        "9,000 zeros in ranks": (422, body(ranks=[0] * 9_000)),
        "zeros in lists of zeros": (413, body(ranks=[[0] * 9_000] * 50)),
        "9,000 zeros in logs": (422, body(logs=[0] * 9_000)),
        "9,000 empty reports": (200, body(reports=[{}] * 9_000)),
        "9,000 fields of one report": (200, body(reports=[{f"x{i}": i for i in range(9_000)}])),
        "9,000 lines of nothing": (200, body(logs=[{"seq": i} for i in range(9_000)])),
        "9,000 fields of one record": (200, of_rank(begun | {f"x{i}": i for i in range(9_000)})),
        "hardware of 9,000 lists": (200, of_rank(begun | {"hardware": {f"x{i}": [] for i in range(9_000)}})),
        "lines of 8,192 characters": (
            200,
            body(logs=[line | {"seq": i, "text": "y" * 8192} for i in range(1_400)]),
        ),
        "9,000 checkpoints": (200, body(ranks=[{"rank": 1, "records": [begun | {"seq": 0}, *many]}])),
        "12 MiB of escapes": (422, body(strange="\n" * 6_000_000)[: 12 << 20]),
        "spaces": (413, b" " * (13 << 20)),
    }


def test_no_request_takes_more_than_64_mib(api):
    api.client.post("/experiments/dry-run", json=SPEC).raise_for_status()  # imports, caches
    assert api.ingest(gzip.compress(json.dumps({"run": api.run, "attempt": 1}).encode())).status_code == 200
    taken = {}
    documents = {
        "parameters of parameters": SPEC | {"variants": [{f"x{i}": 0 for i in range(160)} for _ in range(200)]},
        "zeros": [0] * 500_000,
        "variants of zeros": SPEC | {"variants": [0] * 3_999},
        "a long text": SPEC | {"description": "x" * 1_000_000},
    }
    for name, document in documents.items():
        before = api.memory("VmRSS")
        api.forget_peak()
        answer = api.client.post("/experiments/dry-run", json=document)
        taken[name] = round(api.memory("VmHWM") - before, 1)
        assert answer.status_code in (413, 422), (name, answer.text[:300])
        assert len(answer.content) < 200_000
    for name, (status, body) in requests(api.run).items():
        compressed = gzip.compress(body, 1)
        before = api.memory("VmRSS")
        api.forget_peak()
        answer = api.ingest(compressed)
        taken[name] = round(api.memory("VmHWM") - before, 1)
        assert answer.status_code == status or (name == "12 MiB of escapes" and answer.status_code == 400), (
            name,
            answer.text[:300],
        )
        assert len(answer.content) < 100_000
    print("MiB taken:", taken)
    assert {name: mib for name, mib in taken.items() if mib > MOST_MIB} == {}
    assert api.client.get("/livez").status_code == 200
