"""The families of cases: every method of the catalogue with each of its options, and its twins."""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hooke.catalogue.algorithm import Algorithm, catalogue
from hooke.catalogue.claims import Limit, claimed
from hooke.catalogue.lacking import unknown
from hooke.catalogue.offers import here
from hooke.methods.elastic import Elastic

from tests.engine.contract.cases import Case
from tests.engine.contract.objective import Quadratics

WORKERS = (2, 4)
PERIOD = 3
MOMENTUM = 0.6
ONLY = "HOOKE_METHODS"
"""Environment variable: names of the methods that are tested, separated by commas; empty: all of the catalogue."""
BY_BASE_CLASS = ("momentum_kind", "beta_per", "optimizer", "schedule")
"""Options of `Descent` and `Elastic` without a case of their own: they are in those of `momentum`, in
`test_elastic.py`, and in `test_settings.py`."""
ALONE = ("split",)
"""Options without a case: measured sizes follow a clock, and differ between worlds (`test_measured_split.py`)."""
MERGING = ("adaptive-sgd",)
"""Methods with a server that waits for all workers from time to time."""
VARYING = ("heterogeneous-easgd",)
"""Methods whose periods follow the speeds of the workers."""
RULES = ("elastic.simultaneous", "elastic.in_rank_order", "elastic.in_order_of_arrival", "elastic.lock_free")
"""References in which (1) and (2) are all there is to a method without momentum."""


def methods() -> dict[str, type[Algorithm]]:
    """Return the methods that are tested, by name."""
    asked = os.environ.get(ONLY, "")
    return {name: kind for name, kind in catalogue().items() if not asked or name in asked.split(",")}


def untested() -> list[str]:
    """Return, for each name in HOOKE_METHODS that is none, why nothing of it can be tested."""
    place = here()
    asked = [name for name in os.environ.get(ONLY, "").split(",") if name and name not in catalogue()]
    return [unknown("algorithm", name, {"": place}, [""]) for name in asked]


def base(algorithm: str) -> dict[str, Any]:
    """Return what a method is given in all of its cases: a period that a run of a few steps has several of, ..."""
    kind = catalogue()[algorithm]
    found = dict(kind.tested_with)
    default = kind.model_fields[kind.period_field].default if kind.period_field else None
    if kind.period_field and (not isinstance(default, int) or default > 1):
        found = {kind.period_field: PERIOD, **found}
    return found


def preset(algorithm: str) -> bool:
    """Return whether it is another method with other defaults: the options are that one's, and tested there.

    Not so where that one is in no catalogue, or not tested, or is not all there is to the class.
    """
    kind = catalogue()[algorithm]
    parent = kind.__mro__[1]
    if parent not in methods().values() or not issubclass(parent, Algorithm):
        return False
    return kind.run is parent.run and set(kind.model_fields) == set(parent.model_fields)


def options(algorithm: str) -> list[dict[str, Any]]:
    """Return the parameter sets to test: defaults, each field moved alone to each other option, and what the class
    says belongs together. An option that the method itself warns of, because it does nothing, is left out."""
    kind, always = catalogue()[algorithm], base(algorithm)
    if preset(algorithm):
        return [always]
    together = [dict(each) for each in kind.tested_together]
    grouped = {name for each in together for name in each if name not in ("momentum", kind.period_field)}
    found: list[dict[str, Any]] = []
    for name, field in _properties(kind).items():
        if field.get("type") == "boolean":
            found.append({name: not field.get("default", False)})
        elif "enum" in field and name not in grouped.union(BY_BASE_CLASS, ALONE):
            found += [{name: value} for value in field["enum"] if value not in (field.get("default"), "plain")]
        elif name == kind.period_field and name not in always:
            found.append({name: PERIOD})
        elif name == "momentum":
            found.append({"momentum": MOMENTUM, "momentum_kind": "nesterov"})
    told = kind.model_validate(always).warnings(1)
    alone = [each for each in found if kind.model_validate(always | each).warnings(1) == told]
    return [always, *(always | each for each in alone + together)]


@functools.cache
def _properties(kind: type[Algorithm]) -> dict[str, Any]:
    """Return its parameters in JSON Schema, which takes long to form, and is asked for by every file of tests."""
    return kind.model_json_schema().get("properties", {})


def workers_of(algorithm: str, asked: tuple[int, ...], parameters: dict[str, Any]) -> tuple[int, ...]:
    """Return the worker counts to test: those asked that the method allows; one, of a sequential method."""
    kind = catalogue()[algorithm]
    if kind.max_workers is not None:
        return (1,)
    method = kind.model_validate(parameters)
    return tuple(workers for workers in asked if not method.faults(workers))


@functools.cache
def _family(asked: tuple[int, ...]) -> tuple[Case, ...]:
    """Return the same for everybody who asks for it: files of tests do 60 times, and validate all of it."""
    return tuple(
        Case(algorithm, tuple(parameters.items()), workers)
        for algorithm in methods()
        for parameters in options(algorithm)
        for workers in workers_of(algorithm, asked, parameters)
    )


def family(asked: tuple[int, ...] = WORKERS) -> list[Case]:
    """Return every method with every option on every number of workers."""
    return list(_family(asked))


def defaults(asked: tuple[int, ...] = WORKERS) -> list[Case]:
    """Return every method with its defaults alone."""
    return [case for case in family(asked) if dict(case.parameters) == base(case.algorithm)]


def spring(case: Case) -> bool:
    """Return whether it is given a moving rate as elastic methods are."""
    return issubclass(case.kind, Elastic)


def elastic(case: Case) -> bool:
    """Return whether it claims that (1) and (2) are all there is to it, and has no momentum."""
    reference = claimed(case.kind, "reference")
    return not case.values.get("momentum") and (
        reference in RULES or (reference == "elastic.chips" and case.parts == 1)
    )


def free(case: Case) -> bool:
    """Return whether it works without locks."""
    return case.kind.coordination == "lock-free"


def served(case: Case) -> bool:
    """Return whether a server grants its steps."""
    return case.kind.coordination == "parameter-server"


def limits_of(kind: type[Algorithm]) -> Sequence[Limit]:
    """Return the limits that a class itself states: those of its base class need not hold with other defaults."""
    found: Sequence[Limit] = vars(kind).get("limits", ())
    return found


def claims(name: str, cases: list[Case]) -> list[Case]:
    """Return the cases of methods that claim this."""
    return [case for case in cases if claimed(case.kind, name)]


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


def one_of_each(cases: list[Case]) -> list[Case]:
    """Return one method of each coordination and number of workers, for what loops decide and no method does."""
    few = {(case.kind.coordination, case.workers): case for case in cases if not preset(case.algorithm)}
    return list(few.values())


def ends(cases: list[Case]) -> list[tuple[Case, str]]:
    """Return each case with the worlds in which its end is looked at: under MPI one method of each coordination.

    What ends a run is decided by the loops, one for each coordination; a method's part is alike in both worlds.
    """
    few = {case.kind.coordination: case for case in cases if not preset(case.algorithm)}
    return [(case, "virtual") for case in cases] + [(case, "mpi") for case in few.values()]


HELD = 52
"""Of 60 gradients: then 2 are the slow worker's, and few are left."""


def one_slow() -> list[Case]:
    """Return methods in which nobody waits for anybody, with one worker that takes far longer than the others.

    Not those that hand out work dynamically, but wait for all at their merges (MERGING).

    Under MPI it is in its second gradient until the two others have done nearly all of the 60 together.

    Evaluated at the start and at the end only: for an evaluation all stop, also the slow one.
    """
    return [
        replace(case, steps=20, slow=(0, 0.06), held=HELD, every=10**6)
        for case in defaults((3,))
        if not case.kind.deterministic and case.algorithm not in MERGING
    ]


def clocked() -> list[Case]:
    """Return every method, and each with a period, with journals; evaluations are slow, and steps take a while."""
    return [
        replace(case, journal=True, scoring=0.04, slow=(0, 0.004))
        for case in family((2,))
        if set(dict(case.parameters)) <= {*base(case.algorithm), case.kind.period_field}
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


@functools.cache
def written() -> frozenset[Case]:
    """Return the straight cases that leave journals in virtual time: options on two workers, defaults on four."""
    return frozenset(map(straight, [*family((2,)), *defaults((4,))]))


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
    cases += one_slow() + torn() + clocked()
    cases += [case for case, world in ends(cancelled()) + ends(aiming()) + ends(met()) if world == "mpi"]
    return [case for case in dict.fromkeys(cases) if case.ranks <= 5]


def played_in(world: str, asked: tuple[int, ...] = (2, 3, 4)) -> list[Case]:
    """Return the straight cases of a world: all in virtual time; under MPI, options on two workers only."""
    if world == "virtual":
        return family(asked)
    return [case for case in dict.fromkeys(family((2,)) + defaults((3, 4))) if case.workers in asked]


def worlds(asked: tuple[int, ...] = (2, 3, 4)) -> list[tuple[Case, str]]:
    """Return every straight case with each world in which it is played."""
    return [(case, world) for world in ("virtual", "mpi") for case in played_in(world, asked)]
