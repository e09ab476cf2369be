"""The section of the page on speed and memory of whole runs at 670,091 labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import speed as machine_speed
from benchmarks.evidence.machine import title_of
from benchmarks.slide.conditions import FULL, QUIET
from benchmarks.slide.region import WIDTH
from benchmarks.slide.speed import CELLS, FEATURES, LABELS, SKIPPED, USUAL, cell_of

Record = Mapping[str, Any]
GOALS = {"sgd": (7000, 12_000), "row-adam": (5000, 8000)}
"""Optimizer -> samples per second that are wanted, and that are aimed at."""
ROOM = (1e9, 0.5e9)
"""Bytes beyond the weights of the output layer that are wanted, and aimed at."""
WEIGHTS = 4 * LABELS * WIDTH
MOMENTS = (
    f"First moments of Adam are as many as the weights, {4 * (LABELS + FEATURES) * WIDTH / 1e6:,.0f} MB of both "
    "layers; what the rest is: [decision 125](../decisions/0125-steps-that-read-rows-alone.md)."
)
"""Why row-wise Adam takes more than is wanted."""
HEADS = (
    *("layer", "optimizer", "weights", "labels of a step", "samples/s", "over full", "builds"),
    *("memory, MB", "beyond, MB"),
)
OPTIMIZERS = {"sgd": "SGD", "row-adam": "row-wise Adam", "row-adagrad": "row-wise Adagrad"}


def table(found: Sequence[Record]) -> str:
    """Return the section."""
    order = {cell: place for place, cell in enumerate(CELLS)}
    own = sorted(found, key=lambda record: order.get(cell_of(record), len(order)))
    first = own[0]
    full = next((r["samples_per_second"] for r in own if r["layer"] == FULL), None)
    commits = ", ".join(sorted({record["commit"] for record in own}))
    lines = [
        "## Whole runs at 670,091 labels",
        "",
        f"{title_of(first['hardware'])}: `hooke run` with {first['threads']} threads, one run each. A planted "
        f"problem of {LABELS:,} labels and {FEATURES:,} features, {WIDTH} hidden units, batches of "
        f"{first['batch']}, about 40 features and 4 labels per item; hash tables of DWTA with 5 hashes and 24 "
        f"tables, or SimHash with 9 and 50 (`slide`). Rates are of {USUAL - SKIPPED:,} steps after the first "
        f"{SKIPPED} (of 12 after 10 with `{FULL}`), and the rebuilds among them count. Memory is the largest "
        f"resident set of the process, {WEIGHTS / 1e6:,.0f} MB of which are the weights of the output layer in "
        f"float32; the column beside it is what is beyond these. Commit {commits}. "
        f"{machine_speed.told(record['machine_ms'] for record in own)}",
        "",
        *(f"{_verdict(optimizer, own)}" for optimizer in GOALS),
        "",
        f"| {' | '.join(HEADS)} |",
        f"|{'---|' * len(HEADS)}",
    ]
    return "\n".join(lines + [_row(record, full) for record in own])


def _row(record: Record, full: float | None) -> str:
    disturbed = "~" if record["busy"] > QUIET else ""
    rate, builds = record["samples_per_second"], record.get("table_builds")
    cells = [
        record["layer"],
        OPTIMIZERS[record["optimizer"]],
        record["weights"],
        f"{record['active_labels']:,.0f}",
        f"{disturbed}{rate:,.0f}",
        f"{disturbed}{rate / full:.3g}x" if full else "-",
        "" if builds is None else f"{builds:.0f}",
        f"{record['memory_bytes'] / 1e6:,.0f}",
        f"{(record['memory_bytes'] - WEIGHTS) / 1e6:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _verdict(optimizer: str, own: Sequence[Record]) -> str:
    """Return which goals the hashed layers with this optimizer have met, as a sentence."""
    wanted, aimed = GOALS[optimizer]
    hashed = [r for r in own if r["optimizer"] == optimizer and r["layer"].startswith("slide")]
    if not hashed:
        return f"{OPTIMIZERS[optimizer]}: not measured."
    if any(record["busy"] > QUIET for record in hashed):
        rate = (
            f"no goal of samples/s is judged, because other programs used more than {QUIET:.0%} of the processors"
        )
    else:
        most = max(hashed, key=lambda record: record["samples_per_second"])
        rate = (
            f"{most['samples_per_second']:,.0f} samples/s with {_named(most)}: "
            f"{_met(most['samples_per_second'], wanted, aimed, ',.0f')}"
        )
    least = min(hashed, key=lambda record: record["memory_bytes"])
    beyond = (least["memory_bytes"] - WEIGHTS) / 1e6
    room = _met(-beyond, -ROOM[0] / 1e6, -ROOM[1] / 1e6, ",.0f")
    told = f"{OPTIMIZERS[optimizer]}: {rate}; {beyond:,.0f} MB beyond the weights with {_named(least)}: {room}."
    return f"{told} {MOMENTS}" if optimizer == "row-adam" and beyond > ROOM[0] / 1e6 else told


def _named(record: Record) -> str:
    return f"`{record['layer']}`, {record['weights']}"


def _met(value: float, wanted: float, aimed: float, form: str) -> str:
    """Return whether a goal and an aim, the larger the better, are met."""
    names = f"goal of {abs(wanted):{form}}", f"aim of {abs(aimed):{form}}"
    said = [
        f"{name} {'reached' if value >= limit else 'missed'}"
        for name, limit in zip(names, (wanted, aimed), strict=True)
    ]
    return ", ".join(said)
