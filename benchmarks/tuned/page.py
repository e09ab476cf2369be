"""Tables of the tuned comparison, from stored results alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict, compare_all
from hooke.comparison.wording import short
from hooke.spec.specification import Variant
from hooke.tuning.settings import edges

from benchmarks.tuned.rounds import Rounds

Results = Mapping[str, Mapping[str, Any]]
HEADER = (
    "| entry | chosen setting | trials that met the target | seconds, by seed | thousand samples | exposed | "
    "verdict |\n"
    "|---|---|---|---|---|---|---|"
)


def table(rounds: Sequence[Rounds], results: Results, baseline: str) -> str:
    """Return one task at one place as a Markdown table, the fastest first, with verdicts against an entry."""
    rows = {each.entry.name: row for each in rounds if (row := Row(each, results)).runs}
    verdicts: Mapping[str, Verdict] = {}
    if baseline in rows:
        others = {name: row.crossings for name, row in rows.items() if name != baseline}
        verdicts = compare_all(rows[baseline].crossings, others)
    order = sorted(rows.values(), key=lambda row: row.order)
    return "\n".join([HEADER, *(row.line(verdicts.get(row.rounds.entry.name)) for row in order)])


class Row:
    """One entry's trials and reported runs."""

    def __init__(self, rounds: Rounds, results: Results) -> None:
        self.rounds, self.known = rounds, rounds.known(results)
        ended = bool(self.known) and rounds.search.ended(self.known)
        self.chosen = rounds.search.chosen(self.known) if ended else None
        plays = [rounds.reported(self.chosen, s) for s in range(rounds.seeds)] if self.chosen is not None else []
        self.runs = {play.seed: results[play.key] for play in plays if play.key in results}

    @property
    def crossings(self) -> dict[int, Crossing]:
        """Return the time to the target by seed."""
        return {seed: _crossing(run) for seed, run in self.runs.items()}

    @property
    def order(self) -> tuple[int, float]:
        """Return a key that sorts the fastest first."""
        times = [run["time_to_target"] for run in self.runs.values() if run["time_to_target"] is not None]
        return len(self.runs) - len(times), statistics.geometric_mean(times) if times else 0.0

    def line(self, verdict: Verdict | None) -> str:
        """Return the row."""
        runs = self.runs.values()
        samples = [run["samples_to_target"] for run in runs if run["samples_to_target"] is not None]
        exposed = [run["communication_fraction"] for run in runs if run["communication_fraction"] is not None]
        search = self.rounds.search
        met = [search.seconds(trial, self.known) is not None for trial in range(1, search.trials + 1)]
        cells = [
            self.rounds.entry.name,
            self.setting(),
            f"{sum(met)} of {len(met)}",
            ", ".join(_seconds(run) for _, run in sorted(self.runs.items())),
            f"{statistics.fmean(samples) / 1000:.0f}" if samples else "-",
            f"{statistics.fmean(exposed):.0%}" if exposed else "-",
            "baseline" if verdict is None else f"{verdict.claim}: {short(self.rounds.entry.name, verdict)}",
        ]
        return f"| {' | '.join(cells)} |"

    def setting(self) -> str:
        """Return the chosen values of the searched parameters; those at an edge of their space are marked."""
        if self.chosen is None:
            return "-"
        entry, values = self.rounds.entry, self.rounds.settings[self.chosen - 1]
        variant = Variant(name=entry.name, algorithm=entry.method, parameters=dict(entry.given))
        at = edges(values, variant, entry.offer)
        spaces = {name: space for name, space in entry.offer.spaces.items() if space.applies(values)}
        return ", ".join(f"{name} {values[name]}{' (edge)' if name in at else ''}" for name in spaces)


def _crossing(run: Mapping[str, Any]) -> Crossing:
    if run["time_to_target"] is None:
        return Crossing(run["train_seconds"] or 0.0, None, bool(run["diverged"]))
    before = [e["train_seconds"] for e in run["evaluations"] if e["train_seconds"] < run["time_to_target"]]
    return Crossing(max(before, default=0.0), run["time_to_target"])


def _seconds(run: Mapping[str, Any]) -> str:
    if run["diverged"]:
        return "diverged"
    return f"{run['time_to_target']:.1f}" if run["time_to_target"] is not None else "missed"
