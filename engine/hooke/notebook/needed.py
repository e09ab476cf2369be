"""Packages that only comparisons in a program need."""

from __future__ import annotations

import importlib
from typing import Any

from hooke.errors import ArgumentError

INSTALL = "pip install -c constraints.txt -e 'engine[notebook]' in the clone of Hooke"


def needed(module: str, what: str, instead: str = "") -> Any:
    """Return an imported module. Raises ArgumentError with what to install, and `instead`, what works without."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        also = f"; {instead}" if instead else ""
        raise ArgumentError(f"{what} needs {name}: {INSTALL}{also}") from None
