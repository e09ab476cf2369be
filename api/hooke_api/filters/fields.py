"""The fields of the filter language, with what each may be compared with; docs/filters.md describes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

STATES = ("queued", "running", "succeeded", "failed", "cancelled")
"""States of an experiment."""
METRICS = {
    "accuracy": "accuracy of the latest evaluation of a run, fraction",
    "loss": "loss of the latest evaluation of a run",
    "test_accuracy": "accuracy of the final center on the test part, fraction",
    "test_loss": "loss of the final center on the test part",
    "time_to_target": "train clock at the target, s",
    "communication_fraction": "exposed communication / (wall - evaluate), fraction",
    "staleness": "mean staleness over all exchanges",
    "lost_mass": "fraction of the pushed update mass that was lost",
    "clock": "train clock of a run so far, s",
    "samples": "samples of a run so far",
}
"""Figures of a run, and what they are."""
PARTS = {
    "max": "the largest over the reported runs",
    "min": "the least over the reported runs",
    "last": "that of the reported run that ended last",
}


class Kind(StrEnum):
    """What the values of a field are."""

    TEXT = "text"
    CHOICE = "choice"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"


OPERATORS = {
    Kind.TEXT: ("=", "!=", "~", "!~", "in"),
    Kind.CHOICE: ("=", "!=", "in"),
    Kind.NUMBER: ("=", "!=", "<", "<=", ">", ">=", "in"),
    Kind.FLAG: ("=", "!="),
    Kind.TIME: ("<", "<=", ">", ">="),
}


@dataclass(frozen=True)
class Field:
    """A field of an experiment, or `METRIC.PART` of its reported runs."""

    name: str
    kind: Kind
    description: str
    example: str
    values: tuple[str, ...] = ()
    """Of a choice."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Return the operators that may follow it."""
        return OPERATORS[self.kind]


def _fields() -> dict[str, Field]:
    own = [
        Field("name", Kind.TEXT, "its name", 'name ~ "digits"'),
        Field("state", Kind.CHOICE, "its state", "state = running", STATES),
        Field("algorithm", Kind.TEXT, "the algorithm of any of its runs", "algorithm ~ easgd"),
        Field("variant", Kind.TEXT, "the variant of any of its runs", 'variant = "Sync SGD"'),
        Field("workload", Kind.TEXT, "its workload", "workload = digits-mlp"),
        Field("cluster", Kind.TEXT, "the cluster of any of its runs", "cluster = local"),
        Field("project", Kind.TEXT, "its project", "project = default"),
        Field("tag", Kind.TEXT, "any of its tags", 'tag = "paper"'),
        Field("starred", Kind.FLAG, "whether it is starred", "starred"),
        Field("archived", Kind.FLAG, "whether it is archived; lists leave these out unless asked", "archived"),
        Field("protected", Kind.FLAG, "whether it cannot be deleted", "protected"),
        Field("created", Kind.TIME, "when it was submitted, UTC, or how long ago", "created > -7d"),
        Field("number", Kind.NUMBER, "its number", "number >= 10"),
        Field("runs", Kind.NUMBER, "the number of its runs, trials among them", "runs > 20"),
    ]
    figures = [
        Field(f"{metric}.{part}", Kind.NUMBER, f"{what}: {which}", f"{metric}.{part} > 0")
        for metric, what in METRICS.items()
        for part, which in PARTS.items()
    ]
    return {field.name: field for field in [*own, *figures]}


FIELDS = _fields()
"""Name -> field."""
