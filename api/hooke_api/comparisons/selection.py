"""Which rows of which experiments are compared: `EXPERIMENT/CLUSTER/WORKERS/VARIANT`.

The experiment is given by its number or its id. The other parts may be missing or empty, which means all:
`12` are all rows of experiment 12, `12//8` those with 8 workers, `12///Sync EASGD` one variant everywhere.
A single run is a row, too: `run_...`, its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hooke.comparison.wording import listed
from hooke.errors import Fault

from hooke_api.base.errors import Invalid

MOST_SELECTIONS = 100
"""Of one request."""
MOST_NUMBER = 2**31 - 1
_RUN = re.compile(r"run_[0-9a-f]{32}")
_EXPERIMENT = re.compile(r"exp_[0-9a-f]{32}|[1-9][0-9]{0,9}")

Place = tuple[str, int, str]
"""Cluster, number of workers, variant: what tells the rows of one experiment apart."""


@dataclass(frozen=True)
class Selection:
    """Some rows of one experiment, or one run; None: any."""

    text: str
    pointer: str
    """Where it stands in the request."""
    experiment: str
    """Its number or its id."""
    cluster: str | None
    workers: int | None
    variant: str | None
    run: str | None = None
    """The id of a run, which is a row of its own; the other parts are then empty."""

    def has(self, row: Place) -> bool:
        """Return whether a row of several runs is meant."""
        if self.run is not None:
            return False
        wanted = (self.cluster, self.workers, self.variant)
        return all(want is None or want == part for want, part in zip(wanted, row, strict=True))


def parse(text: str, pointer: str) -> Selection:
    """Return a selection. Raises Invalid for a text that is none."""
    if _RUN.fullmatch(text):
        return Selection(text, pointer, "", None, None, None, run=text)
    experiment, cluster, workers, variant = (*text.split("/", 3), "", "", "")[:4]
    if _EXPERIMENT.fullmatch(experiment) is None or (experiment.isdigit() and int(experiment) > MOST_NUMBER):
        raise _invalid(
            pointer,
            f"{text!r} does not begin with the number or the id of an experiment, and is not the id of a run",
        )
    if workers and re.fullmatch(r"[0-9]{1,6}", workers) is None:
        raise _invalid(pointer, f"{workers!r} is not a number of workers")
    return Selection(
        text, pointer, experiment, cluster or None, int(workers) if workers else None, variant.strip() or None
    )


def chosen(selections: Sequence[Selection], rows: Iterable[Place]) -> list[Place]:
    """Return the rows of one experiment that any of its selections means, in their order.

    Raises Invalid for a selection that means none of them; without any row yet, nothing is wrong with it.
    """
    known = list(rows)
    for each in selections:
        if known and each.run is None and not any(each.has(row) for row in known):
            raise _invalid(
                each.pointer, f"{each.text!r} is not a row of experiment {each.experiment}: {_of(known)}"
            )
    return [row for row in known if any(each.has(row) for each in selections)]


def _of(rows: Sequence[Place]) -> str:
    clusters, workers, variants = (list(dict.fromkeys(part)) for part in zip(*rows, strict=True))
    return (
        f"it has the clusters {listed(clusters)}, the numbers of workers {listed([str(n) for n in workers])} and "
        f"the variants {listed(variants)}"
    )


def _invalid(pointer: str, why: str) -> Invalid:
    return Invalid(f"{why}. Write EXPERIMENT/CLUSTER/WORKERS/VARIANT, empty for all", [Fault(pointer, why)])
