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
from pydantic import BaseModel, Field

REAL = "finna-yso-en"
"""Name of the real records; PLANTED is that of the generated problem."""

BATCH = 128
ACTIVE = 1000
"""Negatives of `sampled`, active set of `random-active` and `slide`, where no size is searched."""
OPTIMIZER: dict[str, Any] = {"optimizer": "row-adagrad", "weight_decay": 0.0}
SPACES = 3
"""Number of the search spaces, part of every record: runs of others are not mixed with those of these. Records
without one are of the first, which did not search the size of a set (decision 151)."""
SIZED = 2
"""The first of them that search the size of a set: up to 1,000 labels beside those of the batch, by 6 trials, of
which none had more than 499; up to 3,000 by 8 trials since (decision 164)."""
LARGEST = {SIZED: 1000, SPACES: 3000}
RATES = Space(low=0.016, high=0.16, scale="log")
BESIDE, DRAWN = "beside", "drawn"
"""Searched: the labels of a set beside those of the batch; of these, the share that `slide` draws uniformly."""
SET = {BESIDE: Space(low=30, high=LARGEST[SPACES], scale="log", integer=True)}
OF_TABLES = {DRAWN: Space(low=0.3, high=0.7)}
"""A share of the labels beside those of the batch, so that tables have room in sets of any size."""
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
    own: int
    """Labels of a batch of BATCH, the mean: what the layer `in-batch` computes."""
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
            302,
            "The target is low: over 1,048,576 samples layers reach 19 to 21% (precisions over samples, below). "
            "Which of them is the first there, in seconds, has not been measured.",
        ),
        Problem(
            PLANTED,
            "planted problem, 21,025 labels",
            {"labels": 21_025, "features": 66_359, "items": 250_000, "validation_items": 4000},
            21_025,
            0.78,
            2_000,
            315,
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
        Size("first", (REAL, PLANTED), 8, 384_000, 3),
        Size("short", (PLANTED,), 8, 64_000, 3),
        Size("whole", (REAL, PLANTED), 12, 256_000, 5),
    )
}


class OfSet(BaseModel):
    """What is searched of a set, under the names BESIDE and DRAWN; settings of the workload follow from it."""

    beside: int = Field(ACTIVE - 300, ge=1, description="Labels of a set beside those of the batch.")
    drawn: float = Field(0.5, ge=0, le=1, description="Share of them that `slide` draws uniformly.")


@dataclass(frozen=True)
class Layer:
    """An output layer as it takes part: settings that are given, and parameters that are searched."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Space] = field(default_factory=dict)
    """Spaces of its own parameters, beside or instead of those that the workload declares."""

    @property
    def spaces(self) -> dict[str, Space]:
        """Return the spaces of its own parameters, that of the size first: trials of one number have one size."""
        declared = XmlcMlp.spaces_at(XmlcMlp.model_validate(self.given).model_dump())
        declared = {name: space for name, space in declared.items() if name not in ("active", "uniform_share")}
        sized = SET if "active" in self.given else {}
        own = {**sized, **declared, **self.search}
        return {name: space.model_copy(update={"when": {}}) for name, space in own.items()}

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

    def workload_settings(self, problem: Problem, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the workload that a setting means on a problem.

        `sampled` draws the labels beside those of the batch; other sets have the labels of a batch and these in
        all. A batch with more labels than the mean leaves fewer beside them, and may leave none; none fails.
        """
        own = {name: setting[name] for name in self.spaces if name not in (BESIDE, DRAWN)}
        if BESIDE in self.spaces:
            of_batch = 0 if self.given["output"] == "sampled" else problem.own
            own["active"] = of_batch + setting[BESIDE]
        if DRAWN in self.spaces:
            own["uniform_share"] = round(setting[DRAWN] * setting[BESIDE] / own["active"], 4)
        return {**self.given, **own}

    def document(
        self, problem: Problem, setting: Mapping[str, Any], samples: int, seed: int, threads: int
    ) -> dict[str, Any]:
        """Return the run with a setting; `samples` below the budget of the size: of a trial."""
        rates = {name: value for name, value in setting.items() if name not in self.spaces}
        return {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp", "parameters": dict(problem.parameters)},
            "workload_settings": self.workload_settings(problem, setting),
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
    """Return a method with parameters of the workload, and those of the set, as its own."""
    known = {**XmlcMlp.model_fields, **OfSet.model_fields}
    fields = {name: known[name] for name in spaces}
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
SAMPLED = "sampled"
"""Begins the names of both layers with shared negatives."""
SLIDE = "slide"
"""Of SimHash; layers with other hash functions have names that begin with it."""
DWTA = "slide, dwta"
RANDOM = "random-active"
OF_DWTA = {**OF_TABLES, "tables": Space(choices=[16, 32, 64, 128])}
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
        Layer(SLIDE, {"output": "slide", "active": ACTIVE}, OF_TABLES),
        Layer(DWTA, {"output": "slide", "active": ACTIVE, "hash_family": "dwta"}, OF_DWTA),
    )
}
