"""The verdict of a comparison as tables in a terminal: one per cluster and number of workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hooke.cli.text import plain, size
from hooke.spec.spaces import Space

COLUMNS = (
    "variant",
    "runs",
    "time to target",
    "speed-up [95%]",
    "",
    "validation, test [95%]",
    "comm.",
    "sent",
    "samples/s",
)


def show(console: Console, comparison: dict[str, Any]) -> None:
    """Print the response to `GET /experiments/{id}/comparison`."""
    if comparison["target"]:
        console.print(_as_it_is(f"\nTarget: {comparison['target']}; baseline: {comparison['baseline']}"))
    console.print(_as_it_is(comparison["tuning"]), soft_wrap=True)
    if comparison["note"]:
        console.print(_as_it_is(f"\nNote: {comparison['note']}"))
    if comparison.get("extended"):
        console.print(_as_it_is(f"\nNote: {comparison['extended']}"), soft_wrap=True)
    for (cluster, workers), rows in groupby(comparison["rows"], key=lambda row: (row["cluster"], row["workers"])):
        console.print(table(cluster, workers, list(rows)))
    across = [sentence for each in comparison["across"] for sentence in each["sentences"]]
    for sentence in [*comparison["sentences"], *across]:
        console.print(_as_it_is(f"• {sentence}"), soft_wrap=True)


SEARCHED = (
    *("variant", "cluster", "workers", "met the target", "median trial", "samples", "core hours"),
    "at an edge",
)


def show_choices(console: Console, tuning: dict[str, Any]) -> None:
    """Print searches and chosen settings of the response to `GET /experiments/{id}/tuning`."""
    result = Table(title="Trials", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in SEARCHED:
        result.add_column(column, justify="left" if column in ("variant", "cluster") else "right", overflow="fold")
    chosen = []
    for search in tuning["searches"]:
        result.add_row(*map(_as_it_is, _searched(search)))
        trial = next((trial for trial in search["trials"] if trial["chosen"]), None)
        values = ", ".join(f"{name} {value}" for name, value in (trial or {}).get("parameters", {}).items())
        setting = values or ("as given" if trial else "none" if search["ended"] else "none yet")
        workers = f"{search['workers']} worker{'s' * (search['workers'] != 1)}"
        chosen.append(f"{search['variant']} on {search['cluster']}, {workers}: {setting}")
    console.print(result)
    for said in chosen:
        console.print(_as_it_is(f"Chosen for {said}"), soft_wrap=True)
    for variant, spaces in {search["variant"]: search["spaces"] for search in tuning["searches"]}.items():
        words = [f"{name} {Space.model_validate(space).in_words}" for name, space in spaces.items()]
        if words:
            console.print(_as_it_is(f"Searched for {variant}: {'; '.join(words)}"), soft_wrap=True)


def _searched(search: dict[str, Any]) -> tuple[str, ...]:
    """Return the row of one search; a dash is a missing figure."""
    reached, median = search["reached"], search["median_seconds"]
    unit, hours = "virtual s" if search["simulated"] else "s", search["core_hours"]
    return (
        *(search["variant"], search["cluster"], str(search["workers"])),
        "-" if reached is None else f"{reached:.0%} of trials",  # some may not count: cancelled ones, say
        f"{median:.3g} {unit}" if median is not None else "-" if reached is None else "missed",
        *(f"{search['samples']:,}", f"{hours:{'.2g' if hours < 10 else ',.0f'}}"),
        ", ".join(f"{name} ({end})" for name, end in search["edges"].items()) or "-",
    )


def _as_it_is(text: str) -> Text:
    """Return what rich prints as it stands: names of users may look like its markup."""
    return Text(plain(text))


def table(cluster: str, workers: int, rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of one group."""
    notes = ["simulated"] if rows[0]["simulated"] else []
    if any(row["oversubscribed"] for row in rows):
        notes.append("oversubscribed: more ranks than cores")
    if overlapped := sum(row.get("overlapped", 0) for row in rows):
        notes.append(f"{overlapped} run{'s' * (overlapped != 1)} overlapped with another cluster's on the machine")
    title = f"{cluster}, {workers} worker{'s' * (workers != 1)}" + (f" ({'; '.join(notes)})" if notes else "")
    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in COLUMNS:
        result.add_column(column, justify="left" if column in ("variant", "") else "right", overflow="fold")
    for row in rows:
        result.add_row(*map(_as_it_is, cells(row)))
    return result


def cells(row: dict[str, Any]) -> list[str]:
    """Return one row of the table; a dash is a missing figure."""
    return [
        row["variant"],
        f"{row['finished']}/{row['runs']}",
        _time(row["time_to_target"]),
        *_speed_up(row["speed_up"]),
        "\n".join(_estimate(row[name], 100, "{:.1f}", "%") for name in ("accuracy", "test_accuracy")),
        _estimate(row["communication_fraction"], 100, "{:.0f}", "%", interval=False),
        "-" if row["wire"]["mean"] is None else size(row["wire"]["mean"]),
        _estimate(row["throughput"], 1, "{:,.0f}", "", interval=False),
    ]


def _time(time: dict[str, Any] | None) -> str:
    if time is None or not time["reached"]:
        return f"0 of {time['n']} seeds" if time and time["n"] else "-"
    median = f"{time['median']:.3g} {time['unit']}" if time["median"] is not None else "-"
    return median if time["reached"] == time["n"] else f"{median} ({time['reached']} of {time['n']} seeds)"


def _speed_up(speed: dict[str, Any]) -> tuple[str, str]:
    """Return the ratio with its interval, and the claim with the number of seeds."""
    claim, ratio, low, high = (speed[name] for name in ("claim", "ratio", "low", "high"))
    words = {"at least": "faster", "at most": "slower", "same": "practically the same"}.get(claim, claim)
    if claim == "baseline":
        return "-", words
    left_out = f" of {speed['pairs'] + speed['left_out']}" if speed["left_out"] else ""
    words += f", n={speed['pairs']}{left_out}"
    if claim == "no claim" or ratio is None:
        return "-", words
    if claim == "at least":  # only this end of the interval is known
        return f">= {_factor(low)}x", words
    if claim == "at most":
        return f"<= {_factor(high)}x", words
    return f"{_factor(ratio)}x [{_factor(low)}, {_factor(high)}]", words


def _factor(value: float | None) -> str:
    """Return a ratio with two decimals, or more if it would otherwise be rounded to 1, or to 0."""
    if value is None:
        return "-"
    if value < 0.1:  # noqa: PLR2004 - else one digit would be left, or none
        return f"{value:.2g}"
    texts = (f"{value:.{decimals}f}" for decimals in range(2, 7))
    return next((text for text in texts if float(text) != 1 or value == 1), f"{value:.6f}")


def _estimate(estimate: dict[str, Any], factor: float, form: str, unit: str, interval: bool = True) -> str:
    if estimate["mean"] is None:
        return "-"
    text = form.format(estimate["mean"] * factor) + unit
    if interval and estimate["low"] is not None:
        text += f" [{form.format(estimate['low'] * factor)}, {form.format(estimate['high'] * factor)}]"
    return text
