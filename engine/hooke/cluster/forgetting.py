"""Removes what an agent's home folder holds of deleted runs: attempts with checkpoints and logs, and their jobs.

Nothing outside `runs/` and `jobs/` is touched, and nothing of a run of which anything is alive. Every function may
be called twice, or at once, or after a death in the middle.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hooke.cluster.job import Job
from hooke.cluster.lock import held
from hooke.cluster.orders import left_of
from hooke.cluster.places import AttemptFolder, Home, JobFolder, described
from hooke.errors import HookeError, LaunchError, NotFound
from hooke.spec.attempts import ForgetReport, KeptRun

_log = logging.getLogger(__name__)
_ASIDE = ".forgotten."
"""Prefix of a run's folder while it is removed: nothing finds it any more by its name."""
_TRIES = 20


def forget(home: Home, runs: Sequence[str]) -> ForgetReport:
    """Remove what is left of these runs; return of which nothing is left, and why something of others is."""
    forgotten, kept = [], []
    for run in dict.fromkeys(runs):
        try:
            _forget(home, run)
            forgotten.append(run)
        except (HookeError, OSError, ValueError, RecursionError) as error:  # the last: thousands of nested folders
            why = described(error) if isinstance(error, OSError) else str(error)
            _log.warning("run %s is not removed: %s", run, why)
            kept.append(KeptRun(run=run, why=why[:2000]))
    return ForgetReport(forgotten=forgotten, kept=kept)


def _forget(home: Home, run: str) -> None:
    folder = home.attempt(run, 1).path.parent  # raises NotFound for a name that would leave the home
    aside = folder.with_name(_ASIDE + run)
    if folder.is_symlink() or aside.is_symlink():
        raise NotFound(f"{folder} is a link: what it names is not removed")
    for attempt in _attempts(run, folder):
        if held(attempt.lock):
            raise LaunchError(f"attempt {attempt.attempt} has a supervisor that is still running")
        if left := left_of(home, attempt):
            raise LaunchError(f"attempt {attempt.attempt}: {left}")
    if aside.exists():  # a removal was interrupted
        _finish(home, run, aside)
    with suppress(FileNotFoundError):  # nothing of it is here, or the same order came twice at once
        folder.rename(aside)
    _finish(home, run, aside)


def _finish(home: Home, run: str, aside: Path) -> None:
    """Remove the jobs of a run of which no run is left, then the run: its attempts name their jobs."""
    names = {path.read_text().strip() for path in aside.glob("*/job")}
    names |= {path.name for path in home.path.glob(f"jobs/{run}.*-*")}  # named after their first attempt
    for name in sorted(names):
        _finish_job(home, home.job(name), run)
    _remove(aside)


def _finish_job(home: Home, job: JobFolder, run: str) -> None:
    """Remove a job unless it has other runs, or is none of this run: user code may write what an attempt names."""
    runs = _runs(job)
    mine = run in runs or job.path.name.startswith(f"{run}.")
    if mine and not job.path.is_symlink() and not any((home.path / "runs" / each).exists() for each in runs):
        _remove(job.path)


def _attempts(run: str, folder: Path) -> list[AttemptFolder]:
    if not folder.is_dir():
        return []
    return [AttemptFolder(path, run, int(path.name)) for path in sorted(folder.iterdir()) if path.name.isdecimal()]


def _runs(job: JobFolder) -> set[str]:
    """Return the runs of a job; an unreadable description names none."""
    try:
        return {order.run for order in Job.model_validate_json(job.description.read_text()).orders}
    except (OSError, ValueError):
        return set()


def _remove(path: Path) -> None:
    """Remove a folder, following no links. Raises OSError, or LaunchError if anything of it is left."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # the same order came twice at once
            shutil.rmtree(path)
        if not path.exists():
            return
    raise LaunchError(f"{path} could not be removed")
