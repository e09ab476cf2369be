"""Entries of one table: their trials and reported runs, and the verdicts on them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hooke.comparison.crossing import Crossing
from hooke.comparison.effort import refuted
from hooke.comparison.verdict import Verdict, claim_of, compare_all
from hooke.comparison.wording import short

from benchmarks.tuned.conditions import TASKS
from benchmarks.tuned.entries import elastic, entry_of
from benchmarks.tuned.records import Record
from benchmarks.tuned.rules import marked, outdated

ORIGINAL = "original-easgd"
FREE = 2
"""Entries of which the fastest is compared with a single one without a correction."""
WON, LOST = ("faster", "at least"), ("slower", "at most")


class Row:
    """One entry's trials and reported runs for one task at one place."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        self.name = name
        trials: dict[int, dict[int, bool]] = defaultdict(lambda: defaultdict(bool))
        self.runs: dict[int, Record] = {}
        self.outdated = False
        """Whether any of its runs was timed under an earlier rule of the clock that concerns it."""
        for record in records:
            self.outdated |= outdated(record)
            if record["rung"] is None:
                self.runs[record["seed"]] = record
            else:
                trials[record["trial"]][record["seed"]] |= record["time_to_target"] is not None
        self.tuning_seeds = max((len(seeds) for seeds in trials.values()), default=0)
        self.trials, self.met = len(trials), sum(all(seeds.values()) for seeds in trials.values())

    @property
    def title(self) -> str:
        """Return its name, with a mark if it was timed under an earlier rule of the clock."""
        return marked(self.name, self.outdated)

    @property
    def crossings(self) -> dict[int, Crossing]:
        """Return the time to the target by seed."""
        return {seed: _crossing(run) for seed, run in self.runs.items()}

    @property
    def refuted(self) -> str | None:
        """Return why its chosen setting allows no claim, if it does not."""
        if told := next((run["unfair"] for run in self.runs.values() if run.get("unfair")), None):
            return str(told)
        diverged = {seed: bool(run["diverged"]) for seed, run in self.runs.items()}
        return refuted(self.name, diverged, self.tuning_seeds)

    @property
    def taken(self) -> bool:
        """Return whether its runs, which have no all-reduce, are those of a table with another schedule."""
        return any(run.get("taken") for run in self.runs.values())

    @property
    def fewer(self) -> str | None:
        """Return how it was tuned less than the others, if it was."""
        return next((run["fewer"] for run in self.runs.values() if run.get("fewer")), None)

    @property
    def times(self) -> list[float]:
        """Return the times to the target of the seeds that met it, s."""
        return [run["time_to_target"] for run in self.runs.values() if run["time_to_target"] is not None]

    @property
    def seconds(self) -> list[str]:
        """Return the time to the target of each seed in words, s."""
        return [_seconds(run) for _, run in sorted(self.runs.items())]

    @property
    def order(self) -> tuple[int, float]:
        """Return a key that sorts the fastest first."""
        return len(self.runs) - len(self.times), statistics.geometric_mean(self.times) if self.times else 0.0

    def line(self, verdict: Verdict | None, baseline: bool) -> str:
        """Return the row of the table, with the verdict if there is one."""
        runs = self.runs.values()
        samples = [run["samples_to_target"] for run in runs if run["samples_to_target"] is not None]
        exposed = [run["communication_fraction"] for run in runs if run["communication_fraction"] is not None]
        cells = [
            self.title,
            self.setting(),
            f"{self.met} of {self.trials}" if self.trials else "-",
            ", ".join(self.seconds),
            f"{statistics.fmean(samples) / 1000:.0f}" if samples else "-",
            f"{statistics.fmean(exposed):.0%}" if exposed else "-",
            told(self.name, verdict) if verdict else "baseline" if baseline else "-",
        ]
        return f"| {' | '.join(cells)} |"

    def setting(self) -> str:
        """Return the parameters that were searched or given; those at an edge of their space are marked."""
        run = next(iter(self.runs.values()))
        named = entry_of(self.name).on(TASKS[run["task"]]).named
        own = {name: value for name, value in run["parameters"].items() if name in named}
        values = {name: f"{v:.3g}" if isinstance(v, float) else v for name, v in own.items()}
        return ", ".join(f"{name} {v}{' (edge)' if name in run['edges'] else ''}" for name, v in values.items())


def rows(records: Iterable[Record]) -> dict[str, Row]:
    """Return the entries that have reported runs, the fastest first."""
    of_entry: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        of_entry[record["entry"]].append(record)
    found = [row for name, own in of_entry.items() if (row := Row(name, own)).runs]
    return {row.name: row for row in sorted(found, key=lambda row: row.order)}


def verdicts(found: Mapping[str, Row], baseline: str) -> Mapping[str, Verdict]:
    """Return the verdict on every other entry; none without the baseline."""
    if baseline not in found:
        return {}
    others = {name: row.crossings for name, row in found.items() if name != baseline}
    said = compare_all(found[baseline].crossings, others)
    against = found[baseline]
    return {name: _fair(verdict, _why_not(verdict, found[name], against)) for name, verdict in said.items()}


def _why_not(verdict: Verdict, row: Row, baseline: Row) -> str | None:
    """Return why there is no claim: of a setting, or that an entry with fewer trials would be called slower."""
    loser = row if verdict.claim in LOST else baseline if verdict.claim in WON else None
    return baseline.refuted or row.refuted or (loser.fewer if loser else None)


def _fair(verdict: Verdict, why: str | None) -> Verdict:
    return replace(verdict, claim="no claim", unfair=why) if why else verdict


def told(name: str, verdict: Verdict) -> str:
    """Return a verdict on an entry in words."""
    return f"{verdict.claim}: {verdict.unfair or short(name, verdict)}"


def elastic_verdict(found: Mapping[str, Row]) -> tuple[str, str, Verdict] | None:
    """Return the fastest elastic method, the fastest other entry, and the verdict on the first against it."""
    first = next((name for name in found if elastic(name)), None)
    other = next((name for name in found if not elastic(name)), None)
    if not first or not other:
        return None
    verdict = verdicts({name: found[name] for name in (other, first)}, other)[first]
    several = sum(elastic(name) for name in found)
    return first, other, of_chosen(verdict, several, len(found) - several)


def of_chosen(verdict: Verdict, one: int, other: int) -> Verdict:
    """Return a verdict on the fastest of `one` entries against the fastest of `other` ones, corrected for that.

    By chance the fastest of many equal entries is ahead of the fastest of few: of five it was called faster than a
    single one in 8%. The p value is multiplied by many / (FREE few^2), at least 1 (decision 138).
    """
    if verdict.p is None or verdict.claim == "no claim":
        return verdict
    few, many = sorted((one, other))
    p = min(1.0, verdict.p * max(1.0, many / (FREE * few**2)))
    return replace(verdict, p_adjusted=p, claim=claim_of(verdict.low, verdict.high, p))


def original_verdict(found: Mapping[str, Row]) -> tuple[str, Verdict] | None:
    """Return the fastest entry but Original EASGD, and the verdict on it against that one; None without both."""
    first = next((name for name in found if name != ORIGINAL), None)
    said = verdicts(found, ORIGINAL)
    return (first, said[first]) if first and first in said else None


def _crossing(run: Record) -> Crossing:
    if run["time_to_target"] is None:
        return Crossing(run["train_seconds"] or 0.0, None, bool(run["diverged"]))
    return Crossing(run["before"], run["time_to_target"])


def _seconds(run: Record) -> str:
    if run["diverged"]:
        return "diverged"
    seconds = run["time_to_target"]
    if seconds is None:
        return "missed"
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2g}"
