"""Writes docs/algorithms.json: who sends what when, prices and stability bounds of the built-in methods.

The dashboard draws it on the pages of the methods. Who sends what when is a run of each method on a quadratic in
virtual time: the phases of every rank are those of its trace, the messages those that the network carried. Times
are thousandths of the mean time of a gradient. `make algorithms` writes the file.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.claims import LENET, Step, Transfer, _layout, _with_defaults, claimed
from hooke.catalogue.discovery import built_in
from hooke.comm.base import Comm
from hooke.comm.virtual.communicator import run_virtual
from hooke.comm.virtual.network import Network
from hooke.loop.flag import Flag
from hooke.loop.state import RankOptions
from hooke.loop.train import trace_of, train_rank
from hooke.methods.elastic import Elastic
from hooke.spec.communication import DEFAULT_COLLECTIVE
from hooke.trace.phases import PHASES, Phase
from hooke.trace.reading import read
from hooke.trace.records import file_of

from tests.engine.contract import suite, traffic
from tests.engine.contract.cases import BATCH, Case
from tests.engine.contract.objective import Behaviour, Quadratic, Quadratics

FILE = Path(__file__).parents[3] / "docs" / "algorithms.json"
WORKERS, STEPS, PERIOD = 4, 6, 2
COUNTS = (2, 4, 8, 16, 32)
"""Numbers of workers of prices and bounds."""
PRICED = 200
"""Steps over which prices are averaged."""
GRADIENT = BATCH * 1e-4
"""Mean seconds of a gradient; a message of all weights takes a quarter of it, an update about a twentieth."""
SIZE = 4 * Quadratics().size
SHOWN = tuple(phase for phase in PHASES if phase is not Phase.REBUILD)
"""Phases of the methods' drawings, in which no table is built."""
NETWORK = (
    ("latency", 0.05 * GRADIENT),
    ("seconds_per_byte", 0.2 * GRADIENT / SIZE),
    ("memory_bandwidth", 3 * SIZE / (0.05 * GRADIENT)),
    ("compute_jitter", 0.15),
)
SOONER = {"switch": 2, "mega_batch": 8}
"""Parameters by which a method changes what it does, where a run of a few steps shows both."""


Carried = tuple[int, int, float, float, int]
Row = list[tuple[int, float, float]]


class Recorded(Network):
    """The network of the virtual world, which also notes its messages: source, target, start, end (s), bytes."""

    carried: ClassVar[list[Carried]] = []

    def transfer(self, now: float, source: int, target: int, size: int, *more: Any, **named: Any) -> float:
        end = super().transfer(now, source, target, size, *more, **named)
        start = end - self.latency - self.price(source, target, size)
        self.carried.append((source, target, start, end, size))
        return end


@dataclass
class Shown:
    """What one run shows."""

    drawn: dict[str, Any]
    objectives: list[Quadratic]


def case_of(name: str) -> Case:
    """Return the run that is drawn. Raises ValueError with the reason why there is none."""
    kind = built_in("algorithm")[name].cls
    if kind.max_workers == 1:
        raise ValueError("It has one worker, which sends nothing.")
    found = suite.base(name)
    for field, value in {kind.period_field: PERIOD, **SOONER}.items():
        if field in found or (field in kind.model_fields and field != kind.period_field):
            changed = found | {field: value}
            found = found if kind.model_validate(changed).faults(WORKERS) else changed
    if told := kind.model_validate(found).faults(WORKERS):
        raise ValueError(f"It does not run on {WORKERS} workers: {'; '.join(told)}.")
    changes = any(field in found for field in (kind.period_field, *SOONER))
    steps = STEPS if changes else STEPS // PERIOD  # three exchanges
    return Case(
        name,
        tuple(found.items()),
        WORKERS,
        steps=steps,
        every=10**6,
        network=NETWORK,
        collective=DEFAULT_COLLECTIVE,
    )


def show(case: Case) -> Shown:
    """Run a case with traces and a network that notes its messages."""
    spec = case.spec("virtual")
    objectives: list[Quadratic] = []
    served = case.kind.coordination == "parameter-server"

    def main(comm: Comm) -> None:
        objective = Quadratic(case.objective, comm, Behaviour(served=served), Flag(), virtual=True)
        objectives.append(objective)
        train_rank(
            comm, spec, folder, objective, options=RankOptions(Flag()), trace=trace_of(folder, spec, comm.rank)
        )

    Recorded.carried = []
    with tempfile.TemporaryDirectory() as name, mock.patch("hooke.comm.virtual.communicator.Network", Recorded):
        folder = Path(name)
        assert spec.virtual is not None
        run_virtual(case.ranks, spec.virtual, main, case.collective, case.kind.servers)
        traces = [read(file_of(folder, rank)) for rank in range(case.ranks)]
    rows = [[(SHOWN.index(Phase(p.phase)), p.began, p.ended) for p in each.phases] for each in traces]
    objectives.sort(key=lambda each: each.comm.rank)
    start = min(each.header["began"] for each in traces)  # before it the initial weights are sent, off the clock
    places = [
        (min(source, case.ranks), min(target, case.ranks), began, ended, size)
        for source, target, began, ended, size in Recorded.carried
        if began >= start
    ]
    return Shown(_drawn(case, rows, places), objectives)


def _drawn(case: Case, rows: list[Row], carried: list[Carried]) -> dict[str, Any]:
    """Return phases and messages between the first and the last gradient, update or message; evaluations apart."""
    evaluate = SHOWN.index(Phase.EVALUATE)
    apart = [[(began, ended) for phase, began, ended in row if phase == evaluate] for row in rows]
    stop = [_stop(row, apart[rank]) for rank, row in enumerate(rows)]
    messages = [
        each
        for each in carried
        if not any(rank < case.ranks and _within(each[2], [*apart[rank], stop[rank]]) for rank in each[:2])
    ]
    working = [SHOWN.index(Phase.COMPUTE), SHOWN.index(Phase.UPDATE)]
    slices = [each for row in rows[: case.workers] for each in row if each[0] in working]
    origin = min([*(each[1] for each in slices), *(each[2] for each in messages)])
    end = max([*(each[2] for each in slices), *(each[3] for each in messages)])

    def at(seconds: float) -> int:
        return round((min(max(seconds, origin), end) - origin) / GRADIENT * 1000)

    drawn = [[(phase, at(began), at(ended)) for phase, began, ended in row if phase != evaluate] for row in rows]
    return {
        "settings": dict(case.parameters),
        "rows": [*(f"worker {i}" for i in range(case.workers)), *["server"] * case.kind.servers]
        + ["shared center"] * any(max(each[:2]) >= case.ranks for each in messages),
        "end": at(end),
        "phases": [_joined([each for each in row if each[2] > each[1]]) for row in drawn],
        "messages": sorted(
            [source, target, at(start), at(stop), size] for source, target, start, stop, size in messages
        ),
    }


def _stop(row: Row, apart: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the time from a rank's last evaluation on, in which the test part is scored: off the clock."""
    last = max((ended for phase, _, ended in row if phase == SHOWN.index(Phase.COMPUTE)), default=0.0)
    return min((began for began, _ in apart if began >= last), default=math.inf), math.inf


def _within(time: float, apart: Sequence[tuple[float, float]]) -> bool:
    return any(began <= time < ended for began, ended in apart)


def _joined(row: list[tuple[int, int, int]]) -> list[list[int]]:
    """Return the slices of a rank with successive ones of the same phase as one."""
    found: list[list[int]] = []
    for phase, began, ended in row:
        if found and found[-1][0] == phase and found[-1][2] == began:
            found[-1][2] = ended
        else:
            found.append([phase, began, ended])
    return found


def prices(name: str, kind: type[Algorithm]) -> dict[str, Any] | None:
    """Return, for each number of workers, what a local step of a worker moves with the defaults; None: no claim.

    Payload of a worker and bytes of all, in vectors of all weights; messages of all; seconds of the messages one
    after the other, as (latencies A, vectors |W| B); and what hides them.
    """
    exchange, method = claimed(kind, "exchange"), _with_defaults(kind)
    if exchange is None or method is None:
        return None
    found = {}
    for workers in COUNTS if kind.max_workers is None else (1,):
        if method.faults(workers):
            continue
        step = Step(0, workers, _layout(LENET), 0)
        every = [list(exchange(method, replace(step, t=t))) for t in range(PRICED)]
        found[str(workers)] = _price(
            Case(name, workers=workers, collective=DEFAULT_COLLECTIVE), kind, every, step.elements
        )
    return found


def _price(case: Case, kind: type[Algorithm], every: list[list[Transfer]], elements: int) -> dict[str, Any]:
    together = kind.coordination == "synchronous"
    flat = [each for step in every for each in step]
    moved = traffic.moved(case, flat)
    all_at_once = together and flat and {e.operation for e in flat} == {"message"} and not kind.servers
    parallel = case.workers if all_at_once else 1
    others = 1 if together else case.workers
    return {
        "payload": _short(moved.payload / 4 / elements / PRICED / (case.workers if together else 1)),
        "wire": _short(moved.wire * others / 4 / elements / PRICED),
        "messages": _short(moved.messages * others / PRICED),
        "latencies": _short(traffic.seconds(flat, 1, 0, case.collective) / parallel / PRICED),
        "volumes": _short(traffic.seconds(flat, 0, 1 / (4 * elements), case.collective) / parallel / PRICED),
        "behind": sorted({str(each.behind) for each in flat}),
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def bounds(kind: type[Algorithm]) -> dict[str, dict[str, float]] | None:
    """Return the bounds of the moving rate's three parameters for each number of workers; None: it has none.

    The others have their defaults. The moving rate is proportional to each of them.
    """
    if not issubclass(kind, Elastic) or _with_defaults(kind) is None:
        return None
    found: dict[str, dict[str, float]] = {}
    for given in ({"alpha": 1.0, "beta": None}, {"beta": 1.0}, {"rho": 1.0, "beta": None}):
        method = kind.model_validate(given)
        for workers in COUNTS:
            if not method.faults(workers):
                bound = _short(method.bound(workers) / method.rate(workers))
                found.setdefault(str(workers), {})[next(iter(given))] = bound
    return found


def facts(name: str, kind: type[Algorithm]) -> dict[str, Any]:
    """Return what the file says of one method."""
    try:
        drawn = show(case_of(name)).drawn
    except ValueError as why:
        drawn = {"reason": str(why)}
    return {"drawn": drawn, "prices": prices(name, kind), "bounds": bounds(kind)}


def found() -> dict[str, Any]:
    """Return the content of the file."""
    methods = {name: facts(name, item.cls) for name, item in built_in("algorithm").items()}
    return {"phases": [str(phase) for phase in SHOWN], "weights": SIZE, "methods": methods}


def main() -> None:
    """Write the file, one method a line."""
    content = found()
    methods = content.pop("methods")
    lines = [f"{json.dumps(name)}: {json.dumps(each, separators=(',', ':'))}" for name, each in methods.items()]
    head = json.dumps(content)[:-1]
    FILE.write_text(f'{head}, "methods": {{\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
