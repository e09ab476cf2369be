"""The HTML of a report: answer, figures and tables. Names, notes and all other texts are escaped by `tag`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import files

from markupsafe import Markup

from hooke_api.comparisons.schemas import ComparisonRow
from hooke_api.exchange.report.details import PARTS, simulated_mark
from hooke_api.exchange.report.figures import curves, forest, swatch
from hooke_api.exchange.report.formats import estimate, size, speed_up, time_to_target
from hooke_api.exchange.report.gathering import Told
from hooke_api.exchange.report.markup import isolated, joined, table, tag

INTERVALS = (
    "Means over seeds with 95% t intervals. Times to the target are geometric means of the train clock, whose "
    "ratio is the speed-up, paired by seed; or the median where a seed missed the target. A time lies between two "
    "evaluations, and the interval knows it."
)


@cache
def style() -> Markup:
    """Return the style sheet, which is the only one."""
    return Markup((files(__package__) / "report.css").read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


@cache
def policy() -> str:
    """Return the Content-Security-Policy: no script, no request, and no style but the own one."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def page(told: Told) -> str:
    """Return a report as a document."""
    experiment = told.experiment
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"Hooke {version('hooke-api')}"),
        tag("title", f"{experiment.name} \u00b7 Hooke"),
        tag("style", style()),
    )
    body = tag(
        "body",
        tag("main", _head(told), _places(told), _across(told), *(part(told) for part in PARTS)),
        _foot(told),
    )
    return Markup("<!doctype html>\n") + tag("html", head, body, lang="en") + "\n"


def _head(told: Told) -> Markup:
    experiment, comparison = told.experiment, told.comparison
    ended = sum(count for state, count in experiment.runs.items() if state.value not in _OPEN)
    facts = [
        f"#{experiment.number}",
        experiment.workload,
        f"{ended} of {sum(experiment.runs.values())} runs ended",
        f"submitted {experiment.created_at:%Y-%m-%d %H:%M} UTC by {(experiment.origin or experiment).user}",
        f"target: {comparison.target or 'none'}",
    ]
    if origin := experiment.origin:
        facts.append(f"imported from {origin.server} #{origin.number}")
    verdict = comparison.sentences or ["There is no verdict yet."]
    said = partial(isolated, names=[experiment.name, *experiment.variants])
    return joined(
        tag("h1", said(experiment.name)),
        tag("p", (tag("span", fact) for fact in facts), class_="facts"),
        tag("p", experiment.description, class_="text") if experiment.description else None,
        None
        if comparison.complete
        else tag("p", "Not all runs have ended: this is what is known so far.", class_="warn"),
        tag("div", (tag("p", said(sentence)) for sentence in verdict), class_="answer"),
        tag("p", comparison.tuning),
        tag("p", f"Remark: {comparison.note}.") if comparison.note else None,
        tag("p", said(comparison.extended)) if comparison.extended else None,
        tag("div", tag("h3", "Note"), tag("p", experiment.note, class_="text")) if experiment.note else None,
    )


_OPEN = ("queued", "dispatched", "starting", "running", "lost")


def _places(told: Told) -> Iterator[Markup]:
    """Yield a section for each cluster and number of workers."""
    rows: dict[tuple[str, int], list[ComparisonRow]] = {}
    for row in told.comparison.rows:
        rows.setdefault((row.cluster, row.workers), []).append(row)
    for (cluster, workers), group in rows.items():
        simulated = group[0].simulated
        seconds = "virtual s" if simulated else "s"
        title = f"{cluster}, {workers} {'worker' if workers == 1 else 'workers'}"
        yield tag("h2", title, simulated_mark(simulated))
        if simulated:
            yield tag("p", "Times are virtual seconds of a simulation, not measured ones.", class_="quiet")
        yield from _remarks(group)
        positions = [_position(told, row.variant) for row in group]
        if told.experiment.spec.target is not None:
            yield tag("h3", "Speed-up against the baseline")
            yield tag("figure", forest(group, positions))
        yield tag("h3", "Variants")
        yield _figures(group, positions, seconds)
        yield from _curves(told, cluster, workers, seconds)


def _remarks(group: list[ComparisonRow]) -> Iterator[Markup]:
    for row in group:
        if row.failed:
            yield tag("p", _named(row.variant), f": {row.failed} of {row.runs} runs failed.", class_="warn")
        if row.oversubscribed:
            told = "ran with more ranks than cores, so its communication time includes waiting for a core."
            yield tag("p", _named(row.variant), f" {told}", class_="warn")
        if row.overlapped:
            told = "runs shared their machine with runs of another cluster; their times cannot be trusted."
            yield tag("p", _named(row.variant), f": {row.overlapped} {told}", class_="warn")


def _named(variant: str) -> Markup:
    return isolated(variant, [variant])


def _position(told: Told, variant: str) -> int:
    """Return the place of a variant in the palette: that of its name in earlier experiments, as dashboards do."""
    names, colors = told.experiment.variants, told.experiment.colors
    at = names.index(variant) if variant in names else len(names)
    return colors[at] if at < len(colors) else at


def _figures(group: list[ComparisonRow], positions: list[int], seconds: str) -> Markup:
    targeted = any(row.time_to_target for row in group)
    head = [
        "Variant",
        f"Time to target, {seconds}",
        "Speed-up",
        f"Accuracy {'at the target' if targeted else 'at the end'}, %",
        "Test accuracy, %",
        "Communication, %",
        "Sent per run",
        f"Samples per {seconds}",
        "Runs",
    ]
    rows = [
        [
            joined(swatch(position), row.variant),
            time_to_target(row.time_to_target),
            speed_up(row.speed_up),
            estimate(row.target_accuracy if targeted else row.accuracy, 100, 1),
            estimate(row.test_accuracy, 100, 1),
            estimate(row.communication_fraction, 100, 1),
            size(row.wire.mean),
            estimate(row.throughput),
            f"{row.finished} of {row.runs}",
        ]
        for row, position in zip(group, positions, strict=True)
    ]
    return table(head, rows, caption=INTERVALS)


def _curves(told: Told, cluster: str, workers: int, seconds: str) -> Iterator[Markup]:
    bands = [each for each in told.bands.bands if (each.cluster, each.workers) == (cluster, workers) and each.x]
    if not bands:
        return
    target = told.experiment.spec.target
    what = told.metric.replace("_", " ")
    positions = [_position(told, band.variant) for band in bands]
    titles = (f"train clock, {seconds}", what)
    of_accuracy = told.metric.endswith("accuracy")
    yield tag("h3", f"{what.capitalize()} over the train clock")
    figure = curves(bands, positions, titles, target.value if target else None, of_accuracy)
    legend = [
        tag("li", swatch(position), _named(band.variant), f" ({len(band.runs)} seeds)")
        for band, position in zip(bands, positions, strict=True)
    ]
    yield tag("figure", figure, tag("ul", legend, class_="legend"))
    more = " Dashed: the target." if target else ""
    yield tag("p", f"Mean over seeds and its 95% t interval, as far as every seed goes.{more}", class_="quiet")


def _across(told: Told) -> Iterator[Markup]:
    for found in told.comparison.across:
        yield tag("h2", f"All clusters, {found.workers} workers")
        sentences = (isolated(each, told.experiment.variants) for each in found.sentences)
        yield tag("div", (tag("p", each) for each in sentences), class_="answer")


def _foot(told: Told) -> Markup:
    return tag(
        "footer",
        f"Made by Hooke {version('hooke-api')} on {told.at:%Y-%m-%d %H:%M} UTC from {told.experiment.id}.",
    )
