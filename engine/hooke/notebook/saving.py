"""A comparison as files: specification, verdict, table, and the folder of every run."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hooke.errors import ArgumentError
from hooke.notebook.running import ComparedRun
from hooke.spec.specification import ExperimentSpec

INDEX = "runs/index.json"
"""What `hooke.load` needs besides the journals."""


def save(  # noqa: PLR0913 - the parts of a comparison
    folder: Path,
    spec: ExperimentSpec,
    verdict: str,
    rows: Sequence[dict[str, Any]],
    runs: Sequence[ComparedRun],
    more: Mapping[str, Any],
) -> Path:
    """Write a comparison to a folder, which is created; return it. `~` is the user's own folder.

    `more`: plain data for the index of the runs.
    """
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    except (OSError, RuntimeError) as error:  # a file, no permission; `~` of an unknown user
        raise ArgumentError(f"`folder`: {folder} cannot be written: {error}: name another folder") from None
    if not empty:
        raise ArgumentError(f"{folder} is not empty: name another folder")
    _write(folder / "experiment.json", spec.model_dump(mode="json", by_alias=True))
    (folder / "verdict.txt").write_text(f"{verdict}\n", encoding="utf-8")
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["method"])
        writer.writeheader()
        writer.writerows(rows)
    (folder / INDEX).parent.mkdir()
    for run in runs:
        if run.folder is not None:
            shutil.copytree(run.folder, (folder / INDEX).parent / run.folder.name)
    _write(folder / INDEX, {**more, "runs": [_described(run) for run in runs]})
    return folder


def _described(run: ComparedRun) -> dict[str, Any]:
    """Return what the journals of a run do not tell."""
    figures = run.figures
    return {
        "folder": run.folder.name if run.folder else None,
        "variant": figures.variant,
        "cluster": figures.cluster,
        "servers": figures.servers,
        "trial": figures.trial,
        "rung": figures.rung,
        "state": str(figures.state),
        "diverged": figures.diverged,
        "why": run.why,
        "spec": run.spec.model_dump(mode="json", by_alias=True),
    }


def _write(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
