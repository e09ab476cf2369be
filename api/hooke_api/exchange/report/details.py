"""Parts of a report that say how the figures came about: tuning, settings, environment, specification."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooke.spec.spaces import Space
from markupsafe import Markup

from hooke_api.exchange.report.formats import NONE, number
from hooke_api.exchange.report.gathering import Environment, Told
from hooke_api.exchange.report.markup import table, tag
from hooke_api.planning.schemas import SearchView


def tuning_part(told: Told) -> Iterator[Markup]:
    """Yield how the settings were chosen, and what that has cost."""
    found = told.tuning
    if found is None:
        return
    yield tag("h2", "Tuning")
    rungs = "; ".join(f"{rung.trials} trials with {rung.samples:,} samples each" for rung in found.rungs)
    seeds = ", ".join(map(str, found.seeds))
    yield tag("p", f"Stages of each search: {rungs}. Tuning seeds, of which no reported run has one: {seeds}.")
    yield table(
        ["Variant", "Cluster", "Trials", "Chosen", "Samples", "Core hours"],
        [_search(each) for each in found.searches],
        numbers=4,
    )
    searched = {each.variant: each.spaces for each in found.searches}
    told_of = [f"{who}: {_named_spaces(spaces)}" for who, spaces in searched.items() if spaces]
    if told_of:
        yield tag("p", f"Search spaces since it was begun. {'. '.join(told_of)}.", class_="quiet")


def simulated_mark(simulated: bool) -> Markup:
    """Return the mark of what was simulated; empty for what was measured."""
    return tag("span", "simulated", class_="tag") if simulated else Markup("")


def _search(found: SearchView) -> list[Any]:
    chosen = next((trial.parameters for trial in found.trials if trial.chosen), None)
    told = ", ".join(f"{name} {_value(value)}" for name, value in chosen.items()) if chosen else "none"
    edges = "".join(f"; {name} lies at an end of its space" for name in found.edges)
    place = f"{found.cluster}, {found.workers} workers{', simulated' if found.simulated else ''}"
    return [
        found.variant,
        place,
        f"{len(found.trials)}",
        told + edges,
        f"{found.samples:,}",
        number(found.core_hours),
    ]


def _named_spaces(spaces: Mapping[str, Space]) -> str:
    return "; ".join(f"{name} {space.in_words}" for name, space in spaces.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case None:
            return NONE
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)


def settings_part(told: Told) -> Iterator[Markup]:
    """Yield what was set, for all and for each variant."""
    spec = told.experiment.spec
    yield tag("h2", "Settings")
    parameters = ", ".join(f"{name} {_value(value)}" for name, value in spec.workload.parameters.items())
    clusters = [
        f"{each.name}: workers {', '.join(map(str, each.workers))}; {each.seeds} seeds"
        + (f"; simulated on {each.host}" if each.virtual else "")
        for each in spec.clusters
    ]
    rows = [
        ("Workload", f"{spec.workload.name}{f' ({parameters})' if parameters else ''}"),
        ("Batch", f"{spec.batch} samples per worker and step"),
        ("Budget", f"{spec.budget.samples:,} samples"),
        ("Target", told.comparison.target or "none"),
        ("Evaluation", f"every {spec.evaluation.every:,} samples"),
        ("Sharding", spec.sharding),
        (
            "Compute",
            ", ".join(
                f"{name} {_value(value)}"
                for name, value in spec.compute.model_dump(mode="json").items()
                if value is not None
            ),
        ),
        ("Baseline", spec.baseline),
        ("First seed", str(spec.first_seed)),
        ("Clusters", " | ".join(clusters)),
    ]
    yield table(["Setting", "Value"], rows, numbers=2)
    yield tag("h3", "Variants")
    if told.experiment.spec.tuning is not None:
        yield tag(
            "p", "Of the first run of each variant; the choice for each place is under Tuning.", class_="quiet"
        )
    yield table(
        ["Variant", "Algorithm", "Parameters", "Communication"],
        [
            [name, each.algorithm, *(_named(values) for values in (each.parameters, each.communication))]
            for name, each in told.variants.items()
        ],
        numbers=4,
    )


def _named(values: Any) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items() if value is not None) or NONE


def environment_part(told: Told) -> Iterator[Markup]:
    """Yield machines and versions, as runs reported them."""
    yield tag("h2", "Environment")
    if not told.environments:
        yield tag("p", "No run has reported its environment.")
    for each in told.environments:
        yield tag(
            "h3",
            f"{each.cluster}, {each.runs} {'run' if each.runs == 1 else 'runs'}",
            simulated_mark(each.simulated),
        )
        yield table(["What", "Value"], _environment_rows(each), numbers=2)


def _environment_rows(found: Environment) -> Iterable[tuple[str, str]]:
    if found.hosts:
        yield "hosts", ", ".join(found.hosts)
    for name, value in sorted(found.hardware.items()):
        yield name, _value(value)
    for name, value in sorted(found.versions.items()):
        yield f"version of {name}", _value(value)


def document_part(told: Told) -> Iterator[Markup]:
    """Yield the specification, with which the experiment can be submitted again; `tuning_part` has its spaces.

    Those that its document gave are part of it.
    """
    written = {"tuning": {"spaces", "later", "given"}}
    spec = told.experiment.spec
    document = spec.model_dump(mode="json", by_alias=True, exclude=written)
    if spec.tuning and spec.tuning.given:
        spaces = spec.tuning.model_dump(mode="json")["spaces"]
        document["tuning"]["spaces"] = {name: spaces[name] for name in spec.tuning.given if name in spaces}
    yield tag("h2", "Specification")
    yield tag("p", f"Fingerprint {told.experiment.fingerprint}", class_="quiet")
    yield tag("pre", json.dumps(document, ensure_ascii=False, indent=1))


PARTS = (tuning_part, settings_part, environment_part, document_part)
