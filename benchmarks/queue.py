"""The table and the figure of docs/queue.md, from the synthetic trace: `python -m benchmarks.queue [SEED]`."""

from __future__ import annotations

import sys
from pathlib import Path

from hooke_api.local.replaying import described, of_synthetic, plot, ratio, span
from hooke_api.queue.figures import Outcome, compare

from benchmarks.evidence.drawing import figure

FIGURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "queue-waits.svg"
SLOTS = 64


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    head = "| policy | mean wait | median | p90 | p99 | over first come | mean slowdown | p99 | over first come |"
    lines = [head, "|---" + "|--:" * 8 + "|"]
    for each in outcomes:
        waits = (span(value) for value in (each.wait.mean, each.wait.median, each.wait.p90, each.wait.p99))
        slow = (f"{each.slowdown.mean:.3g}", f"{each.slowdown.p99:.3g}")
        cells = [each.title, *waits, ratio(each.wait_margin), *slow, ratio(each.slowdown_margin)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(seed: int) -> None:
    """Replay the trace, draw the figure, print the table."""
    source = of_synthetic(seed)
    outcomes = compare(source.trace.jobs, SLOTS)
    print(described(source, SLOTS))
    print(table(outcomes))
    subtitle = f"simulated: {source.title}, {len(source.trace.jobs):,} jobs, {SLOTS} slots"
    with figure(FIGURE, "How long jobs wait under each policy", subtitle, (8.2, 4.8)) as (_, axes):
        plot(axes, outcomes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
