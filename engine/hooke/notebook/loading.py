"""A comparison from the folder in which it was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hooke.comparison import journals
from hooke.comparison.figures import FINISHED, RunFigures
from hooke.errors import ArgumentError, JournalError
from hooke.notebook.result import Comparison
from hooke.notebook.running import ComparedRun
from hooke.notebook.saving import INDEX
from hooke.notebook.searches import MethodSearch
from hooke.spec.specification import ExperimentSpec, RunSpec
from hooke.spec.states import RunState


def load(folder: str | Path) -> Comparison:
    """Return a comparison that `Comparison.save` has written: verdict, tables and figure are made of its journals.

    Model and data are not part of it. Raises ArgumentError if the folder has no complete comparison.
    """
    try:
        place = Path(folder).expanduser()
        spec = ExperimentSpec.model_validate_json((place / "experiment.json").read_text(encoding="utf-8"))
        index = json.loads((place / INDEX).read_text(encoding="utf-8"))
        runs = tuple(_run(each, (place / INDEX).parent) for each in index["runs"])
        searches = tuple(MethodSearch(**each) for each in index["searches"])
        known = bool(index["planned"]), bool(index["interrupted"]), tuple(index["warnings"])
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, JournalError) as error:
        raise ArgumentError(
            f"`folder`: {folder} is not a comparison that `save` has written: {type(error).__name__}: {error}"
        ) from None
    return Comparison(spec, runs, *known, None, searches)


def _run(kept: dict[str, Any], root: Path) -> ComparedRun:
    """Return a run with the figures of its journals."""
    spec = RunSpec.model_validate(kept["spec"])
    figures = RunFigures(
        variant=kept["variant"],
        algorithm=spec.algorithm.name,
        cluster=kept["cluster"],
        workers=spec.workers,
        servers=kept["servers"],
        seed=spec.seed,
        simulated=spec.world == "virtual",
        state=RunState(kept["state"]),
        trial=kept["trial"],
        rung=kept["rung"],
        diverged=kept["diverged"],
    )
    if kept["folder"] is None:
        return ComparedRun(figures, spec)
    folder = root / kept["folder"]
    ranks = range(spec.workers + figures.servers) if figures.state in FINISHED else ()
    if lacking := [name for rank in ranks if not (folder / (name := f"journal.{rank}.jsonl")).is_file()]:
        raise FileNotFoundError(
            f"{folder} has no {lacking[0]}"
        )  # without it, the run would seem to miss its target
    scored = journals.evaluations(folder, spec.workers + figures.servers)
    return ComparedRun(journals.filled_in(figures, folder), spec, folder, tuple(scored), kept["why"])
