"""The agent's operations: launch, cancel, probe, and recovery of unfinished jobs.

Every function is short and idempotent, because an order may be delivered twice. Independent of Celery; called by
`hooke.cluster.claiming`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from hooke.catalogue import discovery as catalogue
from hooke.cluster.accounts import Account
from hooke.cluster.environment import for_user_code
from hooke.cluster.job import Job, Order, read_tokens
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.settings import LauncherSettings, LocalSettings
from hooke.cluster.lock import held, holder
from hooke.cluster.places import AttemptFolder, Home, JobFolder, described, write_atomically
from hooke.cluster.processes import members
from hooke.errors import HookeError, LaunchError
from hooke.spec.attempts import AgentProof, AttemptId, FailedLaunch
from hooke.spec.orders import LaunchOrder

_SPAWN_SECONDS = 30.0
_OWNED_SECONDS = 5.0
_log = logging.getLogger(__name__)
LEAST_FREE = 16 * 2**20
"""Bytes that must be free on the disk of the home folder for a run to begin."""
LEAST_FILES = 64
"""Files that must be possible there."""


def launch(
    home: Home,
    api: str,
    orders: Sequence[LaunchOrder],
    launcher: LauncherSettings | None = None,
    account: Account | None = None,
) -> list[FailedLaunch]:
    """Start one supervisor for these attempts, unless they have been delivered or have an owner.

    Return those that could not be started, and now can never start. `launcher`: how a new job starts its ranks,
    `local` if None; `account`: under which its ranks run users' code; an existing job keeps its own.
    """
    fresh, failed = [], []
    for order in orders:
        folder = home.attempt(order.run, order.attempt)
        if folder.delivered.exists():
            continue
        job = home.job(folder.job.read_text()) if folder.job.exists() else None
        if job is not None:
            _offer(job, folder.id, order.token)
        if held(folder.lock):
            continue
        if job is not None:
            failed += _tried(home, [order], partial(start_supervisor, job, api))
        else:
            fresh.append(order)
    if fresh:

        def start() -> None:
            settings = launcher or LocalSettings()
            _check_space(home.path)
            if why := make(settings).unreachable():  # the queue must not run through while a host is down
                raise LaunchError(why)
            start_supervisor(_make_job(home, api, fresh, settings, account), api)

        failed += _tried(home, fresh, start)
    return failed


def _offer(job: JobFolder, attempt: str, token: str) -> None:
    """Keep the token of a later claim for the supervisor: a server that was restored does not know its own."""
    with suppress(OSError, ValueError):  # a full disk: the order comes again
        write_atomically(job.offered, json.dumps(read_tokens(job.offered) | {attempt: token}), 0o600)


def _tried(home: Home, orders: Sequence[LaunchOrder], start: Callable[[], None]) -> list[FailedLaunch]:
    """Start attempts; return the report of those that could not be started."""
    try:
        start()
    except (LaunchError, OSError, ValueError) as error:
        why = described(error) if isinstance(error, OSError) else str(error)
        given_up = [order for order in orders if _given_up(home.attempt(order.run, order.attempt))]
        if not given_up:
            raise
        names = [AttemptId(run=order.run, attempt=order.attempt) for order in given_up]
        return [FailedLaunch(attempts=names, why=f"on {os.uname().nodename}: {why}"[:2000])]
    return []


def _given_up(folder: AttemptFolder) -> bool:
    """Mark an attempt as never to be started; return whether nothing of it has begun."""
    if folder.begun() or members([folder.id]):
        return False
    with suppress(OSError):  # the disk is full: if its order comes again, the API fences it
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.dead.touch()
    return not held(folder.lock)


def _check_space(path: Path) -> None:
    """Raise LaunchError if a run could not even begin its journals."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    free = shutil.disk_usage(path).free
    if free < LEAST_FREE:
        raise LaunchError(
            f"no space is left on the disk of {path} (ENOSPC): {free / 2**20:.1f} MiB are free, a run begins with "
            f"at least {LEAST_FREE // 2**20} MiB"
        )
    found = os.statvfs(path)
    if found.f_files and found.f_favail < LEAST_FILES:  # without a number: as many as there is space for
        raise LaunchError(
            f"no inodes are left on the disk of {path} (ENOSPC): {found.f_favail} more files are possible, "
            f"whatever space is free, and a run begins with at least {LEAST_FILES}: see df -i"
        )


def _make_job(
    home: Home, api: str, orders: Sequence[LaunchOrder], launcher: LauncherSettings, account: Account | None = None
) -> JobFolder:
    """Create the job's folder atomically."""
    listed = [Order(run=o.run, attempt=o.attempt, spec=o.spec, resume_from=o.resume_from) for o in orders]
    job = Job(api=api, orders=listed, launcher=launcher).model_copy(update=_confined(orders, account))
    folder = home.job(job.name)
    folder.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = JobFolder(Path(tempfile.mkdtemp(prefix=".", dir=folder.path.parent)))  # mode 0700
    tokens = {f"{order.run}.{order.attempt}": order.token for order in orders}
    try:
        write_atomically(draft.tokens, json.dumps(tokens), 0o600)
        write_atomically(draft.description, job.model_dump_json())
    except OSError:  # a full disk must not fill up with drafts
        shutil.rmtree(draft.path, ignore_errors=True)
        raise
    try:
        draft.path.rename(folder.path)
    except OSError:  # the same message twice at once: the other one was first
        shutil.rmtree(draft.path)
        if not folder.description.exists():
            raise
        tokens = read_tokens(folder.tokens)  # each claim got tokens of its own: the supervisor has these
    for order in orders:
        place = home.attempt(order.run, order.attempt)
        place.path.mkdir(parents=True, exist_ok=True)
        if token := tokens.get(place.id):
            write_atomically(place.token_sha256, hashlib.sha256(token.encode()).hexdigest(), 0o600)
        write_atomically(place.job, job.name)
    return folder


def _confined(orders: Sequence[LaunchOrder], account: Account | None) -> dict[str, str]:
    """Return the account of the ranks of a job with users' code, and the files that they see."""
    if account is None or not any(_has_users_code(order.spec) for order in orders):
        return {}
    return {"account": account.name, "path": account.files}


def _has_users_code(spec: dict[str, object]) -> bool:
    """Return whether a run needs an algorithm or a workload that is not built in."""
    chosen = ((kind, spec.get(kind)) for kind in catalogue.KINDS)
    names = ((kind, each.get("name") if isinstance(each, dict) else None) for kind, each in chosen)
    return any(name not in catalogue.built_in(kind) for kind, name in names)


def start_supervisor(folder: JobFolder, api: str) -> None:
    """Start a supervisor for a job in a separate session; it exits at once if another one owns all attempts."""
    job = Job.model_validate_json(folder.description.read_text())
    if job.api != api:  # the API has a new address
        write_atomically(folder.description, job.model_copy(update={"api": api}).model_dump_json())
    command = [sys.executable, "-m", "hooke.cluster.supervisor", str(folder.path)]
    with folder.supervisor_log.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=for_user_code(os.environ),
            start_new_session=True,
        )
    try:
        status = process.wait(_SPAWN_SECONDS)  # it detaches as soon as its imports are done
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise LaunchError(f"no supervisor within {_SPAWN_SECONDS:g} s: see {folder.supervisor_log}") from None
    if status != 0:
        raise LaunchError(f"the supervisor ended with status {status}: see {folder.supervisor_log}")


def cancel(home: Home, api: str, run: str, attempt: int) -> None:
    """Write the marker `cancel` for the present or a later supervisor of the attempt."""
    folder = home.attempt(run, attempt)
    if folder.delivered.exists():
        return
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.cancel.touch()
    if folder.job.exists() and not held(folder.lock):
        start_supervisor(home.job(folder.job.read_text()), api)


def prove(home: Home, api: str, run: str, attempt: int) -> AgentProof:
    """Determine whether an attempt is alive. An attempt declared dead here can never start again.

    For an attempt without a supervisor one is started, which ends its remaining processes and reports its end.
    """
    folder = home.attempt(run, attempt)

    def proof(alive: bool, why: str) -> AgentProof:
        return AgentProof(run=run, attempt=attempt, alive=alive, why=why, token_sha256=_token_sha256(home, folder))

    if (pid := holder(folder.lock)) is not None:
        return proof(True, f"its supervisor is still running (pid {pid})")
    if folder.delivered.exists():
        return proof(False, "it has ended, and everything of it was delivered")
    failure = "nothing of it is on this host"
    if folder.job.exists():
        try:
            start_supervisor(home.job(folder.job.read_text()), api)
        except (LaunchError, OSError, ValueError) as error:
            failure = f"its supervisor died, and no new one could be started: {error}"
        else:
            if _owned(folder):
                return proof(True, "its supervisor had died; a new one ends it and reports")
            failure = "its supervisor died"
    if left := left_of(home, folder):
        return proof(True, left)
    return _declare_dead(folder, proof(False, f"{failure}; no process of it is left"))


def _token_sha256(home: Home, folder: AttemptFolder) -> str | None:
    """Return the SHA-256 of an attempt's token, or None if this agent has never received the attempt."""
    with suppress(FileNotFoundError):
        return folder.token_sha256.read_text().strip()
    with suppress(FileNotFoundError, ValueError, KeyError):  # begun by an earlier version
        token = read_tokens(home.job(folder.job.read_text()).tokens)[folder.id]
        return hashlib.sha256(token.encode()).hexdigest()
    return None


def left_of(home: Home, folder: AttemptFolder) -> str:
    """Return what is left of an attempt, here and where its launcher starts ranks; empty: nothing.

    A scheduler or a host that does not answer is no proof of death: its answer is in the sentence.
    """
    if left := members([folder.id]):
        return f"{len(left)} of its processes are still running"
    if not folder.job.exists():
        return ""
    try:
        job = Job.model_validate_json(home.job(folder.job.read_text()).description.read_text())
    except FileNotFoundError:
        return ""
    return make(job.launcher).alive([folder.id])


def _owned(folder: AttemptFolder) -> bool:
    until = time.monotonic() + _OWNED_SECONDS
    while not held(folder.lock):
        if folder.delivered.exists() or time.monotonic() > until:
            return folder.delivered.exists()
        time.sleep(0.05)
    return True


def _declare_dead(folder: AttemptFolder, dead: AgentProof) -> AgentProof:
    """Write the `dead` marker, then check again: a supervisor takes its lock before it checks the marker."""
    folder.path.mkdir(parents=True, exist_ok=True)
    folder.dead.touch()
    if held(folder.lock):
        return dead.model_copy(update={"alive": True, "why": "a supervisor has just taken it"})
    return dead


def recover(home: Home, api: str) -> list[str]:
    """Start a supervisor for every undelivered job without an owner; return their names."""
    recovered = []
    for folder in home.jobs():
        if folder.delivered.exists():
            continue
        try:
            job = Job.model_validate_json(folder.description.read_text())
            places = [home.attempt(order.run, order.attempt) for order in job.orders]
            if any(not place.delivered.exists() and not held(place.lock) for place in places):
                start_supervisor(folder, api)
                recovered.append(job.name)
        except (HookeError, OSError, ValueError) as error:  # a damaged job must not keep the others from theirs
            _log.warning("job %s is not taken over: %s", folder.path.name, str(error)[:500])
    return recovered
