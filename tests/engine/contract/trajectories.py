"""Pins how every method moves on one small problem. Anew: `make algorithms`.

Losses of the center at every evaluation, and the last center and weights of worker 0, in virtual time with 3
workers (4 where 3 are impossible, 1 for a sequential method). Not bit by bit: processors differ in the last one.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, Played, play_virtual
from tests.engine.contract.expected import center_of

PLACE = Path(__file__).parent / "fixtures"


def pinned() -> list[Case]:
    """Return the case of every method."""
    found = {case.algorithm: case for case in reversed(suite.defaults((3, 4)))}
    return [found[name] for name in sorted(found)]


def trajectory(case: Case, reports: list[Played]) -> dict[str, Any]:
    """Return what is pinned of a case."""
    scores = (reports[-1] if suite.served(case) else reports[0]).scores
    return {
        "parameters": dict(case.parameters),
        "workers": case.workers,
        "samples": [samples for samples, _ in scores],
        "loss": [float(f"{loss:.8g}") for _, loss in scores],
        "center": [float(f"{value:.8g}") for value in center_of(reports)],
        "worker 0": [float(f"{value:.8g}") for value in reports[0].weights],
    }


def main() -> None:
    """Write all fixtures."""
    PLACE.mkdir(exist_ok=True)
    for case in pinned():
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(trajectory(case, play_virtual(case, Path(folder))), indent=1)
        (PLACE / f"{case.algorithm}.json").write_text(text + "\n")
