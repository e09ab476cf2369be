"""Tables and page of the comparison of output layers, from records alone."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict, compare_all
from hooke.comparison.wording import short

from benchmarks import speed
from benchmarks.evidence.machine import title_of
from benchmarks.slide import alike
from benchmarks.slide.conditions import BATCH, PROBLEMS, QUIET, SLIDE, known_of, left_out
from benchmarks.slide.spaces import size_of, told

Record = Mapping[str, Any]
TESTED = ("p_at_3", "p_at_5", "psp_at_1", "psp_at_5")
INTRODUCTION = f"""\
How the comparison is made, on one worker with batches of {BATCH} and row-wise Adagrad:

- Output layers are those of `xmlc-mlp` ([wide outputs](../wide-outputs.md)). Every set has the labels of the
  batch; in that of `slide` labels from tables fill what the uniform ones leave. Evaluation is exact, over all
  labels, off the clock.
- Not among them: `slide` with a set for each item, as in the paper (rates are below), and `full` with products in
  bf16. What is known of them:
  [decision 164](../decisions/0164-sets-in-the-libsvm-format-and-what-is-not-known-of-hashing.md).
- Every layer has the same number of trials with the same budgets by successive halving: settings are points of one
  scrambled sequence in its space ([tuning](../tuning.md)), so that trials of one number have one learning rate in
  all layers. What is searched is said for each problem. With so few trials, a verdict is on the settings that were
  found.
- Trials are judged on the validation part by the time to the target (P@1), and their seeds are in no result; the
  best setting is measured on fresh seeds.
- *Hashing* is, of several kinds of hash functions, the one that came first, and so has more trials than any other
  layer.
- Verdicts follow [the rule](../decisions/0020-one-rule-of-verdict.md): 95%, paired by seed, corrected for the
  number of comparisons in a table.
- Precisions of the table are those of the test part when a run ended: at the target, if it met that one."""
HEADER = (
    "| layer | chosen setting | trials that met the target | {unit} to the target, by seed | samples/s | P@1 | "
    "P@3 | P@5 | PSP@1 | PSP@5 | active labels | {verdict} |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


class Row:
    """One layer's trials and reported runs for one problem."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        self.name = name
        met: dict[int, bool] = defaultdict(bool)
        self.runs: dict[int, Record] = {}
        for record in records:
            if record["rung"] is None:
                self.runs[record["seed"]] = record
            else:
                met[record["trial"]] |= record["result"]["time_to_target"] is not None
        self.trials, self.met = len(met), sum(met.values())

    def crossings(self, unit: str) -> dict[int, Crossing]:
        """Return by seed when the target was met, in `seconds` or `samples`."""
        return {seed: _crossing(run["result"], unit) for seed, run in self.runs.items()}

    def mean(self, unit: str) -> float | None:
        """Return the geometric mean of what the target took; None if a seed missed it, or there is none."""
        found = [crossing.by for crossing in self.crossings(unit).values()]
        known = [value for value in found if value]
        return statistics.geometric_mean(known) if known and len(known) == len(found) else None

    def order(self, unit: str) -> tuple[int, float]:
        """Return a key that sorts the first ones to meet the target first."""
        known = [value for each in self.crossings(unit).values() if (value := each.by)]
        return len(self.runs) - len(known), statistics.geometric_mean(known) if known else 0.0

    def line(self, unit: str, said: str) -> str:
        """Return the row of the table."""
        results = [run["result"] for run in self.runs.values()]
        rates = [r["samples"] / r["train_seconds"] for r in results if r["train_seconds"]]
        first = next(iter(self.runs.values()))
        setting = {name: f"{v:.3g}" if isinstance(v, float) else v for name, v in first["setting"].items()}
        cells = [
            self.name,
            ", ".join(f"{n} {v}{' (edge)' if n in first['edges'] else ''}" for n, v in setting.items()),
            f"{self.met} of {self.trials}",
            ", ".join(_told(run["result"], unit) for _, run in sorted(self.runs.items())),
            f"{statistics.fmean(rates):,.0f}" if rates and unit == "seconds" else "-",
            _percent([r["test_accuracy"] for r in results]),
            *(_percent([_test(r, name) for r in results]) for name in TESTED),
            _count([_last(r, "active_labels") for r in results]),
            said,
        ]
        return f"| {' | '.join(cells)} |"


def rows(records: Iterable[Record], unit: str) -> dict[str, Row]:
    """Return the layers that have reported runs, the first to meet the target first."""
    of_layer: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        of_layer[record["layer"]].append(record)
    found = [row for name, own in of_layer.items() if (row := Row(name, own)).runs]
    return {row.name: row for row in sorted(found, key=lambda row: row.order(unit))}


def hashing(found: Mapping[str, Row]) -> str:
    """Return the hashed layer that was the first to meet the target; empty without any."""
    return next((name for name in found if name.startswith(SLIDE)), "")


def verdicts(found: Mapping[str, Row], unit: str, baseline: str) -> dict[str, Verdict]:
    """Return the verdict on every other layer over one; none without the baseline."""
    if baseline not in found:
        return {}
    others = {name: row.crossings(unit) for name, row in found.items() if name != baseline}
    return compare_all(found[baseline].crossings(unit), others)


def quiet(records: Iterable[Record]) -> bool:
    """Return whether the machine was idle before every reported run, so that its times mean something."""
    return all(record["busy"] <= QUIET for record in records if record["rung"] is None)


def page(
    records: Sequence[Record],
    mapped: Sequence[Record] = (),
    wired: Sequence[Record] = (),
    beside: Sequence[Record] = (),
) -> str:
    """Return the page: its first sentences say whether and where hashing pays.

    `beside`: results of `benchmarks.slide.device`.
    """
    sections: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        sections[record["problem"], record["size"], title_of(record["hardware"])].append(record)
    alone = [record for record in beside if record["kind"] == "curve" and record["place"] == "cores"]
    beside = [record for record in beside if record not in alone]
    from benchmarks.slide.summary import head

    parts = [
        "# Output layers: does hashing pay?",
        "<!-- written by `python -m benchmarks.slide publish` -->",
        *head(sections, mapped, beside, alone),
        INTRODUCTION,
        *left_out({problem for problem, _, _ in sections}),
        *(_section(*at, own) for at, own in sorted(sections.items())),
    ]
    if len(sections) > 1:
        from benchmarks.slide.beside import tables

        parts += tables(sections)
    if mapped:
        from benchmarks.slide.region import table as region

        parts.append(region(mapped))
    if beside:
        from benchmarks.slide.device_page import table as device

        parts.append(device(beside))
    if alone:
        from benchmarks.slide.curve_page import by_samples

        parts.append(by_samples(alone))
    if wired:
        from benchmarks.slide.wire_page import table as wire

        parts.append(wire(wired))
    return "\n\n".join(parts) + "\n"


def unit_of(records: Sequence[Record]) -> str:
    """Return what is compared: seconds, or samples where other programs disturbed the times."""
    return "seconds" if quiet(records) else "samples"


def _section(problem_name: str, size: str, machine: str, records: Sequence[Record]) -> str:
    problem, unit = PROBLEMS[problem_name], unit_of(records)
    found = rows(records, unit)
    said = verdicts(found, unit, hashing(found))
    reported = [record for record in records if record["rung"] is None]
    over = f"verdict over {hashing(found) or SLIDE}" + ", samples" * (unit != "seconds")
    lines = [
        f"## {problem.title}",
        "",
        f"{problem.about}{' ' * bool(problem.about)}{machine}. Target: P@1 {records[0]['target']:.1%} on "
        f"{problem.parameters['validation_items']:,} validation items. {records[0]['trials']} trials per layer, "
        f"{len({r['seed'] for r in reported})} "
        f"reported seeds, size `{size}`; {len(records)} runs. Commit "
        f"{', '.join(sorted({r['commit'] for r in records}))}. {_pace(records)} {told(records)} "
        f"{known_of(r['commit'] for r in records)}".rstrip(),
        "",
        HEADER.format(unit=unit, verdict=over),
        *(row.line(unit, verdict_of(name, said)) for name, row in found.items()),
    ]
    hashed = [row for name, row in found.items() if name.startswith(SLIDE)]
    lines += [line for row in hashed for line in _tables(row)]
    lines += ["", at_one_rate] if (at_one_rate := alike.table(records)) else []
    return "\n".join(lines)


def verdict_of(name: str, said: Mapping[str, Verdict]) -> str:
    """Return a layer's verdict as text."""
    return f"{said[name].claim}: {short(name, said[name])}" if name in said else "baseline" if said else "-"


def _pace(records: Sequence[Record]) -> str:
    if quiet(records):
        return speed.told(record["machine_ms"] for record in records)
    most = max(record["busy"] for record in records if record["rung"] is None)
    return (
        f"**Other programs used up to {most:.0%} of the processors before these runs: no times are reported. "
        "Samples to the target and precisions do not depend on the load, but the choice of trials did.**"
    )


def _tables(row: Row) -> list[str]:
    """Return what the hash tables did."""
    results = [run["result"] for run in row.runs.values()]
    recall, stored = (_percent([_last(r, name) for r in results]) for name in ("table_recall", "table_stored"))
    largest, mean, builds = (
        _count([_last(r, name) for r in results]) for name in ("bucket_largest", "bucket_mean", "table_builds")
    )
    shares = [s / r["train_seconds"] for r in results if (s := _last(r, "table_seconds")) and r["train_seconds"]]
    spent = f", which took {statistics.fmean(shares):.1%} of the train clock" if shares else ""
    return [
        "",
        f"Tables of `{row.name}` at the end: recall of the 5 best labels {recall}, {stored} of the labels stored, "
        f"largest bucket {largest}, mean bucket {mean}; built {builds} times{spent}.{_retrieved(results)}",
    ]


def idle(row: Row) -> float:
    """Return the labels of a step where those of the batch and the uniform ones left tables no room; else 0."""
    results = [run["result"] for run in row.runs.values()]
    active, retrieved = (_known(_last(r, name) for r in results) for name in ("active_labels", "retrieved_labels"))
    most = max(map(size_of, row.runs.values()), default=0)
    none = max(retrieved) < 1 if retrieved else bool(active) and min(active) > most
    return statistics.fmean(active) if none else 0.0


def _retrieved(results: Sequence[Mapping[str, Any]]) -> str:
    known = _known(_last(r, "retrieved_labels") for r in results)
    return f" {statistics.fmean(known):,.0f} labels of a step came from tables alone." if known else ""


def _crossing(result: Mapping[str, Any], unit: str) -> Crossing:
    clock = "train_seconds" if unit == "seconds" else "samples"
    by = result["time_to_target"] if unit == "seconds" else result["samples_to_target"]
    if by is None:
        return Crossing(result[clock] or 0.0, None, bool(result["diverged"]))
    before = [each[clock] for each in result["evaluations"] if each["samples"] < result["samples_to_target"]]
    return Crossing(max(before, default=0.0), by)


def _told(result: Mapping[str, Any], unit: str) -> str:
    if result["diverged"]:
        return "diverged"
    if result["time_to_target"] is None:
        return "missed"
    return f"{result['time_to_target']:.1f}" if unit == "seconds" else f"{result['samples_to_target']:,}"


def _test(result: Mapping[str, Any], name: str) -> float | None:
    return (result.get("test_further") or {}).get(name)


def _last(result: Mapping[str, Any], name: str) -> float | None:
    """Return the last value of a further metric of the evaluations."""
    found = [each["further"][name] for each in result["evaluations"] if name in each.get("further", {})]
    return found[-1] if found else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _percent(values: Iterable[float | None]) -> str:
    known = _known(values)
    return f"{statistics.fmean(known):.1%}" if known else "-"


def _count(values: Iterable[float | None]) -> str:
    known = _known(values)
    return f"{statistics.fmean(known):,.0f}" if known else "-"
