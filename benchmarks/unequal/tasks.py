"""What is trained in the comparison on unequal workers: workloads, budgets and targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.unequal import derived, planted


@dataclass(frozen=True)
class Task:
    """A workload with a budget and a target on the validation part."""

    title: str
    workload: Mapping[str, Any]
    metric: str
    value: float
    samples: int
    every: int

    @property
    def target(self) -> str:
        """Return the target in words."""
        return f"validation {'loss' if self.metric.endswith('loss') else 'accuracy'} {self.value:g}"


def _libsvm(name: str, hidden: int) -> dict[str, Any]:
    parameters = {"data": f"libsvm-binary/{name}", "layers": 2, "hidden": hidden}
    return {"name": "libsvm-mlp", "parameters": parameters}


def _deep(data: str) -> dict[str, Any]:
    return {"name": "libsvm-mlp", "parameters": {"data": data, "layers": 6, "hidden": 512}}


def _sparse() -> dict[str, Any]:
    return {"name": "xmlc-mlp", "parameters": {"data": derived.NAME, "hidden": 32, "validation_items": 1000}}


TASKS = {
    "digits": Task(
        "Digits 8 x 8 (dense rows), perceptron 64 - 64 - 32 - 10",
        {"name": "digits-mlp", "parameters": {"hidden1": 64, "hidden2": 32}},
        "validation_accuracy", 0.94, 20_000, 800,
    ),
    "w8a": Task(
        "w8a (sparse rows), perceptron 300 - 64 - 64 - 2", _libsvm("w8a", 64),
        "validation_loss", 0.06, 60_000, 1600,
    ),
    "a9a": Task(
        "a9a (sparse rows), perceptron 123 - 64 - 64 - 2", _libsvm("a9a", 64),
        "validation_loss", 0.335, 40_000, 1600,
    ),
    derived.NAME: Task(
        f"{derived.NAME} (sparse rows, {derived.FEATURES:,} features, {derived.LABELS} labels), perceptron of 32",
        _sparse(), "validation_loss", 3.6, 60_000, 3200,
    ),
    "w8a-6x512": Task(
        "w8a (sparse rows), perceptron 300 - 6 x 512 - 2", _deep("libsvm-binary/w8a"),
        "validation_loss", 0.08, 16_000, 1600,
    ),
    "a9a-wide": Task(
        "a9a, perceptron 123 - 256 - 256 - 2", _libsvm("a9a", 256),
        "validation_loss", 0.335, 40_000, 1600,
    ),
    "w8a-wide": Task(
        "w8a, perceptron 300 - 256 - 256 - 2", _libsvm("w8a", 256),
        "validation_loss", 0.06, 60_000, 1600,
    ),
    "w8a-mid": Task(
        "w8a, perceptron 300 - 256 - 256 - 2", _libsvm("w8a", 256),
        "validation_loss", 0.04, 60_000, 1600,
    ),
    "w8a-deep": Task(
        "w8a, perceptron 300 - 6 x 512 - 2", _deep("libsvm-binary/w8a"),
        "validation_loss", 0.05, 60_000, 1600,
    ),
    planted.NAME: Task(
        f"{planted.NAME} (dense rows, {planted.FEATURES} features), perceptron {planted.FEATURES} - 6 x 512 - 2",
        _deep(planted.NAME), "validation_loss", 0.32, 60_000, 1600,
    ),
}  # fmt: skip
"""By name, the most important first; targets were set before any trial, from one run of `sgd` with batch 32 and lr
0.1, or 1 on the derived data, whose rows have norm 1."""
ITEMS = {"digits": 1294, "w8a": 40_298, "w8a-mid": 40_298, "w8a-wide": 40_298, "w8a-deep": 40_298,
         "w8a-6x512": 40_298, "a9a": 29_305, "a9a-wide": 29_305, "finna-50": 10_035}  # fmt: skip
"""Training items of a task, without its validation part."""
WIDTHS = {"digits": (64, 64, 32, 10), "w8a": (300, 64, 64, 2), "a9a": (123, 64, 64, 2),
          "w8a-6x512": (300, *[512] * 6, 2), derived.NAME: (derived.FEATURES, 32, derived.LABELS)}  # fmt: skip
"""Units of each layer of the tasks that are simulated."""


def weights(task: str) -> int:
    """Return the number of weights and biases of a task's network."""
    widths = WIDTHS[task]
    return sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
