"""The families of cases: every method of the catalogue with each of its options, and its twins."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hooke.catalogue.algorithm import catalogue
from hooke.methods.elastic import Elastic

from tests.engine.contract.cases import Case
from tests.engine.contract.objective import Quadratics

WORKERS = (2, 4)
PERIOD = 3
SWITCH = 4
"""Post-local SGD: step from which workers are on their own, within the few steps of a case."""
MOMENTUM = 0.6

BASE: dict[str, dict[str, Any]] = {"diloco": {"lr": 0.005}}
"""What a method is given in all of its cases, beside the short period and switch that a short run needs."""
EXTRA: dict[str, list[dict[str, Any]]] = {
    "async-sgd": [{"momentum": MOMENTUM, "momentum_at": "worker", "period": PERIOD}],
    "chip-easgd": [{"parts": 1}],
    "diloco": [{"inner": "sgd", "momentum": MOMENTUM}],
    "powersgd": [{"rank": 4}],
    "sync-easgd": [{"pipelined": True, "period": PERIOD}],
}
"""Sets in which one option says something only together with another one."""
GOVERNED = ("momentum_kind", "momentum_at", "beta_per", "inner")
"""Options without a case of their own: they are in those of `momentum`, in EXTRA, or in `test_elastic.py`."""


def base(algorithm: str) -> dict[str, Any]:
    """Return the defaults, but with periods that a run of a few steps has several of."""
    fields = catalogue()[algorithm].model_fields
    found = dict(BASE.get(algorithm, {}))
    if "period" in fields and fields["period"].default > 1:
        found["period"] = PERIOD
    if "switch" in fields:
        found["switch"] = SWITCH
    return found


def preset(algorithm: str) -> bool:
    """Return whether it is another method with other defaults: the options are that one's, and tested there."""
    kind = catalogue()[algorithm]
    return kind.run is kind.__mro__[1].run  # type: ignore[attr-defined]


def options(algorithm: str) -> list[dict[str, Any]]:
    """Return the parameter sets to test: defaults, then each field moved alone to each other option it has."""
    always = base(algorithm)
    found: list[dict[str, Any]] = [always]
    if preset(algorithm):
        return found
    for name, field in catalogue()[algorithm].model_json_schema()["properties"].items():
        if field.get("type") == "boolean":
            found.append({name: not field["default"]})
        elif "enum" in field and name not in GOVERNED:
            found += [{name: value} for value in field["enum"] if value not in (field["default"], "plain")]
        elif name == "period" and name not in always:
            found.append({name: PERIOD})
        elif name == "momentum" and algorithm != "diloco":
            found.append({"momentum": MOMENTUM, "momentum_kind": "nesterov"})
    return found[:1] + [always | one for one in found[1:] + EXTRA.get(algorithm, [])]


def workers_of(algorithm: str, asked: tuple[int, ...], parameters: dict[str, Any]) -> tuple[int, ...]:
    """Return the worker counts to test: those asked that the method allows; one, of a sequential method."""
    kind = catalogue()[algorithm]
    if kind.max_workers is not None:
        return (1,)
    method = kind.model_validate(parameters)
    return tuple(workers for workers in asked if not method.faults(workers))


def family(asked: tuple[int, ...] = WORKERS) -> list[Case]:
    """Return every method with every option on every number of workers."""
    return [
        Case(algorithm, tuple(parameters.items()), workers)
        for algorithm in catalogue()
        for parameters in options(algorithm)
        for workers in workers_of(algorithm, asked, parameters)
    ]


def defaults(asked: tuple[int, ...] = WORKERS) -> list[Case]:
    """Return every method with its defaults alone."""
    return [case for case in family(asked) if dict(case.parameters) == base(case.algorithm)]


def spring(case: Case) -> bool:
    """Return whether it ties workers to a center."""
    return issubclass(case.kind, Elastic)


def elastic(case: Case) -> bool:
    """Return whether (1) and (2) are all there is to it: a spring, and no momentum."""
    values = case.values
    return spring(case) and not values["momentum"] and not values.get("center_momentum") and case.parts == 1


def free(case: Case) -> bool:
    """Return whether it works without locks."""
    return case.kind.coordination == "lock-free"


def served(case: Case) -> bool:
    """Return whether a server grants its steps."""
    return case.kind.coordination == "parameter-server"


def plain(case: Case) -> bool:
    """Return whether it only averages gradients or weights, without momentum: alone, it is sequential SGD."""
    only = ("sgd", "sync-sgd", "async-sgd", "downpour", "hogwild-sgd", "local-sgd", "post-local-sgd")
    return case.algorithm in only and not case.values["momentum"]


def _halted(case: Case) -> Case:
    return replace(case, halt=random.Random(case.name).randint(case.workers, (case.steps - 1) * case.workers))


TWINS: dict[str, Callable[[Case], Case]] = {
    "again with delays": lambda case: replace(case, sleeps=1),
    "hardly evaluated": lambda case: replace(case, every=10**6),
    "packed per layer": lambda case: replace(case, packing="per-layer"),
    "other collective": lambda case: replace(case, collective="halving"),
    "halted and restarted": _halted,
}
"""What must not move a bit of a deterministic method (P8, P22, P18, base.py's summation order, P23)."""

CANCELLED = {"steps": 150, "cancel": 2}
"""Long enough for a cancel to be heard before the budget ends: polls lie 64 steps apart, or half a second."""


def cancelled() -> list[Case]:
    """Return every method, stopped by a signal in mid-run; under MPI its steps are slow."""
    return [replace(case, slow=(0, 0.008), **CANCELLED) for case in defaults((2,))]


def aiming() -> list[Case]:
    """Return every method on a problem that it solves well before its budget ends."""
    return [replace(case, steps=200, objective=Quadratics(noise=0.1), target=1.0) for case in defaults((2,))]


def one_slow() -> list[Case]:
    """Return methods in which nobody waits for anybody, with one worker that takes far longer than the others.

    Evaluated at the start and at the end only: for an evaluation all stop, also the slow one.
    """
    return [
        replace(case, steps=20, slow=(0, 0.06), every=10**6)
        for case in defaults((3,))
        if not case.kind.deterministic
    ]


def clocked() -> list[Case]:
    """Return every method, and each with a period, with journals; evaluations are slow, and steps take a while."""
    return [
        replace(case, journal=True, scoring=0.04, slow=(0, 0.004))
        for case in family((2,))
        if set(dict(case.parameters)) <= {*base(case.algorithm), "period"}
    ]


def met() -> list[Case]:
    """Return every method with a target that its initial weights meet."""
    return [replace(case, target=1e9) for case in defaults((2,))]


def torn() -> list[Case]:
    """Return methods with a server on long vectors whose elements are all equal (P14)."""
    long = Quadratics(uniform=True, spread=0.5, layers=(30_000, 3))
    return [
        replace(case, objective=long)
        for case in defaults((2,))
        if case.kind.servers and not preset(case.algorithm)
    ]


def straight(case: Case) -> Case:
    """Return the case as it is also played under MPI: with random delays in every gradient."""
    return replace(case, sleeps=2)


def twins(world: str) -> list[tuple[str, Case]]:
    """Return what to compare bit by bit: options on two workers and defaults on four; less of it under MPI."""
    once = [case for case in family((2,)) if case.kind.deterministic and not preset(case.algorithm)]
    four = [case for case in defaults((4,)) if case.kind.deterministic and not preset(case.algorithm)]
    if world == "virtual":
        return [(twin, case) for case in dict.fromkeys(once + four) for twin in TWINS]
    few = [case for case in once if dict(case.parameters) == base(case.algorithm)]
    return [(twin, case) for case in few for twin in TWINS] + [("halted and restarted", case) for case in four]


def restarted(world: str) -> list[Case]:
    """Return what is halted and restarted."""
    found = [case for twin, case in twins(world) if twin == "halted and restarted"]
    return found + [
        case for case in (family() if world == "virtual" else defaults((2,))) if not case.kind.deterministic
    ]


def mpi_cases() -> list[Case]:
    """Return all cases that are played under MPI, each once."""
    cases = [straight(case) for case in family((2,)) + defaults((3, 4))]
    cases += [TWINS[twin](case) for twin, case in twins("mpi")]
    cases += [TWINS["halted and restarted"](case) for case in restarted("mpi")]
    cases += cancelled() + aiming() + one_slow() + torn() + clocked() + met()
    return [case for case in dict.fromkeys(cases) if case.ranks <= 5]


def played_in(world: str, asked: tuple[int, ...] = (2, 3, 4)) -> list[Case]:
    """Return the straight cases of a world: all in virtual time; under MPI, options on two workers only."""
    if world == "virtual":
        return family(asked)
    return [case for case in dict.fromkeys(family((2,)) + defaults((3, 4))) if case.workers in asked]


def worlds(asked: tuple[int, ...] = (2, 3, 4)) -> list[tuple[Case, str]]:
    """Return every straight case with each world in which it is played."""
    return [(case, world) for world in ("virtual", "mpi") for case in played_in(world, asked)]
