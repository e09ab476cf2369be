"""Conditions of the comparison of output layers: problems, sizes, layers and their search spaces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hooke.catalogue.algorithm import Algorithm, algorithm
from hooke.catalogue.offers import ClassAlgorithmOffer
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.tuning.settings import settings
from hooke.workloads.xmlc_mlp import PLANTED, XmlcMlp
from pydantic import Field

REAL = "finna-yso-en"
"""Name of the real records; PLANTED is that of the generated problem."""

BATCH = 128
ACTIVE = 1000
"""Negatives of `sampled`, active set of `random-active` and `slide`."""
OPTIMIZER: dict[str, Any] = {"optimizer": "row-adagrad", "weight_decay": 0.0}
RATES = Space(low=0.01, high=1.0, scale="log")
QUIET = 0.1
"""Largest share of the processors' time that other programs may use for times to be reported."""
CLEARED = ("12af5dfb6a",)
"""Commits whose steps cleared a whole gradient in which few rows were written (decision 106)."""
TRIAL_TEST_ITEMS = 64
"""Test items of trials, whose test score is not read."""


@dataclass(frozen=True)
class Problem:
    """What is learned, and when it counts as learned."""

    name: str
    title: str
    parameters: Mapping[str, Any]
    labels: int
    target: float
    """P@1 on the validation part."""
    every: int
    """Samples between evaluations: a small part of what the fastest layer needs to the target."""
    about: str = ""
    """A sentence on what it is; for the page."""


@dataclass(frozen=True)
class Size:
    """Effort of a comparison, the same for every layer."""

    name: str
    problems: tuple[str, ...]
    trials: int
    samples: int
    """Budget of a reported run; that of a trial is less by successive halving."""
    seeds: int
    """Reported ones."""


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            REAL,
            "Finna/YSO English, 21,025 labels, real records",
            {"data": REAL, "validation_items": 4000},
            21_025,
            0.08,
            16_000,
        ),
        Problem(
            PLANTED,
            "planted problem, 21,025 labels",
            {"labels": 21_025, "features": 66_359, "items": 250_000, "validation_items": 4000},
            21_025,
            0.78,
            2_000,
            "A generated problem with as many labels and features as the real records: every label has 16 "
            "features of its own, of which its items show half, among others that mean nothing; frequencies "
            "of labels follow Zipf's law, so that whoever always names the most frequent one has a P@1 of 32%. "
            "The target was chosen from curves of one seed, before any run of the comparison: an earlier one of "
            "45% was met at the first evaluation; to this one the first layer takes about ten, and layers differ.",
        ),
    )
}
SIZES = {
    size.name: size
    for size in (
        Size("first", (REAL, PLANTED), 6, 384_000, 3),
        Size("short", (PLANTED,), 6, 64_000, 3),
        Size("whole", (REAL, PLANTED), 12, 256_000, 5),
    )
}


@dataclass(frozen=True)
class Layer:
    """An output layer as it takes part: settings that are given, and parameters that are searched."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Space] = field(default_factory=dict)
    """Spaces of its own parameters instead of those that the workload declares."""

    @property
    def spaces(self) -> dict[str, Space]:
        """Return the spaces of its own parameters."""
        declared = XmlcMlp.spaces_at(XmlcMlp.model_validate(self.given).model_dump())
        return {name: space.model_copy(update={"when": {}}) for name, space in {**declared, **self.search}.items()}

    @property
    def offer(self) -> ClassAlgorithmOffer:
        """Return SGD with the searched parameters of the layer as parameters of its own."""
        return ClassAlgorithmOffer(_joined(algorithm("sgd"), self.spaces))

    @property
    def variant(self) -> Variant:
        """Return it as a variant of an experiment."""
        return Variant(name=self.name, algorithm="sgd", parameters=dict(OPTIMIZER), search={"lr": RATES})

    def trials(self, count: int) -> list[dict[str, Any]]:
        """Return the settings of its trials: points of the scrambled sequence that the product's tuning uses."""
        return settings(count, self.variant, self.offer, 1)

    def searched(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the searched parameters of a setting."""
        return {name: setting[name] for name in ("lr", *self.spaces)}

    def document(
        self, problem: Problem, setting: Mapping[str, Any], samples: int, seed: int, threads: int
    ) -> dict[str, Any]:
        """Return the run with a setting; `samples` below the budget of the size: of a trial."""
        own = {name: setting[name] for name in self.spaces}
        rates = {name: value for name, value in setting.items() if name not in own}
        return {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": dict(problem.parameters)},
            "workload_settings": {**self.given, **own},
            "algorithm": {"name": "sgd", "parameters": rates},
            "batch": BATCH,
            "seed": seed,
            "workers": 1,
            "budget": {"samples": samples},
            "target": {"metric": "validation_accuracy", "value": problem.target},
            "evaluation": {"every": problem.every},
            "compute": {"threads": threads},
            "checkpoint": "never",
        }


def _joined(kind: type[Algorithm], spaces: Mapping[str, Space]) -> type[Algorithm]:
    """Return a method with parameters of the workload as its own."""
    fields = {name: XmlcMlp.model_fields[name] for name in spaces}
    own: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": kind.__doc__,
        "__annotations__": {name: each.annotation for name, each in fields.items()},
        "search": dict(spaces),
        **{name: Field(each.default, description=each.description) for name, each in fields.items()},
    }
    return type(kind)(kind.__name__, (kind,), own)


def known_of(commits: Iterable[str]) -> str:
    """Return what is known of the times of these commits, as a sentence; empty without anything."""
    if not any(commit in CLEARED for commit in commits):
        return ""
    return (
        "**At this commit every step also cleared the whole gradient** "
        "([decision 106](../decisions/0106-wide-outputs-on-a-gpu.md)): all layers but `full` are shown too slow, "
        "the more so the more labels there are; at 670,091 labels and a batch of 32 this was nearly all of a step "
        "`in-batch`. Samples and precisions are as they were."
    )


def left_out(measured: Collection[str]) -> list[str]:
    """Return which problems of a comparison have no records, as a sentence; nothing without any records."""
    names = [problem.title for name, problem in PROBLEMS.items() if measured and name not in measured]
    if not names:
        return []
    return [f"Not measured with its present target: {', '.join(names)}. Most layers met an earlier one at once."]


FULL = "full"
SLIDE = "slide"
"""Of SimHash; layers with other hash functions have names that begin with it."""
DWTA = "slide, dwta"
RANDOM = "random-active"
ROOM = {"uniform_share": Space(low=0.3, high=0.6)}
"""A batch has about 300 labels: with more uniform ones than that, tables have nothing to add (decision 140)."""
OF_DWTA = {**ROOM, "tables": Space(choices=[16, 32, 64, 128])}
"""A hash of DWTA has three bits and one of SimHash one; its tables take as many candidates from 3 to 6 hashes as
those of SimHash from 7 to 14 (decision 106)."""
LAYERS = {
    layer.name: layer
    for layer in (
        Layer(FULL, {"output": "full"}),
        Layer("sampled, uniform", {"output": "sampled", "active": ACTIVE}),
        Layer("sampled, log-uniform", {"output": "sampled", "active": ACTIVE, "distribution": "log-uniform"}),
        Layer(RANDOM, {"output": "random-active", "active": ACTIVE}),
        Layer("in-batch", {"output": "in-batch"}),
        Layer(SLIDE, {"output": "slide", "active": ACTIVE}, ROOM),
        Layer(DWTA, {"output": "slide", "active": ACTIVE, "hash_family": "dwta"}, OF_DWTA),
    )
}
