"""Makes docs/algorithms.md: `python -m tests.engine.contract.document > docs/algorithms.md`.

The text is that of the docstrings. What was verified is collected by pytest from the `property` marks of the
contract suite and of the tests of the loop, and from the cases that they are parametrized with: nothing is listed
by hand.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hooke.catalogue.algorithm import Algorithm, catalogue
from hooke.methods.elastic import Elastic

from tests.engine.contract.cases import Case
from tests.engine.loop.setups import SETUPS

SUITES = (Path(__file__).parent, Path(__file__).parents[1] / "loop")
"""Folders of tests that say by their marks which property of which method they are about."""

PROPERTIES = {
    "equations": "weights of every worker, and center, equal an independent NumPy float64 implementation",
    "pinned": "the trajectory is the one on file, to 1e-6",
    "I1": "exchanges conserve the sum of all weights and the center",
    "I2": "unequal rates of worker and center (chips, identical workers) conserve the weighted sum",
    "P1": "with one worker it is the sequential method, or equals the other elastic ones, bit by bit",
    "P2": "without elasticity the center rests and every worker is alone, bit by bit",
    "P3": "without its setting a preset is the method that it is a preset of, bit by bit",
    "P4": "without gradients all meet at (sum x_i + c) / (P + 1), at the predicted rate",
    "P5": "identical workers stay identical",
    "P6": "closed form on a quadratic",
    "P7": "placements and overlap move no bit, under random delays",
    "P8": "the same seed gives the same bits, whatever the delays, in both worlds",
    "P9": "the reference follows the observed order of exchanges, and no other; a replay of it has every bit",
    "P10": "closed form of a round-robin sweep over frozen workers",
    "P11": "exchanges in rank order; or: a slow worker lowers only its own rate",
    "P12": "staleness is that of the order of exchanges: P - 1 of equal workers; its edge of stability",
    "P13": "lost mass: none with atomic additions; some with plain stores, and it is said",
    "P14": "nobody sees a torn center",
    "P15": "unlike workers rest at the predicted, biased point",
    "P16": "just inside the stability edge it decays, just outside it grows",
    "P17": "at its limits it is a simpler method",
    "P18": "packing moves no bit, and changes the number of messages alone",
    "P19": "bytes, messages and virtual seconds are those of the cost model",
    "P20": "phases sum to the wall time",
    "P21": "the number of exchanges with a period",
    "P22": "evaluation moves no bit",
    "P23": "stopped and restarted: no sample lost or taken twice; bit by bit where it is deterministic",
    "P24": "3, 5 and 6 workers; NaN or infinity on one worker is named and goes nowhere",
}
"""Key -> what a passing test has shown."""

HEAD = """\
# Algorithms

<!-- Made by `python -m tests.engine.contract.document > docs/algorithms.md`: change the docstrings instead. -->

What `hooke algorithms` lists; each is one file in `engine/hooke/algorithms/`, whose docstring is the text below.
P workers, worker i holds x_i, c is the center, g_i a mini-batch gradient of worker i, lr the learning rate,
a = lr rho the moving rate; A + |W| B is the time of one message of all weights. All right-hand sides are old
values unless a text says otherwise.

**Moving rate.** Elastic methods take it as `rho` (a = lr rho), as `alpha` (a itself) or as `beta` (a = beta / P,
or beta / (P tau) with `beta_per`). The journal says the value; one that reaches the method's stability bound gives
a warning that says the bound.

**Momentum** is a parameter of every method (of DiLoCo's inner `sgd`): none, heavy ball (gradient at x) or Nesterov
(at x + mu v). A worker's velocity never travels, and is part of checkpoints, like its generators and the running
statistics of batch normalisation.

**Presets.** A published method that differs from another only by a setting is that method with another default.

**How vectors travel** composes with every method: packing, collective and wire type are settings of the run. Sums
are formed in one documented order, so packings and the tree and halving schedules give the same bits.

**Two worlds.** The same file runs under MPI and in virtual time, where every rank is a thread, messages occupy
one-port links and the time of a gradient is drawn from a seeded distribution. Virtual seconds are always labelled
simulated.

**Verified** lists, for each method, what the tests of `tests/engine/contract` and `tests/engine/loop` are about,
in which world and with how many workers. I1, I2 and P1 to P24 are named there; *MPI* is the real library, with one
process per rank. No method has different rates for worker and center as parameters: I2 is about those in which
they come about, chips whose parts share a spring, and identical workers, which are one worker to the center.

"""


class Collector:
    """A pytest plugin: (algorithm, property) -> world -> worker counts, of all collected tests."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look at every collected test."""
        for item in session.items:
            parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
            for mark in item.iter_markers("property"):
                world = parameters.get("world", mark.kwargs.get("world", "virtual"))
                for name, workers in subjects(parameters, mark.kwargs):
                    for key in mark.args:
                        self.found[name, key][world].add(workers)


def subjects(parameters: dict[str, Any], stated: dict[str, Any]) -> list[tuple[str, int]]:
    """Return (algorithm, workers) of what a test is about: its case, setup or names, or what its mark states.

    Methods that are written in the tests themselves are in no catalogue, and nothing is said of them.
    """
    if isinstance(case := parameters.get("case"), Case):
        return [(case.algorithm, case.workers)]
    if setup := SETUPS.get(parameters.get("name", "")):
        return [(setup.algorithm, setup.workers)] if setup.algorithm in catalogue() else []
    names = [parameters[key] for key in ("name", "this", "algorithm") if parameters.get(key) in catalogue()]
    workers = parameters.get("workers", stated.get("workers", 1))
    return [(name, workers) for name in (*names, *stated.get("of", ()))]


def collected() -> dict[tuple[str, str], dict[str, set[int]]]:
    """Return what the suites' tests are about, by `pytest --collect-only`."""
    collector = Collector()
    options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = pytest.main([*options, *map(str, SUITES)], plugins=[collector])
    if status:
        raise SystemExit(f"the tests cannot be collected:\n{said.getvalue()}")
    return collector.found


def overview() -> list[str]:
    """Return the table of all methods."""
    rows = [
        "| name | method | ranks | goes on by | same seed, same bits | without a bad worker |",
        "|---|---|---|---|---|---|",
    ]
    steps = {
        "synchronous": "all alike",
        "parameter-server": "the server's grants",
        "lock-free": "a common counter",
    }
    for name, kind in catalogue().items():
        ranks = "1" if kind.max_workers == 1 else "P + 1" if kind.servers else "P"
        same, drop = "yes" if kind.deterministic else "virtual world", "goes on" if kind.may_drop else "ends"
        rows.append(
            f"| [`{name}`](#{name}) | {kind.title()} | {ranks} | {steps[kind.coordination]} | {same} | {drop} |"
        )
    return [*rows, ""]


def section(name: str, kind: type[Algorithm], found: dict[tuple[str, str], dict[str, set[int]]]) -> list[str]:
    """Return the text of one method and its table of verified properties."""
    _, equations, *rest = (inspect.getdoc(kind) or "").split("\n\n")
    lines = [f"## {name}", "", f"**{kind.title()}**", "", "```", inspect.cleandoc("\n" + equations), "```", ""]
    parent = kind.__mro__[1]
    if parent in catalogue().values() and kind.run is parent.run:  # type: ignore[attr-defined]
        lines += [f"A preset of `{parent.id()}`, whose options it has.", ""]  # type: ignore[attr-defined]
    for paragraph in rest:
        head, colon, tail = paragraph.partition(":")
        bold = colon and head in ("Readings", "Reference")
        lines += [f"**{head}:**{tail}" if bold else paragraph, ""]
    if issubclass(kind, Elastic):
        method = kind()
        lines += [f"Stability bound of a without gradients: {method.bound(4):.3g} on 4 workers.", ""]
    lines += ["| verified | virtual world, P = | MPI, P = |", "|---|---|---|"]
    for key, meaning in PROPERTIES.items():
        if worlds := found.get((name, key)):
            label = meaning if key in ("equations", "pinned") else f"{key}: {meaning}"
            counts = [", ".join(map(str, sorted(worlds.get(world, ())))) for world in ("virtual", "mpi")]
            lines.append(f"| {label} | {counts[0]} | {counts[1]} |")
    return [*lines, ""]


def document() -> str:
    """Return the whole document."""
    found = collected()
    unknown = {key for _, key in found} - set(PROPERTIES)
    if unknown:
        raise SystemExit(f"properties without a meaning in {__name__}: {', '.join(sorted(unknown))}")
    lines = overview()
    for name, kind in catalogue().items():
        lines += section(name, kind, found)
    return HEAD + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
