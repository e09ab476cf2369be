"""Invariants of the clocks in the journals of one run, for every method and both worlds.

The train clock is wall time without evaluations and checkpoints, the same on all ranks: while it stands, no rank
works. It starts after the evaluation of the initial weights, which is not in any rank's seconds.

The seconds of several processes agree only up to the wake-up latency of the operating system, hence a slack. MPI:
SLACK, plus SLACK_EACH for every time that the clock stood, a few time slices with more ranks than cores. Virtual
time: VIRTUAL_SLACK for every time that it stood, a hundred latencies of the audit's network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from audit.journal import PHASES, Journal

SLACK, SLACK_EACH, VIRTUAL_SLACK = 0.010, 0.005, 1e-4
WORK = ("data", "compute", "rebuild", "update")
INSIDE = 0.015
"""Minimum distance in seconds of a step's end from both ends of a standstill to count as inside."""
ROUNDING = 1e-6
"""Relative rounding error of sums of seconds in float64; columns in float32 are allowed 1e-5 more."""


def deciding(journals: list[Journal]) -> Journal:
    """Return the journal of the rank that evaluates and keeps the run's clock."""
    (found,) = [journal for journal in journals if journal.evaluations]
    return found


def on_the_way(journals: list[Journal]) -> list[Any]:
    """Return the evaluations during which the clock stood: all except that of the initial weights."""
    return [score for score in deciding(journals).evaluations if score["samples"]]


def stood(journals: list[Journal]) -> tuple[float, float]:
    """Return the seconds for which the clock of a run stood, from its records, and the slack."""
    decides = deciding(journals)
    seconds = [record["seconds"] for record in [*on_the_way(journals), *decides.checkpoints]]
    times = len(seconds) + 1
    slack = SLACK + SLACK_EACH * times if decides.start["world"] == "mpi" else VIRTUAL_SLACK * times
    return sum(seconds), slack


def off_for(journal: Journal, seconds: float) -> float:
    """Return the seconds that a rank may be off the clock: evaluations, checkpoints, and the test at the end."""
    return seconds + float(journal.done.get("test_seconds", 0.0))


def work(journal: Journal) -> float:
    """Return the seconds that a rank worked: data, compute, rebuild and update."""
    return float(sum(journal.done["phases"].get(phase, 0.0) for phase in WORK))


def work_until(journal: Journal, wall: float) -> float:
    """Return the seconds that a rank had worked in the steps completed by then."""
    ended = journal.rows["wall"] <= wall if journal.rows else slice(0)
    return float(sum(journal.rows[phase][ended].sum() for phase in WORK if phase in journal.rows))


def margin(journals: list[Journal]) -> float:
    """Return the run's clock minus the longest work of a worker, s; must not be negative."""
    return float(deciding(journals).done["clock"] - max(work(j) for j in journals if j.works))


def off_clock(journals: list[Journal]) -> float:
    """Return the largest wall - clock of a rank minus the evaluations' seconds; must not exceed the slack."""
    seconds = stood(journals)[0]
    return float(max(j.done["wall"] - j.done["clock"] - off_for(j, seconds) for j in journals))


def faults(journals: list[Journal], expects_target: bool = False) -> list[str]:
    """Return every invariant violated by these journals, with the numbers."""
    found = [*_beginning(journals), *_totals(journals), *_standstills(journals)]
    for rank, journal in enumerate(journals):
        found += [f"rank {rank}: {why}" for why in _alone(journal)]
    if expects_target:
        found += _target(journals)
    return found


def _totals(journals: list[Journal]) -> list[str]:
    found, (seconds, slack), clock = [], stood(journals), deciding(journals).done["clock"]
    for rank, journal in enumerate(journals):
        if journal.works and clock < work(journal) - slack:
            found.append(
                f"the run's clock, {clock:.4f} s, is less than the work of rank {rank}, {work(journal):.4f} s"
            )
        for score in on_the_way(journals) if journal.works else ():
            if (before := work_until(journal, score["wall"])) > score["clock"] + slack:
                found.append(
                    f"the clock stood at {score['clock']:.4f} s when rank {rank} had worked {before:.4f} s"
                )
                break
        off, allowed = journal.done["wall"] - journal.done["clock"], off_for(journal, seconds)
        if off > allowed + slack:
            found.append(f"rank {rank} was off the clock for {off:.4f} s, evaluations took {allowed:.4f} s")
        evaluating = journal.done["phases"]["evaluate"]
        if abs(evaluating - allowed) > slack:
            found.append(f"rank {rank} spent {evaluating:.4f} s on evaluations that took {allowed:.4f} s")
    return found


def _standstills(journals: list[Journal]) -> list[str]:
    """Return the steps that ended while the clock stood, including exchanges of a server."""
    found, scores = [], on_the_way(journals)
    for rank, journal in enumerate(journals):
        wall = journal.rows.get("wall", np.empty(0))
        spans = [(score["wall"] + INSIDE, score["wall"] + score["seconds"] - INSIDE) for score in scores]
        inside = [int(((wall > begin) & (wall < end)).sum()) for begin, end in spans]
        if any(inside):
            when = scores[next(k for k, steps in enumerate(inside) if steps)]["clock"]
            found.append(f"rank {rank} ended {sum(inside)} steps while the clock stood, first at {when:.4f} s")
    return found


def _alone(journal: Journal) -> list[str]:
    found, done = [], journal.done
    for name in ("clock", "wall"):
        records = [score[name] for score in journal.evaluations]
        for values in (journal.rows.get(name, np.empty(0)), np.array(records)):
            if len(values) and (np.any(np.diff(values) < 0) or values[-1] > done[name] + ROUNDING):
                found.append(f"its {name} runs backwards")
    total = sum(done["phases"].values())
    if abs(total - done["wall"]) > ROUNDING:
        found.append(f"its phases sum to {total:.6f} s, its wall time is {done['wall']:.6f} s")
    for phase in PHASES if journal.rows and not journal.start.get("restored_step") else ():
        rows = float(journal.rows[phase].sum()) if phase in journal.rows else 0.0
        if abs(rows - done["phases"].get(phase, 0.0)) > ROUNDING + 1e-5 * done["wall"]:
            found.append(f"its rows say {rows:.6f} s of {phase}, its end {done['phases'].get(phase, 0.0):.6f} s")
    return found


def _target(journals: list[Journal]) -> list[str]:
    first = deciding(journals).evaluations[0]
    if not first["reached"] or first["samples"]:
        return ["a target that any weights meet was not met before the first step"]
    late = [j.done["clock"] for j in journals if j.works and j.done["step"]]
    return [f"the run went on to {max(late):.3g} s"] if late else []


def _beginning(journals: list[Journal]) -> list[str]:
    """Return faults of the time of the initial weights' evaluation, which must be 0."""
    first = deciding(journals).evaluations[0]
    times = first["clock"], first["wall"]
    return (
        [f"the initial weights are scored at {max(times):.3g} s, not 0"]
        if not first["samples"] and any(times)
        else []
    )
