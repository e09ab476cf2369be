"""Calibrations of the emulated network over all sessions of a place: one line per measurement."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.evidence.view import View
from benchmarks.evidence.wording import table

HEADER = ("measured before a session", "median [least, most]", "at wire speed", "")


def network(view: View, place: str) -> Iterable[str]:
    """Yield the calibrations of a place's network as a table; nothing if its runs had none."""
    used = {run.session for run in view.runs if run.place == place}
    sessions = view.evidence.sessions
    found = [sessions[name]["calibrations"].get(place) for name in sorted(used & sessions.keys())]
    calibrations = [calibration for calibration in found if calibration]
    if not calibrations:
        return
    if len(calibrations) > 1:
        yield (
            f"Measured before each of {len(calibrations)} sessions of runs; the raw data contain each of them. "
            "Median of the sessions, least and most of all measurements."
        )
    else:
        yield "Measured before the runs."
    yield ""
    yield from table(HEADER, [*_pairs(calibrations), *_sums(calibrations)])
    yield ""


def _pairs(calibrations: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    pairs = [calibration["pair"] for calibration in calibrations if "pair" in calibration]
    if not pairs:
        return
    note, rate = pairs[0]["measured_with"], calibrations[0]["lab"]["bits_per_second"]
    latencies = [1e6 * pair["latency_seconds"] for pair in pairs]
    yield "latency between two hosts", _told(latencies, latencies, ".0f", "us"), "", note
    for size, ways in pairs[0]["bits_per_second"].items():
        for way in ways:
            rates = [pair["bits_per_second"][size][way] / 1e6 for pair in pairs]
            what = f"{int(size) / 1e6:.2f} MB between two hosts, {way}"
            yield what, _told(rates, rates, ".0f", "Mb/s"), f"{rate / 1e6:.0f} Mb/s with headers", note


def _sums(calibrations: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    sums = [calibration["collectives"] for calibration in calibrations if "collectives" in calibration]
    for collective in sums[0]["seconds"] if sums else ():
        those = [1e3 * seconds for found in sums for seconds in found["seconds"][collective]]
        medians = those[1::3]  # each session: least, median, most
        limit = sums[0]["limits"].get(collective)
        what = f"all-reduce of {sums[0]['bytes'] / 1e6:.2f} MB, {collective}"
        wire = f"{1e3 * limit:.1f} ms" if limit else ""
        yield what, _told(medians, those, ".1f", "ms"), wire, sums[0]["measured_with"]


def _told(medians: Sequence[float], everything: Sequence[float], form: str, unit: str) -> str:
    middle = f"{statistics.median(medians):{form}} {unit}"
    if len(everything) == 1:
        return middle
    return f"{middle} [{min(everything):{form}}, {max(everything):{form}}]"
