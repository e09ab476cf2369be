"""The first lines of the page: what was asked first of all, and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.common.records import Record
from benchmarks.unequal import beside, claims, for_real
from benchmarks.unequal.conditions import CONDITIONS, MANY, Kind, of_kind
from benchmarks.unequal.entries import ENTRIES, FASTEST, SYNC, entries
from benchmarks.unequal.findings import Cell, found_in, gain
from benchmarks.unequal.runs import Run, complete
from benchmarks.unequal.shape import counted
from benchmarks.unequal.tasks import TASKS

UNEQUAL: tuple[Kind, ...] = ("spread", "changing")
ASKED = "Is the best heterogeneous method faster than the device alone?"
ONLY = """\
- **What only a GPU can tell**: what a batch costs beside its samples, and an exchange beside a pass. Boxes and
  devices here have assumed constants. Measured is [one GPU beside CPU
  workers](#for-real-one-gpu-and-4-threads-without-locks); several GPUs, a K80 or a V100, and sparse rows on a
  device are not."""


def first(records: Mapping[Run, Record], noisy: float, with_cpu: Mapping[Run, Record]) -> Iterator[str]:
    """Yield an answer for each question; `with_cpu`: the records of `beside`."""
    if boxes := found_in(records, "box"):
        yield f"- **{ASKED}** {_of_boxes(records, boxes, noisy)}"
        yield from beside.answer(with_cpu)
    if real := [(task, at) for at in of_kind("gpu") for task in TASKS if complete(records, task, at)]:
        yield f"  {_of_devices(records, real, noisy)}"
    if boxes:
        yield f"- **Is the shape of the papers' findings confirmed?** {_shape(records)}"
    if clusters := [cell for cell in found_in(records, *UNEQUAL) if cell.condition != "equal"]:
        yield f"- **Which method survives an unequal cluster best?** {_survivors(records, clusters, noisy)}"
    yield ONLY
    yield ""


def _of_boxes(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    """Return it of simulated devices beside a CPU, each method of the least median."""
    ways, ratios = Counter[int](), []
    for cell in cells:
        names = [each for each in entries(cell.condition) if ENTRIES[each].heterogeneous]
        said = claims.over(records, cell, FASTEST, names)
        found = gain(records, cell)
        ways[claims.apart(said[found.method], noisy) if found.method in said else 0] += 1
        ratios += [found.ratio] if found.ratio else []
    limits = [gain(records, cell).limit for cell in cells]
    took = f"takes {1 / max(ratios):.2f} to {1 / min(ratios):.2f} times as long" if ratios else "missed the target"
    return (
        "Simulated, a device beside a CPU: the method of the least median is told apart as faster in "
        f"{ways[1]} of {len(cells)} cells, as slower in {ways[-1]}. By medians it {took}, and the CPU adds "
        f"throughput to {min(limits):.2f} to {max(limits):.2f}x."
    )


def _of_devices(records: Mapping[Run, Record], cells: Sequence[tuple[str, str]], noisy: float) -> str:
    """Return it of real devices."""
    ways = Counter[int]()
    for task, at in cells:
        names = [each for each in entries(at) if not ENTRIES[each].alone]
        said = claims.over(records, (task, at), FASTEST, names).get(for_real.answer(records, task, at).method)
        ways[0 if said is None else claims.apart(said, noisy)] += 1
    rates = CONDITIONS[cells[0][1]].rates
    device = str((rates and rates.about or {}).get("device", "a device")).partition(",")[0]
    return (
        f"For real ({device}): faster in {ways[1]} of {len(cells)} networks, slower in {ways[-1]}, not told apart "
        f"in {ways[0]}."
    )


def _shape(records: Mapping[Run, Record]) -> str:
    """Return whether the papers' findings hold in the boxes."""
    found = counted(records)
    data = "told apart" if found.faster or found.slower else "not shown"
    return (
        f"With static sizes the CPU makes most of the updates in {found.most} of {found.known} simulated boxes: "
        "the faster the device, the fewer ([table](#the-papers-findings)). That adaptive sizes are better on "
        f"sparse data with many features is {data}: faster than static ones in {found.faster} cells, slower in "
        f"{found.slower}."
    )


def _survivors(records: Mapping[Run, Record], cells: Sequence[Cell], noisy: float) -> str:
    """Return which methods are told apart as faster than the synchronous step in most clusters."""
    ways = Counter[str]()
    for cell in cells:
        said = claims.over(records, cell, SYNC)
        ways.update(name for name, each in said.items() if claims.apart(each, noisy) > 0)
    if not ways:
        return f"None is told apart from {SYNC} in {len(cells)} simulated clusters of {MANY} CPUs."
    names = "; ".join(f"{name} in {count}" for name, count in ways.most_common())
    return f"Told apart from {SYNC} as faster, of {len(cells)} simulated clusters of {MANY} CPUs: {names}."
