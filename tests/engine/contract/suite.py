"""The families of cases: every method of the catalogue with each of its options, and its twins."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hooke.algorithm import catalogue

from tests.engine.contract.cases import Case
from tests.engine.contract.problem import Quadratics

WORKERS = (2, 4)
PERIOD = 3


def options(algorithm: str) -> list[dict[str, Any]]:
    """Return the parameter sets to test: defaults, then each field moved alone to each other option it has."""
    found: list[dict[str, Any]] = [{}]
    for name, field in catalogue()[algorithm].model_json_schema()["properties"].items():
        if field.get("type") == "boolean":
            found.append({name: not field["default"]})
        elif "enum" in field:
            found += [{name: value} for value in field["enum"] if value != field["default"]]
        elif name == "period":
            found.append({name: PERIOD})
    return found


def workers_of(algorithm: str, asked: tuple[int, ...] = WORKERS) -> tuple[int, ...]:
    """Return the worker counts to test: those asked, or the few that a sequential method allows."""
    most = catalogue()[algorithm].max_workers
    return asked if most is None else tuple(range(1, most + 1))[:1]


def family(asked: tuple[int, ...] = WORKERS) -> list[Case]:
    """Return every method with every option on every number of workers."""
    return [
        Case(algorithm, tuple(parameters.items()), workers)
        for algorithm in catalogue()
        for parameters in options(algorithm)
        for workers in workers_of(algorithm, asked)
    ]


def elastic(case: Case) -> bool:
    """Return whether (1) and (2) are all there is to it: a spring, and no momentum."""
    return "rho" in case.values and not case.values.get("momentum")


def plain(case: Case) -> bool:
    """Return whether it averages gradients at one point: no spring, no momentum."""
    return "rho" not in case.values and not case.values.get("momentum")


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
    return [replace(case, slow=(0, 0.008), **CANCELLED) for case in family((2,)) if not case.parameters]


def aiming() -> list[Case]:
    """Return every method on a problem that it solves well before its budget ends."""
    return [replace(case, steps=200, problem=Quadratics(noise=0.1), target=1.0) for case in family((2,))]


def one_slow() -> list[Case]:
    """Return first-come-first-served methods with one worker that takes far longer than the others."""
    return [
        Case(name, workers=3, steps=20, slow=(0, 0.06))
        for name, kind in catalogue().items()
        if kind.servers and not kind.deterministic
    ]


def torn() -> list[Case]:
    """Return methods with a server on long vectors whose elements are all equal (P14)."""
    long = Quadratics(uniform=True, spread=0.5, layers=(30_000, 3))
    return [Case(name, workers=2, problem=long) for name, kind in catalogue().items() if kind.servers]


def straight(case: Case) -> Case:
    """Return the case as it is also played under MPI: with random delays in every gradient."""
    return replace(case, sleeps=2)


def mpi_cases() -> list[Case]:
    """Return all cases that are played under MPI, each once."""
    cases = [straight(case) for case in family() + family((3,))]
    for case in family():
        if case.kind.deterministic:
            cases += [twin(case) for twin in TWINS.values()]
        else:
            cases += [TWINS["halted and restarted"](case)]
    cases += cancelled() + aiming() + one_slow() + torn()
    return [case for case in dict.fromkeys(cases) if case.ranks <= 5]
