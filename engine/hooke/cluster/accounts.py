"""Another account of the system for users' code: `hooke agent --user-code-account NAME`.

Ranks of runs with users' code, and whatever reads users' files, start under that account. Their supervisor writes
its own files with the rights of the agent, and does everything else with those of the account (its effective
user): a link that users' code leaves among a rank's files leads the supervisor nowhere that users' code could not
go itself, and no file of the agent is written through it.

Only root can do this, and keeps it through the real user: so neither agent nor supervisor reads users' files.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.cluster.environment import for_user_code
from hooke.errors import LaunchError

RANKS = "ranks"
"""Folder in that of an attempt which belongs to the account; other attempts have none."""
PATH = "HOOKE_PATH"
_NEEDED = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_SYS_PTRACE": 19,
}
"""What root may have lost, as in a container (include/uapi/linux/capability.h). The last one shows whose a process
of another account is: without it, a run that lives would be taken for dead."""
_LOOK = """
import os, stat, sys, hooke
from pathlib import Path
home, token, *kept = sys.argv[1:]
os.stat(home + "/runs")
if os.access(token, os.R_OK):
    sys.exit(3)
def ours(path):
    found = os.lstat(path)
    writes = os.access(path, os.W_OK) and not stat.S_ISLNK(found.st_mode) and not found.st_mode & stat.S_ISVTX
    return writes or found.st_uid == os.getuid()
for path in (home, token, sys.executable, os.path.realpath(sys.executable), hooke.__file__, *kept):
    for each in (Path(path), *Path(path).parents):
        try:
            changes = ours(each)
        except OSError:
            continue  # closed to this account
        if changes:
            print(each)
            sys.exit(4)
"""
"""Looks, as the account, what it could change: files of the agent, or of its Python, would be read by root."""
_READS_TOKEN, _CHANGES = 3, 4
_CHANGED = (
    "--user-code-account: {name!r} owns {path} or may write there, so users' code could change what this agent "
    "does as root: use an account that owns nothing, or make root the owner (chown -R root, chmod go-w)"
)
_LOOK_SECONDS = 60.0


@dataclass(frozen=True)
class Account:
    """An account of this host."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    folder: str
    """Its home folder, which need not exist."""
    files: str = ""
    """Folders of users' files, as in HOOKE_PATH: who sees that variable reads, and so runs, all of them."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return an environment of a process of this account: the agent's folders are not its own."""
        kept = {name: value for name, value in inherited.items() if not name.startswith("XDG_") and name != PATH}
        kept |= {PATH: self.files} if self.files else {}
        return kept | {"HOME": self.folder, "USER": self.name, "LOGNAME": self.name}

    @property
    def options(self) -> dict[str, Any]:
        """Return the arguments of `subprocess` with which the agent starts a process of this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups), "cwd": "/"}


def find(name: str, files: str = "") -> Account:
    """Return an account. Raises LaunchError if there is none, if it protects nothing, or if this one may not."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise LaunchError(f"--user-code-account: there is no account {name!r} on this host") from None
    if entry.pw_uid in (0, os.geteuid()):
        raise LaunchError(f"--user-code-account: {name!r} has the rights of the agent: make an account of its own")
    groups = os.getgrouplist(name, entry.pw_gid)
    if 0 in groups:
        raise LaunchError(
            f"--user-code-account: {name!r} is in the group {grp.getgrgid(0).gr_name!r}: take it out"
        )
    if lacking := _lacking():
        raise LaunchError(f"--user-code-account {name}: {lacking}, or leave the option out")
    return Account(name, entry.pw_uid, entry.pw_gid, tuple(groups), entry.pw_dir, files)


def check(account: Account, home: Path, token_file: Path) -> None:
    """Raise LaunchError unless processes of the account start and reach their folders.

    Also if they can read the token, or change what the agent reads with the rights of root: its files, its Python.
    """
    command = [sys.executable, "-c", _LOOK, str(home.absolute()), str(token_file.absolute())]
    if theirs := _of_account(account, home):
        raise LaunchError(_CHANGED.format(name=account.name, path=theirs))
    try:
        told = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LOOK_SECONDS,
            check=False,
            env=account.environment(for_user_code(os.environ)),
            **account.options,
        )
        said = (told.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        status, said = told.returncode, told.stdout.strip() if told.returncode == _CHANGES else said
    except (OSError, subprocess.TimeoutExpired) as error:
        status, said = 1, str(error)
    if status == _READS_TOKEN:
        raise LaunchError(f"--user-code-account: {account.name!r} can read {token_file}: chmod 600 {token_file}")
    if status == _CHANGES:
        raise LaunchError(_CHANGED.format(name=account.name, path=said))
    if status != 0:
        raise LaunchError(
            f"--user-code-account: {account.name!r} cannot use {sys.executable} or reach {home / 'runs'}: {said}"
        )


def _of_account(account: Account, home: Path) -> Path | None:
    """Return a file of the agent that belongs to the account, as after the agent ran as it, or None."""
    known = ("*", "jobs/*", "jobs/*/*", "runs/*", "runs/*/*")
    found = (path for pattern in known for path in home.glob(pattern))
    return next((path for path in (home, *found) if path.lstat().st_uid == account.uid), None)


def _lacking() -> str:
    """Return why this process cannot start others under another account, and what to do; empty: it can."""
    if os.geteuid() != 0:
        name = pwd.getpwuid(os.geteuid()).pw_name
        return f"the agent runs as {name!r}, and only root starts processes of another account: run it as root"
    lines = Path("/proc/self/status").read_text().splitlines()
    held = int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16)
    missing = [name for name, bit in _NEEDED.items() if not held >> bit & 1]
    return f"the agent's root lacks {', '.join(missing)}: grant these capabilities" if missing else ""


def open_home(home: Path) -> None:
    """Let other accounts pass to the folders of ranks under another account, and close all else of the agent.

    Files that this process and its children make from now on are closed, too, unless they say otherwise.
    """
    os.umask(0o077)
    runs = home / "runs"
    runs.mkdir(mode=0o700, exist_ok=True)
    for path in home.iterdir():
        if path != runs and not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o077)
    for run in runs.iterdir():
        if not run.is_symlink() and run.is_dir():
            run.chmod(0o711 if any(run.glob(f"*/{RANKS}")) else 0o700)
    runs.chmod(0o711)
    home.chmod(0o711)


@dataclass
class _Taken:
    """What this process has taken: a process has one effective user."""

    account: Account | None = None


_taken = _Taken()


def take(account: Account) -> None:
    """Go on with the rights of an account, outside of `own`.

    Users' files stay unread in this process: they could take its own rights back.
    """
    os.environ.pop(PATH, None)
    os.umask(0o022)
    os.setgroups(account.groups)
    os.setegid(account.gid)
    os.seteuid(account.uid)
    _taken.account = account


@contextmanager
def own() -> Iterator[None]:
    """Do something with the rights of the agent: what ranks must be able neither to do nor to undo."""
    if _taken.account is None or os.geteuid() != _taken.account.uid:
        yield
        return
    os.seteuid(os.getuid())
    try:
        yield
    finally:
        os.seteuid(_taken.account.uid)


def of_ranks() -> dict[str, Any]:
    """Return the arguments of `subprocess` with which ranks start: of the account for good, if one was taken."""
    account = _taken.account  # its groups are those of this process by now
    return {} if account is None else {"user": account.uid, "group": account.gid}


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of ranks: that of the account, if one was taken."""
    return dict(inherited) if _taken.account is None else _taken.account.environment(inherited)


def make_folder(attempt: Path) -> None:
    """Make the folder of an attempt with one for its ranks, if an account was taken."""
    account = _taken.account
    if account is None:
        return
    with own():
        ranks = attempt / RANKS
        ranks.mkdir(parents=True, exist_ok=True)
        for folder in (attempt.parent, attempt):
            folder.chmod(0o711)
        ranks.chmod(0o700)
        os.chown(ranks, account.uid, account.gid)
