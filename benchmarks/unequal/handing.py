"""What it costs to hand out work, in words."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.comparison.wording import listed

from benchmarks.unequal import dispatching

WOKEN = "../decisions/0105-one-gpu-and-the-cpu-beside-it.md"


def dispatch(costs: dispatching.Costs) -> str:
    """Return the shares of a step in which a worker waits for work."""
    shares = ", ".join(
        f"{costs[f'share-{size}']:.2%} of a step of {size} batch{'es' if size > 1 else ''}"
        for size in dispatching.SIZES
    )
    if "share-each" in costs:
        shares += f"; {costs['share-each']:.2%} of a step of 1 batch if each is asked for (`at_once: 0`)"
    if few := [n for n in dispatching.FEW if f"few-{n}" in costs]:
        shares += _where_merges_are_frequent(costs, few)
    real = ""
    if "request" in costs:
        busy = dispatching.WORKERS * costs["request"] / dispatching.STEP
        several = busy * dispatching.requests_of(costs["share-1"])
        real = (
            f". A request takes {1e6 * costs['request']:.0f} us of it, words included, "
            f"{1e6 * costs['replied']:.0f} of them before the reply (measured): with {dispatching.WORKERS} "
            f"workers and steps of {1e6 * dispatching.STEP:.0f} us the server computes for {several:.0%} of the "
            f"time, and would have to for {busy:.0%} if each step were asked for"
        )
    if "ask" in costs:
        real += f"{'. A' if real else ', a'} step of real processes (two and a server) that is asked for waits "
        real += f"{1e6 * costs['ask']:.0f} us ({_measured(costs)})"
    if "range" in costs:
        real += f"; by default one waits {1e6 * costs['range']:.3g} us ({_span(costs, 'range')})"
    return (
        f"{shares} (messages counted, of 10 us each, there and back, beside a batch of {dispatching.BATCH} on a "
        "CPU; virtual time charges them nothing). Size, range and account of one step take "
        f"{1e6 * costs['decision']:.1f} us of the server's processor (measured){real}"
    )


def _where_merges_are_frequent(costs: dispatching.Costs, few: Sequence[int]) -> str:
    whole, merges = ([costs[f"few-{n}"][part] for n in few] for part in (0, 1))
    others = [a - b for a, b in zip(whole, merges, strict=True)]
    told, handing = (listed([f"{each:.2%}" for each in shares]) for shares in (whole, others))
    return (
        f"; with {listed(list(map(str, few)))} updates of a worker between two merges {told}, {handing} without "
        "the requests at which a merge is due, which no way of handing out work would save"
    )


def _measured(costs: dispatching.Costs) -> str:
    """Return how a real wait was measured."""
    if "ask-least" not in costs:
        return (
            "measured once, before the sender of a word woke who waits for it "
            f"([decision 105]({WOKEN})); not measured since"
        )
    busy = costs["load"] > dispatching.IDLE
    beside = f", beside other work (load {costs['load']:g})" if busy else ""
    return f"median of {dispatching.RUNS} runs, {_span(costs, 'ask')}, {costs['machine']}{beside}"


def _span(costs: dispatching.Costs, name: str) -> str:
    least, most = (1e6 * costs[f"{name}-{which}"] for which in ("least", "most"))
    return f"{least:.3g} to {most:.3g}"
