"""Where this checkout is, and how a program that a test starts imports it."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python_path(*first: Path) -> str:
    """Return PYTHONPATH for a program: these folders, the tests and the engine of this checkout, what was set.

    Otherwise a program started from a second working tree would import the engine that is installed.
    """
    before = filter(None, [os.environ.get("PYTHONPATH")])
    return os.pathsep.join([*map(str, (*first, ROOT, ROOT / "engine")), *before])
