"""Trials of hashing beside those of random sets that had the same learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.slide.conditions import BESIDE, RANDOM, SLIDE
from benchmarks.slide.spaces import alike

Record = Mapping[str, Any]


def table(records: Sequence[Record]) -> str:
    """Return, trial by trial, what the target took hashing and random sets in samples; empty without both.

    The trials of all layers are points of one sequence, so that those of one number have one learning rate, and
    one number of labels beside those of the batch where that is searched. Others are left out.
    """
    last = _last(records)
    kinds = sorted({layer for layer, _ in last if layer.startswith(SLIDE)})
    pairs = {
        trial: (record, [_beside(record, last.get((kind, trial))) for kind in kinds])
        for (layer, trial), record in last.items()
        if layer == RANDOM
    }
    both = [(random, hashed) for random, hashed in pairs.values() if any(map(_met, (random, *hashed)))]
    if not kinds or not both:
        return ""
    sized = any(BESIDE in random["setting"] for random, _ in both)
    heads = ["learning rate", *["labels beside those of the batch"] * sized, RANDOM, *kinds]
    return "\n".join(
        [
            f"Samples to the target in trials with one learning rate{' and sets of one size' * sized}: of each "
            "trial the one run with its largest budget. Behind it the labels that tables alone gave to a step, "
            "and which share of the 5 best labels is found in the tables (recall):",
            "",
            f"| {' | '.join(heads)} |",
            "|" + "---|" * len(heads),
            *(
                f"| {' | '.join([*_alike(random['setting']), _samples(random), *map(_hashed, hashed)])} |"
                for random, hashed in sorted(both, key=lambda pair: float(pair[0]["setting"]["lr"]))
            ),
        ]
    )


def _alike(setting: Mapping[str, Any]) -> list[str]:
    """Return the cells of what the trials of a row have in common."""
    return [f"{setting['lr']:.3g}", *([f"{setting[BESIDE]:,}"] if BESIDE in setting else [])]


def _beside(random: Record, hashed: Record | None) -> Record | None:
    """Return a trial of hashing that has learning rate and size of one of random sets; else none."""
    return hashed if hashed is not None and alike(random, hashed) else None


def ratios(records: Sequence[Record]) -> list[float]:
    """Return the samples of trials of hashing over those of random sets with the same learning rate and size."""
    last = _last(records)
    pairs = [(last[RANDOM, trial], found) for (_, trial), found in last.items() if (RANDOM, trial) in last]
    return [
        hashed["result"]["samples_to_target"] / random["result"]["samples_to_target"]
        for random, hashed in pairs
        if hashed["layer"].startswith(SLIDE) and alike(random, hashed) and _met(hashed) and _met(random)
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
