"""The launcher of a site for `hooke calibrate`, and an end in order when it is asked to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from hooke.cluster.launchers.base import Launcher


def launcher_of(config: Path | None, folder: Path | None, seconds: float) -> tuple[Launcher | None, Path | None]:
    """Return the launcher in an agent's file, and the folder for files of its ranks, which exists then.

    None stands for mpirun on this machine, and for the temporary folder. Raises HookeError for a wrong file, and
    where the folder cannot be made.
    """
    from hooke.calibration.starting import longest
    from hooke.cluster import site
    from hooke.cluster.launchers.make import make
    from hooke.cluster.launchers.settings import within
    from hooke.errors import ArgumentError

    launcher, place = None, folder
    if config is not None:
        settings, home = site.launcher_of(config)
        launcher = make(within(settings, longest(seconds)))
        place = folder or (home / "calibrations" if home else None)
    if place is not None:
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ArgumentError(f"--folder {place}: {error.strerror}") from None
    return launcher, place


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Make SIGTERM an exception, once: whoever has started ranks or submitted a job ends them."""

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
