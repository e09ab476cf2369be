"""The page docs/results/heterogeneous.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks import speed
from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import beside, causes, choosing, claims, dispatching, findings, for_real, shape, short
from benchmarks.unequal.conditions import CONDITIONS, CROSSING, MANY, SEEDS, SLOW, TRIALS, TURN, Kind, of_kind
from benchmarks.unequal.entries import ENTRIES, LEAST_RATE, MOST_RATE, SPLIT, SYNC, entries
from benchmarks.unequal.panels import CHANGED, SURVIVED
from benchmarks.unequal.runs import Run, complete, results
from benchmarks.unequal.tasks import TASKS

TITLE = """\
# Unequal workers

<!-- written by `python -m benchmarks.unequal publish` -->
"""
ABOUT = """\
Methods by the time to a target on the validation part, each at the best of as many trials. Most of it is
simulated: seconds of a virtual clock, with assumed constants of devices ([how](#how-it-was-measured)). Settings
and shares of the work in every cell are on [a page of their own](heterogeneous-cells.md).
"""
HEAD = f"""\
**What is called simulated has seconds of a virtual clock.** Gradients, messages and updates are computed by the
code of the methods; a gradient takes 20 us per sample and 50 us, over the worker's speed, with 5% jitter; a
message 10 us and 0.8 ns per byte. Boxes have the device profiles of `hooke.spec.devices`, whose constants are
assumptions, not measurements. Simulated seconds do not say how fast a real machine is.

Every entry has {TRIALS} trials in every condition: one learning rate from each of {TRIALS} equal parts of
{LEAST_RATE:g} to {MOST_RATE:g} on a logarithmic scale (where sizes differ, that of the largest update), and
batches and own settings drawn at random (`benchmarks/unequal/entries.py`), the same in every condition.
What a worker does between two exchanges (steps of a period; the batches of which an update consists) is drawn for
two workers, and divided by {MANY} / 2 on {MANY} CPUs, so that all together take as many samples between exchanges:
methods with periods or sizes would else have a few exchanges in a budget. Several devices keep it, because a small
batch costs them their overhead. The three elastic methods on {MANY} CPUs have the same trials. The trial that
meets the target first is run again with {len(SEEDS)} seeds that no trial had; in virtual time a trial ends once it
is behind the best of its entry. Targets are those of the validation part. Data are handed out, every example once
per epoch. No entry has momentum in its local steps; Adaptive SGD may have momentum of the merged model, and asks
for each update (`at_once: 0`, which was its default when these were run).

Seconds are medians over the seeds, with the least and the largest; *missed*: seeds that did not meet the target in
the budget, which count as longer than all others. *over Sync SGD*: geometric mean of the ratios by seed with its
95% interval, above 1 faster; a time is known to lie between two evaluations; in bold type if the two are told
apart, corrected for the entries of the table. {TRIALS} trials are few: another draw may find a better setting for
any entry. A best of several methods is chosen by the seconds that are shown, and looks better than it is.
Conditions in which an entry is incomplete are left out; `benchmarks.unequal run` goes on. On the
[page of the cells](heterogeneous-cells.md) *computing* is the share of a worker's time in which it computed.

Where speeds are equal, all sizes of Adaptive Hogbatch grow to the largest: who is first to update in a round is
ahead of all others, and nobody falls behind all of them.
"""
SHAPES = """\
Ma and Rusu (arXiv 2004.08771) report, by a reading of their figures, that the CPU makes 85% to 99% of the updates
with static sizes and 52% to 81% with adaptive ones; and that static sizes are better on low-dimensional data,
adaptive ones on sparse high-dimensional data (on w8a with a K80, about 9 s and 4.5 s). Of their data covtype,
real-sim and delicious are not at hand: `libsvm-mlp` and `xmlc-mlp` read such files, and nothing was measured on
them. finna-50 has as many features as real-sim, and more classes: records of libraries with the 50 most frequent
of their subjects and the 20,000 most frequent words (`benchmarks.unequal derive`). Hidden layers are rectified
here; those of their released code are sigmoids, which `libsvm-mlp` has, too. Their CPU counts one
update for each of its threads and ours one for each batch, so that shares cannot be compared as numbers; the CPU
here is one simulated worker without threads. Adaptive sizes begin at 1 for every worker in these boxes, and grow.
With a real device they begin at the largest and keep a quarter of it (`run --gpu`), which is a reading of the
paper's bounds that keep a GPU at work: shares of updates of the two are not comparable.
"""
SURVIVAL = f"""\
{CONDITIONS["equal"].workers} CPUs, simulated: median seconds to the target; then how many times as long as with
equal speeds the same method takes, with the 95% interval of each by itself, uncorrected. Each method is tuned anew
in every column, with as many trials: the draws of two settings are in these ratios, too. With equal speeds, jitter
or stragglers alone Weighted Sync SGD is Sync SGD: what differs between them there is noise of tuning and seeds.
"""
SEEN = (
    f"Virtual seconds of {SYNC} over those of each method, with intervals, in clusters of "
    f"{CONDITIONS['equal'].workers} and of 2 CPUs, by the spread of speeds; filled: told apart from {SYNC}"
)
OVER_SYNC = f"""\
![{SEEN}](heterogeneous/{SURVIVED})

The figure does not show which method is best, as each is compared with {SYNC} alone, nor a real cluster, another
task than digits, or speeds that drift during a run.
"""
CHANGES = {
    "crossing": f"one half begins at speed 1, the other at {SLOW:g}, and within {CROSSING:g} s each drifts, "
    "linearly, to the speed at which the other began; all together are as fast as before",
    "moving": f"one of them is slow at a time, every {TURN:g} s another one, at once",
}
CHANGING = f"""\
{SPLIT} is split by the speeds at the beginning, as a measurement before the run tells them. Changes are at times
of the clock: a method that meets the target early sees fewer of them. Trials are those of the other clusters of
{MANY} CPUs. The cluster with one slow worker is in the figure for comparison.
"""
SEEN_CHANGING = (
    f"Virtual seconds of {SYNC} over those of each method, with intervals, in clusters of {MANY} CPUs: one of "
    f"them slow all the time, and speeds that change; filled: told apart from {SYNC}"
)
OF_CHANGES = f"![{SEEN_CHANGING}](heterogeneous/{CHANGED})\n"
REAL = """\
Two processes on this machine, of which one sleeps after its gradients so that it is slower by the given factor; a
method with a server has a third process, which takes its time from the cores of the two. Seconds are real.
"""


def page(
    records: Mapping[Run, Record], costs: dispatching.Costs, with_cpu: Mapping[Run, Record] | None = None
) -> str:
    """Return the page; `with_cpu`: the records of `beside`."""
    pairs = findings.found_in(records, "cpus", "box")
    chosen = choosing.choice(records, claims.noise(records))
    lines = [TITLE, *([chosen, ""] if chosen else []), ABOUT, *short.first(records, with_cpu or {})]
    lines += ["## What was asked", "", *findings.answers(records, costs)]
    lines += causes.told(records, pairs)
    lines += [
        "",
        "### The fastest worker alone, and with the other one (simulated)",
        "",
        *findings.gains(records, pairs),
        *beside.section(with_cpu or {}),
    ]
    lines += ["", "### The papers' findings", "", SHAPES, *shape.shapes(records)]
    if findings.found_in(records, "spread"):
        lines += ["", "## Which method survives an unequal cluster best (simulated)", "", SURVIVAL, OVER_SYNC]
        lines += findings.survival(records, "spread")
    lines += _changing(records)
    lines += ["", *summary(records, "Two workers (simulated)", "cpus", "box"), *_several(records), *_real(records)]
    lines += [*for_real.section(records), "## How it was measured", "", HEAD]
    return "\n".join(lines).rstrip() + "\n"


def _changing(records: Mapping[Run, Record]) -> list[str]:
    if not (cells := findings.found_in(records, "changing")):
        return []
    told = [f"*{CONDITIONS[at].title}*: {CHANGES[at]}" for _, at in cells]
    about = f"The speeds of {MANY} CPUs change. {'; '.join(told)}."
    lines = ["", "### Speeds that change during a run (simulated)", "", about, "", CHANGING, OF_CHANGES]
    return [*lines, *findings.survival(records, "changing")]


def _several(records: Mapping[Run, Record]) -> list[str]:
    if not (cells := findings.found_in(records, "devices")):
        return []
    return [*summary(records, "Several devices (simulated)", "devices"), *findings.gains(records, cells), ""]


def _real(records: Mapping[Run, Record]) -> list[str]:
    if not (cells := findings.found_in(records, "real")):
        return []
    runs = [
        each for cell in cells for name in entries(cell.condition) for each in results(records, *cell, name) or ()
    ]
    machines = " and ".join(sorted({each["machine"] for each in runs}))
    told = [REAL, f"{machines}. {speed.told(each['machine_ms'] for each in runs)}", ""]
    found = [*summary(records, "Two workers, for real", "real", said=told), *_achieved(records, cells)]
    return [*found, *findings.gains(records, cells), ""]


def _achieved(records: Mapping[Run, Record], cells: Sequence[findings.Cell]) -> Iterator[str]:
    """Yield the speed of the slowed process, as it was measured, over all tasks."""
    for condition in dict.fromkeys(cell.condition for cell in cells):
        there = [cell for cell in cells if cell.condition == condition]
        runs = [
            each for cell in there for name in entries(condition) for each in results(records, *cell, name) or ()
        ]
        shares = [share for each in runs for share in each.get("slowed_to", ()) if share is not None]
        if shares:
            asked = 1 / max(CONDITIONS[condition].speeds)
            yield f"Slowed to {asked:g}: measured {min(shares):.3f} to {max(shares):.3f} in {len(shares)} runs."
            yield ""


def summary(records: Mapping[Run, Record], title: str, *kinds: Kind, said: Sequence[str] = ()) -> Iterator[str]:
    """Yield a table of the ratios to the baseline: entries by conditions, over the tasks."""
    shown = [each for each in of_kind(*kinds) if any(complete(records, task, each) for task in TASKS)]
    yield from (f"## {title}", "", *said)
    yield f"Ratio of {SYNC}'s seconds to those of the entry, geometric mean over seeds and tasks with the 95%"
    yield "interval of each by itself: of one task by seed, of several by random effects. *≥*, *≤*, *open*: a"
    yield f"target was missed; *wide*: the ends of the interval are more than a factor of {claims.WIDE:g} apart."
    yield ""
    names = [name for name, entry in ENTRIES.items() if set(entry.kinds) & set(kinds) and name != SYNC]
    rows = ((name, *(_mean_ratio(records, each, name) for each in shown)) for name in names)
    yield from table(("entry", *(CONDITIONS[each].title for each in shown)), rows)
    yield ""


def _mean_ratio(records: Mapping[Run, Record], condition: str, entry: str) -> str:
    if entry not in entries(condition):
        return ""
    cells = [(task, condition) for task in TASKS if complete(records, task, condition)]
    return claims.told(claims.over_several(records, cells, entry, SYNC))
