"""Trials of hashing beside those of random sets that had the same learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.slide.conditions import RANDOM, SLIDE

Record = Mapping[str, Any]


def table(records: Sequence[Record]) -> str:
    """Return, trial by trial, what the target took hashing and random sets in samples; empty without both.

    The trials of all layers are points of one sequence, so that those of one number have one learning rate.
    """
    last = _last(records)
    kinds = sorted({layer for layer, _ in last if layer.startswith(SLIDE)})
    both = sorted(
        trial
        for layer, trial in last
        if layer == RANDOM and any(_met(last.get((each, trial))) for each in (RANDOM, *kinds))
    )
    if not kinds or not both:
        return ""
    rates = {trial: last[RANDOM, trial]["setting"]["lr"] for trial in both}
    return "\n".join(
        [
            "Samples to the target in trials with one learning rate: of each trial the one run with its largest "
            "budget. Behind it the labels that tables alone gave to a step, and which share of the 5 best labels "
            "is found in the tables (recall):",
            "",
            f"| learning rate | {RANDOM} | {' | '.join(kinds)} |",
            "|---|---|" + "---|" * len(kinds),
            *(
                f"| {rates[trial]:.3g} | {_samples(last.get((RANDOM, trial)))} | "
                f"{' | '.join(_hashed(last.get((kind, trial))) for kind in kinds)} |"
                for trial in sorted(both, key=lambda trial: rates[trial])
            ),
        ]
    )


def ratios(records: Sequence[Record]) -> list[float]:
    """Return the samples of trials of hashing over those of random sets with the same learning rate."""
    last = _last(records)
    return [
        record["result"]["samples_to_target"] / last[RANDOM, trial]["result"]["samples_to_target"]
        for (layer, trial), record in last.items()
        if layer.startswith(SLIDE) and _met(record) and _met(last.get((RANDOM, trial)))
    ]


def _last(records: Sequence[Record]) -> dict[tuple[str, int], Record]:
    """Return the last run of every trial, which has its largest budget."""
    trials = sorted((r for r in records if r["rung"] is not None), key=lambda record: record["rung"])
    return {(record["layer"], record["trial"]): record for record in trials}


def _met(record: Record | None) -> bool:
    return record is not None and record["result"]["samples_to_target"] is not None


def _samples(record: Record | None) -> str:
    if record is None:
        return "-"
    result = record["result"]
    if result["diverged"]:
        return "diverged"
    met = result["samples_to_target"]
    return f"{met:,}" if met is not None else f"missed in {result['samples']:,}"


def _hashed(record: Record | None) -> str:
    if record is None or not record["result"]["evaluations"]:
        return _samples(record)
    seen = record["result"]["evaluations"][-1]
    retrieved, recall = (seen.get("further", seen).get(name) for name in ("retrieved_labels", "table_recall"))
    if retrieved is None or recall is None:
        return _samples(record)
    return f"{_samples(record)} ({retrieved:,.0f} labels, recall {recall:.0%})"
