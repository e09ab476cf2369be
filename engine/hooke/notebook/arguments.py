"""The arguments of `hooke.compare` as an experiment, and the faults of the experiment as faults of arguments."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, get_args

from hooke.catalogue.expand import PlannedRun, experiment_warnings
from hooke.errors import ArgumentError, DataInvalid, Fault, NotFound, SpecError
from hooke.notebook.network import Network
from hooke.notebook.values import plain, real, whole
from hooke.spec.devices import PROFILES, REAL
from hooke.spec.specification import ExperimentSpec
from hooke.spec.tuning import Sampler

MAPPINGS = {
    "search": "maps parameters to their search spaces, such as {'lr': {'low': 0.01, 'high': 1, 'scale': 'log'}}",
    "sweep": "maps parameters to the values that are compared, such as {'period': [4, 16, 64]}",
    "workload_settings": "maps parameters of the workload that a method may set to values, such as {'active': 99}",
}
"""Keys of a method's settings that are mappings, as in a variant of an experiment."""
ABOUT_A_METHOD = ("algorithm", "communication", *MAPPINGS)
"""Keys of a method's settings that are not parameters of its algorithm."""
SEARCHES = ("quasi-random", "halving", "optuna")
SAMPLERS: tuple[str, ...] = get_args(Sampler)
MOST_SHOWN = 6
"""Faults in one message."""
_NOT_COMMUNICATION = "`{}` is a mapping of settings, such as {{'wire': 'bf16'}}, not {!r}"
_NAMES = {
    ("batch",): "batch",
    ("sharding",): "sharding",
    ("baseline",): "baseline",
    ("first_seed",): "first_seed",
    ("name",): "name",
    ("variants",): "methods",
    ("budget", "samples"): "samples",
    ("target",): "target",
    ("evaluation", "every"): "evaluate_every",
    ("compute", "device"): "device",
    ("compute", "precision"): "precision",
    ("tuning", "trials"): "trials",
    ("tuning", "seeds"): "tuning_seeds",
    ("tuning", "search"): "search",
    ("tuning", "sampler"): "sampler",
    ("tuning", "samples"): "trial_samples",
    ("tuning",): "trials",
    ("clusters", "0", "workers"): "workers",
    ("clusters", "0", "seeds"): "seeds",
    ("clusters", "0", "virtual", "compute_seconds_per_sample"): "seconds_per_sample",
    ("clusters", "0", "virtual", "devices"): "workers",
    ("clusters", "0", "virtual"): "network",
    ("clusters", "0", "groups"): "workers",
    ("clusters",): "workers",
    ("workload", "name"): "name",
    ("workload", "parameters"): "workload",
}
"""Path in an experiment -> argument; the longest path that fits."""


def variants(methods: object, communication: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the variants of an experiment. Raises ArgumentError if `methods` has another form."""
    names: list[Any] = [] if isinstance(methods, str) or not isinstance(methods, Sequence) else list(methods)
    listed: dict[Any, Any] = dict.fromkeys(names if all(isinstance(name, str) for name in names) else (), {})
    given: Mapping[Any, Any] = methods if isinstance(methods, Mapping) else listed
    if not given:
        raise ArgumentError(
            "`methods` maps the name of each method to its settings, such as "
            '{"slowmo": {"period": 16}, "sgd": {}}, or lists names; `hooke algorithms` prints them'
        )
    if communication is not None and not isinstance(communication, Mapping):
        raise ArgumentError(_NOT_COMMUNICATION.format("communication", communication))
    if len(given) < len(names):
        raise ArgumentError("`methods` lists a name twice: map names of your own to settings with `algorithm`")
    return [_variant(str(name), settings, communication) for name, settings in given.items()]


def _variant(name: str, settings: object, communication: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(settings, Mapping):
        raise ArgumentError(
            f"`methods[{name!r}]` is a mapping of settings, such as {{}} or {{'lr': 0.1}}, not {settings!r}"
        )
    own = settings.get("communication", {})
    if not isinstance(own, Mapping):
        raise ArgumentError(_NOT_COMMUNICATION.format(f"methods[{name!r}]['communication']", own))
    for key, form in MAPPINGS.items():
        if not isinstance(settings.get(key, {}), Mapping):
            raise ArgumentError(f"`methods[{name!r}][{key!r}]` {form}, not {settings[key]!r}")
    return {
        "name": name,
        "algorithm": settings.get("algorithm", name),
        "parameters": {key: plain(value) for key, value in settings.items() if key not in ABOUT_A_METHOD},
        "communication": plain({**(communication or {}), **own}),
        **{key: plain(settings[key]) for key in MAPPINGS if settings.get(key)},
    }


def tuning(trials: Any, seeds: Any, search: str | None, samples: Any, sampler: str | None) -> dict[str, Any]:
    """Return the tuning of an experiment, if there is one, as a part of it; `samples`: the budget of a trial."""
    if trials is None:
        given = {"search": search, "sampler": sampler, "tuning_seeds": seeds, "trial_samples": samples}
        unused(given, "without `trials`, the number of settings to try")
        return {}
    if search not in (None, *SEARCHES):
        raise ArgumentError(f'`search` is "quasi-random", "halving" or "optuna", not {search!r}')
    found = {"trials": whole("trials", trials), "seeds": 1 if seeds is None else whole("tuning_seeds", seeds)}
    more: dict[str, Any] = {} if samples is None else {"samples": whole("trial_samples", samples)}
    if sampler is not None:
        if sampler not in SAMPLERS:
            raise ArgumentError(f"`sampler` is one of {', '.join(SAMPLERS)}, not {sampler!r}")
        if search != "optuna":
            raise ArgumentError('`sampler`: no effect without `search="optuna"`, whose samplers these are')
        more["sampler"] = sampler
    return {"tuning": found | {"search": search or SEARCHES[0]} | more}


def unused(given: Mapping[str, Any], why: str) -> None:
    """Raise ArgumentError if any of these arguments is given; `why` says what makes it useless."""
    if names := [f"`{name}`" for name, value in given.items() if value is not None]:
        raise ArgumentError(f"{', '.join(names)}: no effect {why}")


Kinds = list[dict[str, Any]]
"""Groups of workers, as a cluster of an experiment has them in the place of numbers."""


def workers_of(given: object) -> int | Kinds:
    """Return a number of workers, or their kinds. Raises ArgumentError for anything else."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return whole("workers", given)
    if not given or not all(isinstance(kind, Mapping) for kind in given):
        raise ArgumentError(
            "`workers` is a number, or lists kinds of workers, such as "
            f"[{{'kind': 'cpu', 'count': 3}}, {{'kind': 'cpu', 'speed': 0.25}}], not {given!r}"
        )
    kinds = [dict(plain(kind)) for kind in given]
    return [kind | {"count": whole("count", kind.get("count", 1))} for kind in kinds]


def check_devices(workers: int | Kinds, seconds_per_sample: object) -> None:
    """Raise ArgumentError for virtual devices without a time of a sample: that of this machine is another one."""
    kinds = [str(kind.get("kind")) for kind in workers] if isinstance(workers, list) else []
    devices = [kind for kind in kinds if kind in PROFILES and kind not in REAL]
    if devices and seconds_per_sample is None:
        raise ArgumentError(
            f"`seconds_per_sample` is missing: with devices ({', '.join(dict.fromkeys(devices))}) it is the time "
            "of a sample on a cpu-28, which is not the CPU of this machine: give it, such as 2e-5"
        )


@dataclass(frozen=True)
class Where:
    """Where runs execute, on which workers, and how many of them."""

    world: str
    network: Network
    workers: int | Kinds
    seeds: int
    workload: bool = False
    """Whether a workload of the catalogue is named."""

    @property
    def count(self) -> int:
        """Return the number of workers."""
        return self.workers if isinstance(self.workers, int) else sum(int(kind["count"]) for kind in self.workers)

    def cluster(self, seconds_per_sample: float, measured: str | None) -> dict[str, Any]:
        """Return the cluster of an experiment: a virtual one on `local`, or `local` itself."""
        workers = [self.workers] if isinstance(self.workers, int) else self.workers
        common = {"workers": workers, "seeds": self.seeds}
        if self.world == "mpi":
            return {"name": "local", **common}
        if self.world != "virtual":
            raise ArgumentError(
                f'`world` is "virtual" (virtual time) or "mpi" (real processes), not {self.world!r}'
            )
        virtual = self.network.document(seconds_per_sample, measured)
        return {"name": self.network.name, "computed_on": "local", **common, "virtual": virtual}


def target_of(value: float | None, metric: str) -> dict[str, Any] | None:
    """Return the target of an experiment."""
    if metric not in ("accuracy", "loss"):
        raise ArgumentError(f'`metric` is "accuracy" or "loss", of the validation part, not {metric!r}')
    value = real("target", value, "0.98")
    if value is None and metric != "accuracy":
        unused({"metric": metric}, "without `target`, the value of it at which a run ends")
    return None if value is None else {"metric": f"validation_{metric}", "value": value}


@contextmanager
def named(labels: Sequence[str], world: str, workload: bool) -> Iterator[None]:
    """Raise ArgumentError, which names the arguments, for a SpecError or DataInvalid of the block.

    `workload`: whether one of the catalogue is named.
    """
    try:
        yield
    except SpecError as error:
        name_of = functools.partial(argument, labels=labels, world=world, workload=workload)
        said = list(dict.fromkeys(f"`{name_of(each)}`: {_without_auto(each.message)}" for each in error.faults))
        more = [f"and {len(said) - MOST_SHOWN} more"] if len(said) > MOST_SHOWN else []
        raise ArgumentError("; ".join(said[:MOST_SHOWN] + more)) from None
    except (DataInvalid, NotFound) as error:
        raise ArgumentError(str(error)) from error


def _without_auto(message: str) -> str:
    """Return what is wrong with a number: in its place an experiment may have the word `auto`, a program not."""
    return message.removesuffix(", or: Input should be 'auto'")


def argument(fault: Fault, labels: Sequence[str], world: str = "virtual", workload: bool = False) -> str:
    """Return the argument that a fault of an experiment is about, such as `methods['slowmo']['period']`."""
    path = tuple(part.replace("~1", "/").replace("~0", "~") for part in fault.pointer.split("/")[1:])
    if path[:1] == ("variants",) and len(path) > 1 and path[1].isdigit() and int(path[1]) < len(labels):
        keys = path[3:] if path[2:3] == ("parameters",) else path[2:] if path[2:3] != ("name",) else ()
        return f"methods[{labels[int(path[1])]!r}]" + "".join(f"[{key!r}]" for key in keys)
    if workload and path[:1] == ("workload",):
        return "workload"
    if path == ("clusters", "0", "name"):
        return "network" if world == "virtual" else "world"
    fitting = [known for known in _NAMES if path[: len(known)] == known]
    return _NAMES[max(fitting, key=len)] if fitting else "/".join(path) or "compare"


def warnings_of(spec: ExperimentSpec, planned: Sequence[PlannedRun]) -> list[str]:
    """Return the warnings about runs of an experiment, with the argument that each is about."""
    labels = [variant.name for variant in spec.variants]
    return [
        f"`{argument(each, labels)}`: {each.message}"
        for each in experiment_warnings(spec, planned)
        if not each.pointer.endswith("compute_seconds_per_sample")  # said with every result
    ]
