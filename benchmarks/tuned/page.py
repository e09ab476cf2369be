"""Tables and page of the tuned comparison, from records alone."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hooke.comparison.crossing import Crossing
from hooke.comparison.effort import refuted
from hooke.comparison.verdict import Verdict, compare_all
from hooke.comparison.wording import short

from benchmarks.evidence.machine import title_of
from benchmarks.tuned.conditions import AT, BATCH, TASKS, Task
from benchmarks.tuned.entries import PEER_NAMES, baseline_at, elastic, entry_of
from benchmarks.tuned.records import Record

HEADER = (
    "| entry | chosen setting | trials on the hosts that met the target | seconds, by seed | thousand samples | "
    "exposed | verdict |\n"
    "|---|---|---|---|---|---|---|"
)
TITLE = """\
# Methods and peers, each at the best of as many trials

<!-- written by `python -m benchmarks.tuned publish` -->"""
INTRODUCTION = f"""\
In a table every entry has the same number of trials with the same budgets: settings drawn from the space that the
method declares, or that covers what the peer's library offers, judged on the validation part. The search is
successive halving ([tuning](../tuning.md)), or trials in virtual time, where a peer is represented by the method
of the catalogue with its equations ([records](tuned/proposals)); the best of these are then tried on the hosts
with the whole budget. The best setting is measured on seeds that no trial had.

Seconds are those of the train clock until the target was met on the validation part, evaluations excluded;
*exposed* is the share of that time in which a worker waits for communication. Batch {BATCH} per worker and fp32
gradients, where a section says nothing else. Methods of the catalogue send bf16 with error feedback; the hooks of
DDP are entries of their own. Verdicts follow [the rule](../decisions/0020-one-rule-of-verdict.md): 95%, paired by
seed, corrected for the number of comparisons in a table. Seconds of two tables are not comparable.

A search of few trials is itself random: another draw of trials may find a better setting for any entry. A
verdict is on the settings that were found. How the tables came about, and what limits them:
decisions [38](../decisions/0038-virtual-time-proposes.md) and [82](../decisions/0082-two-more-workloads.md)."""

At = tuple[str, str, str, str]
"""Machine, task, place and effort of the search."""
IN_WORDS = {"at least": "faster", "at most": "slower", "same": "practically the same"}
"""Claims with a bound only, in the count of all tables."""


class Row:
    """One entry's trials and reported runs for one task at one place."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        self.name = name
        trials: dict[int, dict[int, bool]] = defaultdict(lambda: defaultdict(bool))
        self.runs: dict[int, Record] = {}
        for record in records:
            if record["rung"] is None:
                self.runs[record["seed"]] = record
            else:
                trials[record["trial"]][record["seed"]] |= record["time_to_target"] is not None
        self.tuning_seeds = max((len(seeds) for seeds in trials.values()), default=0)
        self.trials, self.met = len(trials), sum(all(seeds.values()) for seeds in trials.values())

    @property
    def crossings(self) -> dict[int, Crossing]:
        """Return the time to the target by seed."""
        return {seed: _crossing(run) for seed, run in self.runs.items()}

    @property
    def refuted(self) -> str | None:
        """Return why its chosen setting allows no claim, if it does not."""
        told = {seed: bool(run["diverged"]) for seed, run in self.runs.items()}
        return refuted(self.name, told, self.tuning_seeds)

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
            self.name,
            self.setting(),
            f"{self.met} of {self.trials}",
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
    return {name: _fair(verdict, found[baseline].refuted or found[name].refuted) for name, verdict in said.items()}


def _fair(verdict: Verdict, why: str | None) -> Verdict:
    return replace(verdict, claim="no claim", unfair=why) if why else verdict


def told(name: str, verdict: Verdict) -> str:
    """Return a verdict on an entry in words."""
    return f"{verdict.claim}: {verdict.unfair or short(name, verdict)}"


def table(records: Iterable[Record], baseline: str) -> str:
    """Return one task at one place as a Markdown table, the fastest first, with verdicts against an entry."""
    found = rows(records)
    said = verdicts(found, baseline)
    return "\n".join([HEADER, *(row.line(said.get(name), name == baseline) for name, row in found.items())])


def page(records: Sequence[Record]) -> str:
    """Return the page: a section for each machine, task, place and kind of search."""
    tables = sorted(_parts(records).items())
    real = [found for (_, _, place, _), found in sections(records) if AT[place].world != "virtual"]
    return "\n\n".join([TITLE, *_answer(real), INTRODUCTION, *(_section(*at, own) for at, own in tables)]) + "\n"


def sections(records: Sequence[Record]) -> list[tuple[At, dict[str, Row]]]:
    """Return the entries of each machine, task, place and kind of search, in the order of the page."""
    return [(at, rows(own)) for at, own in sorted(_parts(records).items())]


def _parts(records: Sequence[Record]) -> dict[At, list[Record]]:
    found: dict[At, list[Record]] = defaultdict(list)
    for record in records:
        found[title_of(record["hardware"]), record["task"], record["place"], record["effort"]].append(record)
    return found


def _answer(tables: Sequence[Mapping[str, Row]]) -> Iterable[str]:
    """Yield whether elastic averaging wins, over all tables of real hosts."""
    said = [IN_WORDS.get(found[2].claim, found[2].claim) for each in tables if (found := elastic_verdict(each))]
    if said:
        counted = ", ".join(f"{number} {claim}" for claim, number in Counter(sorted(said)).items())
        yield (
            f"**The fastest elastic method, over the fastest of all other entries, in {len(said)} tables of real "
            f"hosts: {counted}.** In simulated conditions: [where elastic averaging is faster](regimes.md)."
        )


def _section(machine: str, task_name: str, place: str, effort: str, records: Sequence[Record]) -> str:
    task, found = TASKS[task_name], rows(records)
    simulated = AT[place].world == "virtual"
    crowded = ", oversubscribed" if AT[place].hosts > records[0]["hardware"]["cores"] else ""
    lines = [
        f"## {task.title} to {task.target:.1%}: {AT[place].title}{' (simulated)' if simulated else crowded}",
        "",
        f"{machine}. {effort[0].upper()}{effort[1:]}. {_step(task)}{_cost(records)}",
        "",
        *(f"- {sentence}" for sentence in _findings(found)),
        "",
        table(records, next((name for name in (baseline_at(AT[place]), *PEER_NAMES) if name in found), "")),
    ]
    return "\n".join(lines)


def _step(task: Task) -> str:
    if not task.searches_batch:
        batch = f"Batch {task.batches[0]} per worker. " if task.batches != (BATCH,) else ""
        passes = f"Passes, also those of evaluations, in {task.precision}. " if task.precision != "fp32" else ""
        inner = "Every worker steps by AdamW with weight decay 0.01. " if task.optimizer == "adamw" else ""
        return batch + passes + inner
    choices = ", ".join(map(str, task.batches))
    return (
        f"Every entry searches its batch per worker ({choices}), and DDP its accumulation among 1 and 2. Forward "
        f"and backward passes, also those of evaluations, are computed in {task.precision}. "
    )


def _cost(records: Sequence[Record]) -> str:
    hours = sum(record["wall_seconds"] or 0.0 for record in records) / 3600
    pace = [record["machine_ms"] for record in records]
    commits = Counter(record["commit"] for record in records)
    return (
        f"{len(records)} runs, {hours:.1f} h. A fixed piece of work took {min(pace):.1f} to {max(pace):.1f} ms "
        f"before them. Commit {', '.join(commits)}."
    )


def _findings(found: Mapping[str, Row]) -> Iterable[str]:
    """Yield what is asked of the table: the fastest over each peer, and elastic over other methods."""
    for peer in PEER_NAMES:
        said = verdicts(found, peer)
        if best := next((name for name in found if name in said and name not in PEER_NAMES), None):
            yield f"The fastest method of the catalogue, over {peer}: {told(best, said[best])}."
    if of_elastic := elastic_verdict(found):
        first, other, verdict = of_elastic
        yield (
            f"The fastest elastic method, over {other}, the fastest of all others: "
            f"{told(first, verdict)}, not corrected for the choice of these two."
        )


def elastic_verdict(found: Mapping[str, Row]) -> tuple[str, str, Verdict] | None:
    """Return the fastest elastic method, the fastest other entry, and the verdict on the first against it."""
    first = next((name for name in found if elastic(name)), None)
    other = next((name for name in found if not elastic(name)), None)
    if not first or not other:
        return None
    return first, other, verdicts({name: found[name] for name in (other, first)}, other)[first]


def _crossing(run: Record) -> Crossing:
    if run["time_to_target"] is None:
        return Crossing(run["train_seconds"] or 0.0, None, bool(run["diverged"]))
    return Crossing(run["before"], run["time_to_target"])


def _seconds(run: Record) -> str:
    if run["diverged"]:
        return "diverged"
    return f"{run['time_to_target']:.1f}" if run["time_to_target"] is not None else "missed"
