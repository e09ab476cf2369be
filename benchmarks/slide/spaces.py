"""What the page says of the search spaces of a comparison: records of several ones may be on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.slide.conditions import (
    ACTIVE,
    BATCH,
    BESIDE,
    DRAWN,
    LARGEST,
    OF_TABLES,
    RATES,
    REAL,
    SAMPLED,
    SET,
    SIZED,
)

Record = Mapping[str, Any]
OF_HASHES = (
    "hashes per table (7 to 14 of SimHash; 3 to 6 of DWTA, of three bits each), tables (8 to 64; 16 to 128)"
)


def spaces_of(record: Record) -> int:
    """Return the number of the search spaces of a run; records without one are of the first."""
    return int(record.get("spaces", 1))


def size_of(record: Record) -> int:
    """Return the labels up to which hash tables fill a set, of the setting `active`."""
    settings = record.get("document", {}).get("workload_settings", {})
    return int(settings.get("active", ACTIVE))


def of_one_size(record: Record) -> bool:
    """Return whether all sets of the comparison of this record have one size, which is not searched."""
    return spaces_of(record) < SIZED


def alike(one: Record, other: Record) -> bool:
    """Return whether two runs have one learning rate, and as many labels beside those of the batch."""
    return all(one["setting"].get(name) == other["setting"].get(name) for name in ("lr", BESIDE))


def told(records: Sequence[Record]) -> str:
    """Return the search spaces of the records of a section, as sentences."""
    if of_one_size(records[0]):
        return (
            f"Searched: the learning rate from 0.01 to 1; for `slide` also {OF_HASHES} and the uniform share of "
            f"the active set (0.3 to 0.6). The size of a set was not searched: `sampled` had {ACTIVE} negatives "
            f"beside the labels of the batch, `random-active` and `slide` had {ACTIVE} labels in all."
        )
    beside, drawn, trials = SET[BESIDE], OF_TABLES[DRAWN], records[0]["trials"]
    largest = LARGEST[spaces_of(records[0])]
    return (
        f"Searched: the learning rate from {RATES.low:g} to {RATES.high:g} (trials beyond, of an earlier "
        "comparison, met no target: [decision 151](../decisions/0151-the-size-of-a-set.md)); for `sampled`, "
        f"`random-active` and `slide` the labels of a set beside those of the batch (`{BESIDE}`, {beside.low:g} "
        f"to {largest:,}, log-uniform); for `slide` also {OF_HASHES} and which share of those beside is "
        f"drawn uniformly (`{DRAWN}`, {drawn.low:g} to {drawn.high:g}). {_in_all(records)}{trials} trials are "
        f"few for the five parameters of `slide`{_tried(records)}."
    )


def untried(records: Sequence[Record]) -> str:
    """Return what is known of sets that no trial of `sampled` had, and of products in bf16, as sentences.

    Empty for other spaces than those of which it is known.
    """
    first = records[0]
    sizes = [r["setting"][BESIDE] for r in records if r["layer"].startswith(SAMPLED) and BESIDE in r["setting"]]
    if first["problem"] != REAL or spaces_of(first) != SIZED or not sizes:
        return ""
    return (
        f"No trial of `{SAMPLED}` had more than {max(sizes):,} negatives. With {ACTIVE:,} log-uniform ones, given "
        "in an [earlier comparison](../decisions/0151-the-size-of-a-set.md) on such a machine, it took 3.2 to "
        "3.7 s, less than hashing here; on one thread of a busy machine it took 5.5 to 6.0 processor seconds, and "
        "hashing 4.3 to 4.9: **which is faster, each at its best, is not known**. All layers computed in float32. "
        "With products in bf16 `full` takes half of the processor time and as many samples (one seed), and "
        "hashing is no faster: **against such a full layer the goal of 10 would probably be missed here**, at "
        "about 7 times on two cores; on one thread hashing took an eleventh of its processor time ([decision 164]"
        "(../decisions/0164-sets-in-the-libsvm-format-and-what-is-not-known-of-hashing.md))"
    )


def _tried(records: Sequence[Record]) -> str:
    """Return which sizes the trials had; empty without any set."""
    sizes = sorted({record["setting"][BESIDE] for record in records if BESIDE in record["setting"]})
    if not sizes:
        return ""
    return f", and none had more than {sizes[-1]:,} labels beside those of the batch"


def _in_all(records: Sequence[Record]) -> str:
    """Return which sets follow from the labels beside those of a batch; empty without any set."""
    own = {
        size_of(record) - record["setting"][BESIDE]
        for record in records
        if BESIDE in record["setting"] and not record["layer"].startswith("sampled")
    }
    if len(own) != 1:
        return ""
    return (
        f"`sampled` draws so many negatives; the other sets have {own.pop()} labels, the mean of a batch of "
        f"{BATCH}, and these in all. "
    )
