"""A comparison as files: specification, verdict, table, and the folder of every run."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hooke.errors import ArgumentError
from hooke.notebook.running import ComparedRun
from hooke.spec.specification import ExperimentSpec


def save(
    folder: Path, spec: ExperimentSpec, verdict: str, rows: Sequence[dict[str, Any]], runs: Sequence[ComparedRun]
) -> Path:
    """Write a comparison to a folder, which is created; return it. `~` is the user's own folder."""
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    except (OSError, RuntimeError) as error:  # a file, no permission; `~` of an unknown user
        raise ArgumentError(f"`folder`: {folder} cannot be written: {error}: name another folder") from None
    if not empty:
        raise ArgumentError(f"{folder} is not empty: name another folder")
    document = spec.model_dump(mode="json", by_alias=True)
    (folder / "experiment.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    (folder / "verdict.txt").write_text(f"{verdict}\n", encoding="utf-8")
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["method"])
        writer.writeheader()
        writer.writerows(rows)
    for run in runs:
        if run.folder is not None:
            shutil.copytree(run.folder, folder / "runs" / run.folder.name)
    return folder
