"""The claims: what the paper says, what is aimed at, and how each is read off the runs.

Figures of the paper are those of its abstract, or of a detailed account of its text (`account`); what could be
found in neither is not quoted.
"""

from __future__ import annotations

from benchmarks.evidence.claim import Claim
from benchmarks.evidence.conditions import (
    BEST,
    DDP,
    DDP_FULL,
    DDP_NESTEROV,
    EASGD1,
    EASGD2,
    EASGD3,
    HOGWILD,
    ORIGINAL,
    PACES,
    PAIRS,
    Method,
    seldom,
)
from benchmarks.evidence.measures import exposed, faster, faster_at_best_period, of_limit, paces

LIMITED = ("Sync EASGD3", "Sync EASGD3, halving", "Sync EASGD3, halving, pipelined")
PER_CENT = {"form": ".0%", "unit": ""}


def _sooner(other: Method, base: Method, paper: str = "") -> Claim:
    """Return the claim that one method meets the target sooner than another."""
    return Claim(
        f"{other.label} over {base.label}, time to target",
        paper,
        faster(base.label, other.label),
        target=1,
        judged="sooner",
        about=(other.label, base.label),
    )


CLAIMS = (
    Claim(
        f"{BEST.label} over {ORIGINAL.label}, time to target",
        "5.3x (abstract)",
        faster(ORIGINAL.label, BEST.label),
        target=5.3,
        aim=10,
    ),
    Claim(
        f"exposed communication, {ORIGINAL.label}",
        "87% (abstract)",
        exposed(ORIGINAL.label),
        judged="",
        **PER_CENT,
    ),
    Claim(
        f"exposed communication, {BEST.label}",
        "14% (abstract)",
        exposed(BEST.label),
        target=0.14,
        aim=0.05,
        better="less",
        form=".1%",
        unit="",
    ),
    *(
        Claim(
            f"{BEST.label} over {ddp.label}, time to target",
            "",
            faster(ddp.label, BEST.label),
            target=2,
            aim=3,
            precision="bf16" if ddp is DDP_FULL else None,
        )
        for ddp in (DDP, DDP_FULL, DDP_NESTEROV)
    ),
    *(
        Claim(
            f"throughput of {label} over max(compute, all-reduce at wire speed)",
            "",
            of_limit(label),
            target=0.9,
            aim=0.97,
            **PER_CENT,
        )
        for label in LIMITED
    ),
    *(
        Claim(
            f"Hooke over plain PyTorch, one worker, {precision}, samples/s",
            "",
            paces(f"Hooke, {precision}", f"plain PyTorch, {precision}"),
            ("here",),
            target=0.98,
            aim=1,
            form=".3f",
            precision="bf16" if precision == "bf16" else None,
        )
        for precision in ("bf16", "fp32")
    ),
    *(
        _sooner(elastic, plain, f"faster ({said})")
        for (elastic, plain), said in zip(PAIRS, ("abstract", "account", "account"), strict=True)
    ),
    *(_sooner(seldom(elastic), seldom(plain)) for elastic, plain in PAIRS),
    *(
        Claim(
            f"{elastic.label} over {plain.label}, each at its better period, time to target",
            "",
            faster_at_best_period(plain, elastic),
            target=1,
            judged="sooner",
            about=(elastic.label, seldom(elastic).label, plain.label, seldom(plain).label),
        )
        for elastic, plain in PAIRS
    ),
    *(
        Claim(
            f"weak scaling, {label}: throughput over the same with communication off",
            "91.5% on 4,253 cores (abstract)",
            paces(label, PACES[label].off),
            target=0.9,
            aim=0.95,
            **PER_CENT,
        )
        for label in (BEST.label, "Sync EASGD3")
    ),
    *(
        _sooner(faster_one, slower, f"{factor}x (account)")
        for faster_one, slower, factor in (
            (EASGD1, ORIGINAL, 3.7),
            (EASGD2, EASGD1, 1.3),
            (EASGD3, EASGD2, 1.1),
        )
    ),
    Claim(
        f"{HOGWILD.label} over {EASGD3.label}, time to target",
        "about 1x: the two fastest (account)",
        faster(EASGD3.label, HOGWILD.label),
        judged="",
        about=(HOGWILD.label,),
    ),
    Claim(
        "one message for all layers over one per layer, Sync EASGD3, samples/s",
        "more; no figure found (account)",
        paces("Sync EASGD3", "Sync EASGD3, per layer"),
        target=1,
        judged="sooner",
    ),
    Claim("16 parts of a many-core chip over one (AlexNet, CIFAR-10)", "3.3x (account)", None, judged=""),
)
