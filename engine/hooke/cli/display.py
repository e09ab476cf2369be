"""Progress display of `hooke run`: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hooke.cli.progress import Display, PlainDisplay
from hooke.cluster.local_run import LocalRun


@contextmanager
def display(run: LocalRun) -> Iterator[Display]:
    """Show a live line if stderr is a terminal, else print plain lines."""
    if sys.stderr.isatty():
        from hooke.cli.live import LiveDisplay

        with LiveDisplay(run) as live:
            yield live
    else:
        yield PlainDisplay(run)
