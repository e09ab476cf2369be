"""The part of the page on precisions over several passes: how far each layer comes, and when."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.slide.conditions import FULL, PROBLEMS, RANDOM, REAL, SLIDE

Record = Mapping[str, Any]
SHARE = 0.9
"""Of the best P@1 of the full layer: the later target."""
ITEMS = int(PROBLEMS[REAL].parameters["validation_items"])
SHOWN = ("p_at_1", "p_at_3", "p_at_5", "psp_at_1", "psp_at_5")


def by_samples(found: Sequence[Record]) -> str:
    """Return the section of curves whose times say nothing, because other programs ran beside them."""
    own = sorted(found, key=lambda record: -last(record))
    passed = max(record["points"][-1]["samples"] for record in own)
    first = own[0]["points"][0]["samples"]
    marks = [*(mark for k in range(12) if (mark := first * 2**k) < passed), passed]
    heads = [f"P@1 at {mark / 1000:,.0f}k" for mark in marks]
    heads += [f"{name} at {passed / 1000:,.0f}k" for name in ("P@3", "P@5", "PSP@1", "PSP@5")]
    top = max(map(_top, own))
    rates = ", ".join(sorted({format(record["lr"], "g") for record in own}))
    lines = [
        "## Precisions over samples",
        "",
        f"{PROBLEMS[REAL].title}: the validation part, up to {passed:,.0f} samples, batches of {own[0]['batch']}, "
        f"row-wise Adagrad at {rates} for every layer, active sets of six times the batch, one seed each. "
        "By samples alone: other programs ran meanwhile, which change no precision. Differences of P@1 below "
        f"{_noise(top):.1f} points (two standard errors of a share of {ITEMS:,} items) say nothing; the spread "
        f"over seeds was not measured. {_ended(own, passed)}"
        f"Commit {', '.join(sorted({r['commit'] for r in own}))}.",
        "",
        "![P@1 over samples, a line for each output layer](slide/curves.svg)",
        "",
        f"| layer | {' | '.join(heads)} | best labels in the tables |",
        f"|---|{'---|' * len(heads)}---|",
    ]
    for record in own:
        at = {point["samples"]: point for point in record["points"]}
        values = [f"{at[mark]['p_at_1']:.1%}" if mark in at else "-" for mark in marks]
        values += [f"{at[passed][shown]:.1%}" if passed in at else "-" for shown in SHOWN[1:]]
        recall = at.get(passed, {}).get("table_recall")
        lines.append(f"| {title(record)} | {' | '.join(values)} | {'' if recall is None else f'{recall:.0%}'} |")
    return "\n".join(lines)


def said_by_samples(found: Sequence[Record]) -> str:
    """Return in words how far hashing comes beside random sets of the same size; empty without both."""
    of = {name: [r for r in found if r["layer"] == name] for name in (SLIDE, RANDOM)}
    if not all(of.values()):
        return ""
    hashed, drawn = (max(records, key=last) for records in of.values())
    end, samples = last(hashed), hashed["points"][-1]["samples"]
    whole = [last(r) for r in found if r["layer"] == FULL and r["points"][-1]["samples"] == samples]
    told = f", and {max(whole):.1%} with {FULL}" if whole else ""
    return (
        f"Over {samples:,.0f} samples of the real records, at one learning rate, P@1 "
        f"reaches {end:.1%} with hashing and {last(drawn):.1%} with {RANDOM} of the same size{told} (differences "
        f"below {_noise(end):.1f} points say nothing)."
    )


def _ended(own: Sequence[Record], passed: float) -> str:
    """Return which curves end earlier than the longest one, and where."""
    told = [
        f"{title(record)} after {at['samples']:,.0f} samples, at {at['p_at_1']:.1%}"
        for record in own
        if (at := record["points"][-1])["samples"] < passed
    ]
    return f"Ended early: {'; '.join(told)}. " if told else ""


def _noise(share: float) -> float:
    """Return two standard errors of a share of the validation items, in points."""
    return 200 * math.sqrt(share * (1 - share) / ITEMS)


def tables(found: Sequence[Record]) -> Iterator[str]:
    """Yield the curves of all layers, each with its best learning rate, and when it met the later target."""
    best = bests(found)
    if not best:
        return
    late = target(best)
    first = next(iter(best.values()))
    marks = sorted({point["samples"] for record in best.values() for point in record["points"]})
    some = [mark for mark in marks if mark in {marks[0] * 2**k for k in range(12)}]
    yield (
        f"{PROBLEMS[REAL].title}, batches of {first['batch']}: precisions on the validation part, for each layer "
        f"with the best of at most {max(len(_rates(found, name)) for name in best)} learning rates by P@1 at the "
        f"end. Active sets are six times the batch. Later target: {SHARE:.0%} of the best P@1 of the full layer, "
        f"{late:.1%}. Seconds on the GPU were measured; those on the cores are samples to the target over rates "
        "of the cores at this batch: precisions by samples depend on neither."
    )
    yield ""
    heads = [f"P@1 at {mark / 1000:,.0f}k" for mark in some]
    heads += ["best P@1", "P@3", "P@5", "PSP@1", "PSP@5", "samples to the later target", "GPU, s", "cores, s"]
    yield f"| layer | learning rate | {' | '.join(heads)} |"
    yield f"|---|---|{'---|' * len(heads)}"
    for name, record in sorted(best.items(), key=lambda each: -_top(each[1])):
        at = {point["samples"]: point["p_at_1"] for point in record["points"]}
        top = max(record["points"], key=lambda point: point["p_at_1"])
        values = [f"{at[mark]:.1%}" if mark in at else "-" for mark in some]
        values += [f"{top[shown]:.1%}" for shown in SHOWN]
        met, rate = reached(record, late), core_rate(found, record)
        values += [
            f"{met['samples']:,.0f}" if met else "missed",
            f"{met['seconds']:.1f}" if met else "-",
            f"{met['samples'] / rate:.1f}" if met and rate else "-",
        ]
        yield f"| {name} | {record['lr']:g} | {' | '.join(values)} |"
    yield ""
    if recalls := _recalls(best):
        yield recalls
        yield ""


def bests(found: Sequence[Record]) -> dict[str, Record]:
    """Return the curve of every layer that has the highest P@1 at its end."""
    best: dict[str, Record] = {}
    for record in found:
        if record["kind"] == "curve" and record["points"]:
            name = title(record)
            if name not in best or last(record) > last(best[name]):
                best[name] = record
    return best


def target(best: Mapping[str, Record]) -> float:
    """Return the later target, 0 without the full layer."""
    return SHARE * _top(best[FULL]) if FULL in best else 0.0


def reached(record: Record, late: float) -> Mapping[str, float] | None:
    """Return the first point of a curve that meets the later target."""
    return next((point for point in record["points"] if late and point["p_at_1"] >= late), None)


def core_rate(found: Sequence[Record], curve: Record) -> float | None:
    """Return the samples per second of the cores for the layer, batch and tables of a curve."""
    same = ("layer", "batch", "hashed", "labels")
    for record in found:
        on_cores = record["kind"] == "rate" and record["place"] == "cores" and record.get("real")
        if on_cores and all(record.get(name) == curve.get(name) for name in same):
            return float(record["samples_per_second"])
    return None


def title(record: Record) -> str:
    """Return a layer with its hash tables."""
    if not record.get("hashed"):
        return str(record["layer"])
    family, hashes, tables_, share = record["hashed"]
    return f"{record['layer']}, {family}, K {hashes}, L {tables_}, uniform {share:g}"


def finding(found: Sequence[Record]) -> str:
    """Return in words how hashing on cores does to the later target; empty if that is not known."""
    best = bests(found)
    late = target(best)
    seconds = {}
    for name, record in best.items():
        met, rate = reached(record, late), core_rate(found, record)
        if met:
            seconds[name] = met["seconds"], met["samples"] / rate if rate else None
    hashed = [(cores, name) for name, (_, cores) in seconds.items() if name.startswith(SLIDE) and cores]
    if not hashed or FULL not in seconds:
        return ""
    cores, name = min(hashed)
    told = f"to {SHARE:.0%} of the best P@1 of the full layer ({late:.1%}), {_against(cores, seconds[FULL][0])}"
    others = [(other, who) for who, (_, other) in seconds.items() if other and not who.startswith((SLIDE, FULL))]
    if others:
        least, who = min(others)
        told += f", and {_against(cores, least, f'{who} on the same cores')}"
    return told


def _against(cores: float, other: float, who: str = "the full layer on the GPU") -> str:
    if cores > other:
        return f"it takes {cores / other:.2g} times as long as {who}"
    return f"it is {other / cores:.2g} times as fast as {who}"


def _recalls(best: Mapping[str, Record]) -> str:
    told = [
        f"{name}: {record['points'][-1]['table_recall']:.0%}"
        for name, record in best.items()
        if "table_recall" in record["points"][-1]
    ]
    return f"Share of an item's 5 best labels in its buckets at the end: {'; '.join(told)}." if told else ""


def _rates(found: Sequence[Record], name: str) -> set[float]:
    tried: dict[str, set[float]] = defaultdict(set)
    for record in found:
        if record["kind"] == "curve":
            tried[title(record)].add(record["lr"])
    return tried[name]


def last(record: Record) -> float:
    """Return P@1 at the end of a curve."""
    return float(record["points"][-1]["p_at_1"])


def _top(record: Record) -> float:
    return max(float(point["p_at_1"]) for point in record["points"])
