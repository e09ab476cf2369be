"""`make requests`: random requests to every operation of a running API, with all checks of Schemathesis.

An API process with its own Redis, on SQLite, furnished with an experiment, a run that reports, users and tokens.
Ids in addresses are those of what is there, every second time. The exit status is 1 if something was found.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.api import bodies
from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.running import commit
from benchmarks.api.server import Server, served
from tests.checkout import ROOT
from tests.requests import record

DOCUMENT = ROOT / "api" / "openapi.json"
SKIPPED = {"test_webhook", "redeliver"}
"""They send requests to addresses that were drawn by chance."""
AGENTS = [
    f"agent_{name}"
    for name in ("hello", "claim", "proof", "failed_launch", "forgotten", "calibration", "renew_token")
] + [f"agent_fetch_{name}" for name in ("begin", "piece", "end")]
REFUSED = ["2xx", "3xx", "400", "401", "403", "404", "409", "410", "412", "413", "415", "422", "429"]
"""What may be said of a request that fits its schema: that does not say which methods, filters, cursors or
versions there are, nor that a body of gzip may not be cut short."""
LIMITS = ("requests", "ingest", "streams", "anonymous")


def main() -> int:
    """Send them; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help="by default all")
    parser.add_argument("--examples", type=int, default=500, help="requests of each operation, about")
    parser.add_argument("--seed", type=int, help="of what is drawn")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="send them to one operation after the other that has not had as many by this file, and note it there",
    )
    asked = parser.parse_args()
    names = operations()
    if unknown := set(asked.operations) - set(names):
        sys.exit(f"no operation is called {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    chosen = asked.operations or names
    if asked.record is not None:
        return one_by_one(chosen, asked.examples, asked.seed, asked.record.resolve())
    with furnished_server() as (server, attempt):
        return send(server, attempt, chosen, asked.examples, asked.seed)


def one_by_one(names: Sequence[str], examples: int, seed: int | None, place: Path) -> int:
    """Send requests to each operation that lacks them, and record it; return 1 if one has a finding."""
    rest = record.left(names, record.read(place), examples)
    while rest:
        with furnished_server() as (server, attempt):
            if not intact(server, attempt):
                sys.exit("what requests need is not there on a new server: nothing is sent")
            while rest and intact(server, attempt):
                name, drawn = rest.pop(0), seed if seed is not None else secrets.randbelow(2**32)
                print(f"{name}, seed {drawn}, {len(rest)} more", flush=True)
                began = time.time()
                found = send(server, attempt, [name], examples, drawn, place.with_name(f"{name}.txt")) != 0
                now = time.time()
                record.add(place, name, record.Sent(examples, drawn, commit(), now - began, now, found))
    known = record.read(place)
    print(record.summary(names, known, examples))
    return int(any(known[name].found for name in names))


def send(  # noqa: PLR0913 - the server, and what is sent
    server: Server,
    attempt: Attempt,
    names: Sequence[str],
    examples: int,
    seed: int | None,
    log: Path | None = None,
) -> int:
    """Send requests to some operations; return the exit status of Schemathesis. `log`: where it writes to."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "schemathesis.toml"
        place.write_text(toml(configuration(server, attempt, names, examples)))
        command = [str(Path(sys.executable).with_name("schemathesis")), f"--config-file={place}", "run"]
        command += [str(DOCUMENT), f"--url={server.url}", "--continue-on-failure"]
        command += [f"--seed={seed}"] if seed is not None else []
        command += [f"--include-operation-id={name}" for name in names]
        if log is None:
            return subprocess.run(command, check=False, cwd=folder).returncode
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as file:
            return subprocess.run(command, check=False, cwd=folder, stdout=file, stderr=file).returncode


@contextmanager
def furnished_server() -> Iterator[tuple[Server, Attempt]]:
    """Yield a server without limits of requests with something behind its addresses, and an attempt there."""
    with served(None, {f"HOOKE_{kind.upper()}_PER_MINUTE": "0" for kind in LIMITS}) as server:
        attempt = furnished(server)
        server.restart({"HOOKE_SCHEDULE": "false"})  # nothing is sent to addresses of webhooks
        yield server, attempt


def intact(server: Server, attempt: Attempt) -> bool:
    """Return whether what was put there is there still: requests also delete, archive and end it."""
    places = (f"/experiments/{attempt.experiment}", "/projects/other/members", "/clusters/bench-0")
    report = json.dumps({"run": attempt.run, "attempt": attempt.number}).encode()
    with server.client() as owner, server.client(attempt.token) as supervisor:
        told = [owner.raw("GET", place)[0] for place in places]
        told.append(supervisor.raw("POST", "/ingest", report, {"content-type": "application/json"})[0])
        status, run = owner.raw("GET", f"/runs/{attempt.run}")
    return {*told, status} == {200} and json.loads(run)["state"] == "running"


def operations() -> list[str]:
    """Return the names of the operations that are sent requests."""
    paths = json.loads(DOCUMENT.read_text())["paths"].values()
    found = [operation["operationId"] for methods in paths for operation in methods.values()]
    return [name for name in found if name not in SKIPPED]


def furnished(server: Server) -> Attempt:
    """Put something behind the addresses; return an attempt that reports."""
    (attempt,) = claimed(server, 1, 2)
    with server.client(attempt.token) as supervisor, server.client() as owner:
        supervisor.ingest(bodies.first(attempt))
        records: dict[int, list[Any]] = {rank: [bodies.steps(1, 1, 50, 2, rank)] for rank in range(2)}
        supervisor.ingest(bodies.body(attempt, records))
        owner.post("/users", {"name": "ada", "role": "researcher"})
        owner.post("/projects", {"name": "other"})
    return attempt


def added(server: Server, names: Sequence[str]) -> dict[str, list[str]]:
    """Add what these operations change or remove by its id; return the name of the id in addresses -> ids."""
    told = f"random requests {secrets.token_hex(4)}"
    making: dict[str, tuple[str, dict[str, str]]] = {
        "token_id": ("/tokens", {"label": told}),
        "view_id": ("/views", {"name": told, "path": "/runs?state=running"}),
        "webhook_id": ("/webhooks", {"url": "https://hooks.example.org/"}),  # it is sent nothing
    }
    paths = json.loads(DOCUMENT.read_text())["paths"].items()
    places = {op["operationId"]: path for path, methods in paths for op in methods.values()}
    with server.client() as owner:
        return {
            id: [owner.post(*made)["id"]]
            for id, made in making.items()
            if any(f"{{{id}}}" in places[name] for name in names)
        }


def configuration(server: Server, attempt: Attempt, names: Sequence[str], examples: int) -> dict[str, Any]:
    """Return the settings of Schemathesis."""
    there = added(server, names) | {
        "experiment_id": [attempt.experiment],
        "run_id": [attempt.run],
        "project": ["default", "other"],
        "name": ["bench-0", "ada"],
    }

    def bearer(token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    return {
        "hooks": str(Path(__file__).with_name("hooks.py")),
        "headers": bearer(server.token),
        "request-timeout": 30.0,
        "max-stream-events": 2,
        "generation": {"max-examples": examples, "database": "none"},
        "checks": {
            "enabled": True,
            "positive_data_acceptance": {"expected-statuses": REFUSED},
            "negative_data_rejection": {"expected-statuses": [*REFUSED[2:], "405", "406", "428", "5xx"]},
        },
        "dictionaries": {name: {"values": values} for name, values in there.items()},
        "parameters": {f"path.{name}": {"dictionary": name, "probability": 0.5} for name in there},
        "operations": [
            {"include-operation-id": AGENTS, "headers": bearer(server.agents)},
            {"include-operation-id": "ingest", "headers": bearer(attempt.token)},
        ],
    }


def toml(settings: dict[str, Any]) -> str:
    """Return settings as TOML: lists and tables inside of others are written in one line."""
    return "".join(f"{json.dumps(name)} = {_value(value)}\n" for name, value in settings.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_value(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
