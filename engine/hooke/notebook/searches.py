"""The searches of a tuned comparison: what each method chose, how much depends on it, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooke.comparison.trials import known
from hooke.comparison.wording import listed
from hooke.notebook.running import ComparedRun
from hooke.spec.spaces import Edge
from hooke.tuning.plan import Plan
from hooke.tuning.search import median_time, share_met
from hooke.tuning.settings import edges, free_spaces


@dataclass(frozen=True)
class MethodSearch:
    """The search of one method; its fields are the columns of `Comparison.searches`."""

    method: str
    trials: int
    reached: float | None
    """Share of the trials with a result that met the target; None without a target, or without a result."""
    median_time: float | None
    """Train-clock seconds of the median trial; None if it missed the target."""
    samples: int
    """Trained on by all its trials."""
    setting: Mapping[str, Any]
    """The values that were chosen; empty before the search has ended, and if no trial gave a result."""
    at_edge: Mapping[str, Edge]
    """The chosen values that lie at an end of their space, so that a better one may lie beyond."""
    wider: Mapping[str, Mapping[str, Any]]
    """Spaces that reach beyond, as `search` of the method takes them; none of choices without a rule."""
    core_hours: float | None = None
    """What its trials took: processor time in virtual time, a core for each rank under MPI."""


def searches_of(plan: Plan, runs: Iterable[ComparedRun]) -> tuple[MethodSearch, ...]:
    """Return the searches of a plan, given its runs so far."""
    made = [run for run in runs if run.figures.rung is not None]
    trials = [run.figures for run in made]
    results, found = known(plan.spec, trials), []
    for where, search in plan.searches.items():
        own, variant, offer = results.get(where, {}), plan.locations[where][0], plan.offer(where)
        chosen = search.chosen(own) if search.ended(own) else None
        values = plan.settings[where][chosen - 1] if chosen else {}
        ends = edges(values, variant, offer) if chosen else {}
        times = search.times(own) if plan.spec.target else []
        found.append(
            MethodSearch(
                method=where[0],
                trials=search.trials,
                reached=share_met(times),
                median_time=median_time(times),
                samples=sum(run.samples for run in trials if run.variant == where[0]),
                setting={name: values[name] for name in free_spaces(variant, offer) if name in values},
                at_edge={name: at.end for name, at in ends.items()},
                wider={n: at.wider.model_dump(exclude_defaults=True) for n, at in ends.items() if at.wider},
                core_hours=sum(run.core_seconds or 0.0 for run in made if run.figures.variant == where[0]) / 3600,
            )
        )
    return tuple(found)


def edge_sentence(searches: Sequence[MethodSearch]) -> str | None:
    """Return which chosen values lie at an end of their space; None if there are none."""
    told = []
    for each in searches:
        ends = [f"{name} {each.setting[name]}, {end} end" for name, end in each.at_edge.items()]
        told += [f"{each.method} ({', '.join(ends)})"] if ends else []
    if not told:
        return None
    return (
        f"Chosen at an edge of the search space: {listed(told)}. A better setting may lie beyond: `search` of a "
        "method takes another space, and `searches` has wider ones."
    )
