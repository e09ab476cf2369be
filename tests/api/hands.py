"""Hands to play agent and supervisor with, and plausible records for them to send."""

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
import numpy as np
from fastapi import FastAPI
from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.events import (
    STEP_COLUMNS,
    Done,
    Evaluation,
    Ingest,
    IngestAnswer,
    LogLine,
    RankRecords,
    Start,
    StateReport,
    Steps,
)
from hooke.spec.fetching import FetchOrder
from hooke.spec.files import FilePart
from hooke.spec.journal import pack
from hooke.spec.orders import (
    BrokerOrder,
    Calibrate,
    Cancel,
    CancelCalibration,
    ClaimedOrder,
    Fetch,
    Forget,
    Launch,
    LaunchOrder,
    OrderKind,
    Probe,
)
from hooke.spec.protocol import PROTOCOL
from hooke_api.base.security import digest
from hooke_api.base.settings import Settings
from hooke_api.models import RankTotals, Run
from hooke_api.planning.steps import Planner
from hooke_api.scheduling.scheduler import Scheduler
from hooke_api.storage.database import Database
from sqlalchemy import select

from tests.waiting import LIMIT

SPEC = {
    "name": "first",
    "workload": {"name": "digits-mlp"},
    "variants": [
        {"name": "sync", "algorithm": "sync-easgd"},
        {"name": "original", "algorithm": "original-easgd"},
    ],
    "baseline": "original",
    "clusters": [{"name": "local", "workers": [2], "seeds": 2}],
    "budget": {"samples": 10_000},
    "target": {"value": 0.9},
    "evaluation": {"every": 1000},
}


ALONE = {
    "variants": SPEC["variants"][:1],
    "baseline": "sync",
    "clusters": [{"name": "local", "workers": [2], "seeds": 1}],
}
"""Changes that leave one run of it, of two ranks."""


HELLO = {
    **{"name": "local", "cores": 4, "slots": 4, "launcher": "local", "hardware": {}, "versions": {}},
    "protocol": PROTOCOL,
}
"""The least that an agent says of its cluster."""


class OrderLine:
    """A message line that claims what is sent, as an agent does, and keeps the answers; `down` makes it refuse."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, OrderKind, BrokerOrder]] = []
        self.refused: list[str] = []
        """What the API said of orders that it did not let claim."""
        self.launched: list[tuple[str, list[LaunchOrder]]] = []
        self.cancelled: list[tuple[str, str, int]] = []
        self.probed: list[tuple[str, str, int]] = []
        self.calibrated: list[tuple[str, CalibrationOrder]] = []
        self.ended: list[tuple[str, str]] = []
        self.forgotten: list[tuple[str, list[str]]] = []
        self.fetched: list[tuple[str, FetchOrder]] = []
        self.down = False
        self.deaf = False
        """Whether orders are sent, and nobody claims them."""
        self.claim: Callable[[str, BrokerOrder], httpx.Response]

    def send(self, cluster: str, kind: OrderKind, order: BrokerOrder) -> None:
        if self.down:
            raise ConnectionError("no message line")
        self.sent.append((cluster, kind, order))
        if self.deaf:
            return
        answer = self.claim(cluster, order)
        if answer.status_code != 200:
            self.refused.append(answer.json()["detail"])
            return
        work = ClaimedOrder.model_validate_json(answer.content).work
        assert work.kind == kind
        match work:
            case Launch():
                self.launched.append((cluster, work.attempts))
            case Cancel():
                self.cancelled.append((cluster, work.run, work.attempt))
            case Probe():
                self.probed.append((cluster, work.run, work.attempt))
            case Calibrate():
                self.calibrated.append((cluster, work.calibration))
            case CancelCalibration():
                self.ended.append((cluster, work.calibration))
            case Forget():
                self.forgotten.append((cluster, work.runs))
            case Fetch():
                self.fetched.append((cluster, work.fetch))

    def token(self, run: str, attempt: int) -> str | None:
        """Return the token that an attempt was claimed with last."""
        given = [
            order
            for _, orders in self.launched
            for order in orders
            if (order.run, order.attempt) == (run, attempt)
        ]
        return given[-1].token if given else None


@dataclass
class Service:
    """A running API, its clients, and a scheduler that looks when told."""

    app: FastAPI
    settings: Settings
    url: str
    client: httpx.Client
    in_flight: set
    """The requests that the server is working on."""
    line: OrderLine = field(default_factory=OrderLine)
    opened: list[httpx.Client] = field(default_factory=list)
    """Clients of a test that are closed after it."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Cluster -> token of its agent; by default that of the server."""

    def __post_init__(self) -> None:
        self.line.claim = self.claim
        self.database: Database = self.app.state.database
        self.sender = httpx.Client(timeout=LIMIT)
        planner = Planner(self.database)
        self.scheduler = Scheduler(
            self.database, self.app.state.bus, self.settings, lambda _: self.line, planner.look
        )
        self.agent = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"authorization": f"Bearer {self.settings.agents}"},
            timeout=LIMIT,
        )

    def hello(self, name: str = "local", cores: int = 4, **more) -> None:
        body = HELLO | {"name": name, "cores": cores, "slots": cores}
        body |= {"hardware": {"cpu": "test"}, "versions": {"hooke": "0"}} | more
        answer = self.agent.post("/agents/hello", json=body)
        assert answer.status_code == 200, answer.text

    def submit(self, **changes) -> dict:
        """Register the cluster and submit an experiment."""
        self.hello()
        answer = self.client.post("/experiments", json=SPEC | changes)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def runs(self, **query) -> list[dict]:
        return self.get("/runs", limit=500, **query)["items"]

    def run(self, run_id: str) -> dict:
        return self.get(f"/runs/{run_id}")

    def get(self, path: str, **query) -> dict:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def launch(self, **changes) -> "Supervisor":
        """Submit an experiment of one run, look at the queue, and return a supervisor for it."""
        self.submit(**ALONE | changes)
        return self.next()

    def next(self) -> "Supervisor":
        """Look at the queue and return a supervisor for the order sent last."""
        before = len(self.line.launched)
        self.scheduler.look()
        assert len(self.line.launched) > before, "nothing was sent"
        return Supervisor(self, self.line.launched[-1][1][0])

    def claim(self, cluster: str, order: BrokerOrder, **changes: str | None) -> httpx.Response:
        """Claim an order as the agent that it is for; `changes`: of the request."""
        body = {"order": order.id, "agent": order.agent} | changes
        headers = {"authorization": f"Bearer {self.tokens.get(cluster, self.settings.agents)}"}
        return self.sender.post(f"{self.url}/api/v1/agents/claim", json=body, headers=headers)

    def prove(self, run: str, attempt: int, alive: bool, why: str = "seen") -> None:
        token = self.line.token(run, attempt)
        body = {"run": run, "attempt": attempt, "alive": alive, "why": why}
        body |= {"token_sha256": digest(token)} if token else {}
        assert self.agent.post("/agents/proof", json=body).status_code == 204

    def count(self, model) -> int:
        from sqlalchemy import func, select

        with self.database.read() as session:
            return session.scalar(select(func.count()).select_from(model))


class Supervisor:
    """The sending end of ingest, by hand."""

    def __init__(self, service: Service, order: LaunchOrder) -> None:
        self.service = service
        self.order = order
        self.reports: list[StateReport] = []

    @property
    def id(self) -> str:
        return self.order.run

    def post(self, body: bytes, **headers: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.order.token}", "content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self.service.sender.post(f"{self.service.url}/api/v1/ingest", content=body, headers=headers)

    def request(
        self, *ranks: RankRecords, logs: list[LogLine] = (), renew: bool = True, files: list[FilePart] = ()
    ) -> Ingest:
        return Ingest(
            run=self.id,
            attempt=self.order.attempt,
            reports=self.reports,
            ranks=list(ranks),
            logs=list(logs),
            files=list(files),
            renew=renew,
        )

    def send(
        self, *ranks: RankRecords, logs: list[LogLine] = (), renew: bool = True, files: list[FilePart] = ()
    ) -> IngestAnswer:
        request = self.request(*ranks, logs=logs, renew=renew, files=files)
        body = gzip.compress(request.model_dump_json().encode(), 1)
        answer = self.post(body, content_encoding="gzip")
        assert answer.status_code == 200, answer.text
        return IngestAnswer.model_validate_json(answer.content)

    def tell(self, *states: str, **evidence) -> None:
        """Report states, oldest first, with the next request."""
        for state in states:
            told = {"why": f"it is {state}", **evidence}
            self.reports.append(StateReport(state=state, unix=time.time(), **told))

    def report(self, *states: str, **evidence) -> IngestAnswer:
        """Report states, oldest first, and send; with a success, the `done` record of every rank without one."""
        ends = self.missing_ends() if "succeeded" in states else []
        self.tell(*states, **evidence)
        return self.send(*ends)

    def finish_ranks(self) -> None:
        """Send a `done` record of every rank that has sent none, with the totals that it has."""
        if ends := self.missing_ends():
            self.send(*ends)

    def missing_ends(self) -> list[RankRecords]:
        """Return a `done` record of every rank that has sent none, with the totals that it has."""
        with self.service.database.read() as session:
            run = session.get_one(Run, self.id)
            mine = select(RankTotals).where(RankTotals.run_id == self.id, RankTotals.attempt == self.order.attempt)
            totals = {row.rank: row for row in session.scalars(mine)}
        parts = []
        for rank in range(run.workers + run.servers):
            row = totals.get(rank)
            if row is None:
                parts.append(RankRecords(rank=rank, records=[done(0, **_figures(None))]))
            elif row.ended is None:
                parts.append(RankRecords(rank=rank, records=[done(row.stored + 1, **_figures(row))]))
        return parts


def _figures(row: RankTotals | None) -> dict:
    value = (lambda name: getattr(row, name)) if row is not None else (lambda name: 0)
    names = ("samples", "clock", "wall", "hidden", "payload", "wire", "messages")
    phases = ("data", "compute", "communicate", "update", "evaluate", "idle")
    figures = {name: value(name) for name in names}
    return figures | {"step": value("steps"), "phases": {name: value(name) for name in phases}}


def steps(seq: int, n: int = 4, first: int = 1, workers: int = 2, **columns) -> Steps:
    """Return a block of plausible steps: 10 ms each, of which 2 ms are communication."""
    count = np.arange(first, first + n, dtype=np.float64)
    values = {
        "step": count,
        "samples": count * 32 * workers,
        "clock": count * 0.01,
        "wall": count * 0.01,
        "loss": 1 / count,
        "data": np.full(n, 0.001),
        "compute": np.full(n, 0.006),
        "communicate": np.full(n, 0.002),
        "update": np.full(n, 0.001),
        "evaluate": np.zeros(n),
        "idle": np.zeros(n),
        "hidden": np.full(n, 0.0005),
        "payload": np.full(n, 1000),
        "wire": np.full(n, 2000),
        "messages": np.full(n, 3),
    } | columns
    return Steps(
        seq=seq,
        n=n,
        columns={
            name: pack(name, [int(v) if STEP_COLUMNS[name][1] == "i" else float(v) for v in column])
            for name, column in values.items()
            if column is not None
        },
    )


def start(seq: int = 0, **changes) -> Start:
    told = {
        "role": "worker",
        "host": "node",
        "pid": 7,
        "unix": 1.7e9,
        "monotonic": 5.0,
        "world": "mpi",
        "ranks": 2,
    }
    told |= {"oversubscribed": False, "hardware": {"cpu": "x"}, "evaluated_part": "validation"}
    return Start(seq=seq, **(told | changes))


def scored(seq: int, samples: int, accuracy: float, **changes) -> Evaluation:
    told = {"step": samples // 64, "clock": samples / 1000, "wall": samples / 900, "loss": 1 - accuracy}
    return Evaluation(
        seq=seq, samples=samples, accuracy=accuracy, **(told | {"seconds": 0.1, "reached": False} | changes)
    )


def done(seq: int, **changes) -> Done:
    phases = {"data": 1.0, "compute": 6.0, "communicate": 2.0, "update": 0.5, "evaluate": 0.5, "idle": 0.0}
    told = {"reason": "budget", "step": 100, "samples": 6400, "clock": 9.5, "wall": 10.0, "phases": phases}
    return Done(seq=seq, **(told | {"hidden": 0.25, "payload": 10, "wire": 20, "messages": 30} | changes))


def lines(first: int, n: int, rank: int = 0) -> list[LogLine]:
    return [
        LogLine(seq=i, rank=rank, stream="stdout", unix=1.7e9 + i, text=f"line {i}")
        for i in range(first, first + n)
    ]
