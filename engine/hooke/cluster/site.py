"""What an agent needs to know of its site: options of the command line, and a file with the same names.

The file is TOML, or JSON if its name ends in .json:

    cluster = "hpc"
    api = "https://hooke.example.org"
    broker = "rediss://hooke.example.org:6379/0"
    broker_password_file = "broker-password"
    token_file = "token"
    home = "/var/lib/hooke"
    user_code_account = "hooke-runs"

    [launcher]
    kind = "local"

Paths in the file are relative to its folder. Options of the command line take precedence. There, the launcher is
its kind and plain options: `slurm,slots=64,partition=gpu`; lists need the file.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from hooke.cluster.launchers.settings import LauncherSettings, LocalSettings, launcher_settings
from hooke.cluster.places import write_atomically
from hooke.errors import ArgumentError
from hooke.spec.frozen import Frozen, Name
from hooke.spec.pointers import message

BROKERS = ("redis", "rediss", "unix")
"""Schemes of the broker's URL."""
_PATHS = ("token_file", "broker_password_file", "home")


class Site(Frozen):
    """The options of an agent."""

    cluster: Name
    """Name of the cluster."""
    api: str
    """Base URL of the API."""
    broker: str
    """URL of Redis, with the password if it needs one."""
    token_file: Path
    """File with the token of the cluster."""
    broker_password_file: Path | None = None
    """File with the password of Redis, which is in `broker`, too."""
    home: Path
    """Folder for runs and jobs, and the agent's identity."""
    launcher: LauncherSettings = LocalSettings()
    """The table `launcher` of the file."""
    user_code_account: str | None = Field(None, min_length=1)
    """The account of this host under which users' code runs; None: that of the agent."""

    @property
    def exposed(self) -> list[Path]:
        """Return the files with a secret that other users of this host can read."""
        files = (self.token_file, self.broker_password_file)
        return [file for file in files if file is not None and shared(file)]

    @field_validator("api")
    @classmethod
    def _web(cls, value: str) -> str:
        parts = _split(value)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{value!r} is not the address of a server, such as https://hooke.example.org")
        return value.rstrip("/")

    @field_validator("broker")
    @classmethod
    def _redis(cls, value: str) -> str:
        parts = _split(value)
        if parts is None or parts.scheme not in BROKERS:
            raise ValueError("it is a URL of Redis, such as redis://hooke.example.org:6379/0")
        return value

    @field_validator("user_code_account")
    @classmethod
    def _here(cls, value: str | None, info: ValidationInfo) -> str | None:
        launcher = info.data.get("launcher")
        if value is not None and not isinstance(launcher, LocalSettings | None):
            raise ValueError(
                f"only the launcher `local` starts ranks under another account, not `{launcher.kind}`, whose jobs "
                "and processes on other hosts are those of the agent's account"
            )
        return value


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it cannot be split."""
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None  # reading the port checks it
    except ValueError:
        return None


def read(file: Path | None, given: Mapping[str, Any]) -> Site:
    """Return the site of a file and of options, which take precedence; None: an option that is not given.

    Raises ArgumentError with every fault in a sentence, SpecError for those of the launcher.
    """
    options = {name: value for name, value in given.items() if value is not None}
    if "broker" in options and _holds_password(options["broker"]):
        raise ArgumentError(
            "--broker contains a password, which every user of this host can read in the list of processes: "
            "put it into a file that only you can read, and give --broker-password-file"
        )
    written = _file(file)
    values = {**written, **options}
    if "launcher" in options:
        values["launcher"] = _launcher(str(options["launcher"]), written.get("launcher"))
    values["launcher"] = launcher_settings(values)
    password = values.get("broker_password_file")
    values.setdefault("broker", os.environ.get("HOOKE_REDIS_URL"))
    values.setdefault("home", _usual_home(values.get("cluster", "")))
    missing = [name for name in ("cluster", "api", "broker", "token_file") if not values.get(name)]
    if missing:
        told = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise ArgumentError(f"the agent also needs {told}, on the command line or in the file of --config")
    if password is not None and _split(str(values["broker"])) is not None:  # else told with the other faults
        values["broker"] = with_password(str(values["broker"]), _secret(Path(str(password))))
    try:
        site = Site.model_validate(values)
    except ValidationError as error:
        raise ArgumentError("; ".join(_sentence(fault) for fault in error.errors())) from None
    return site.model_copy(update={"home": site.home.expanduser().absolute()})


def _launcher(chosen: str, told: Any) -> dict[str, Any]:
    """Return the table of the launcher that the command line names; `told`: that of the file.

    Of the same kind as the file's, it changes only the options that are given. Raises ArgumentError.
    """
    kind, *options = chosen.split(",")
    table = dict(told) if isinstance(told, dict) and told.get("kind") == kind else {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals and value):
            raise ArgumentError(f"--launcher {chosen}: after its kind come options such as slots=64, with commas")
        table[name] = value
    return table | {"kind": kind}


def _holds_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:  # told later, with the other faults
        return False
    return bool(parts.password) or "password=" in parts.query


def _sentence(fault: Any) -> str:
    name = ".".join(map(str, fault["loc"]))
    unknown = fault["type"] == "extra_forbidden"
    return f"the agent has no option {name!r}" if unknown else f"{name}: {message(fault)}"


def _file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        text, readable = file.read_text(encoding="utf-8"), shared(file)
        values = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ArgumentError(f"--config {file}: {error.strerror}") from None
    except ValueError as error:
        raise ArgumentError(f"--config {file}: this is not {_form(file)}: {error}") from None
    if not isinstance(values, dict):
        raise ArgumentError(f"--config {file}: it holds no options, such as cluster = ...")
    broker = values.get("broker")
    if readable and isinstance(broker, str) and _holds_password(broker):
        raise ArgumentError(f"{file} contains a password and can be read by other users: chmod 600 {file}")
    for name in _PATHS:
        if isinstance(values.get(name), str):
            values[name] = file.parent / Path(values[name]).expanduser()
    return values


def _form(file: Path) -> str:
    return "JSON" if file.suffix == ".json" else "TOML"


def launcher_of(file: Path) -> tuple[LauncherSettings, Path | None]:
    """Return the launcher in a site's file and the home folder of its agent; None if the file names no cluster.

    Raises ArgumentError if the file cannot be read, SpecError with every fault of the launcher.
    """
    values = _file(file)
    home = values.get("home") or (_usual_home(values["cluster"]) if "cluster" in values else None)
    return launcher_settings(values), Path(home).expanduser().absolute() if home else None


def _usual_home(cluster: object) -> Path:
    return Path.home() / ".hooke-agent" / str(cluster)


def _secret(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as error:
        raise ArgumentError(f"--broker-password-file {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ArgumentError(f"--broker-password-file {file}: it must hold the password as text") from None


def with_password(broker: str, password: str) -> str:
    """Return a URL of Redis with a password; the user's name in it, if there is one, is kept."""
    parts = urlsplit(broker)
    user = quote(parts.username or "", safe="")
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def without_password(broker: str) -> str:
    """Return a URL of Redis as it may be shown."""
    parts = urlsplit(broker)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def token(file: Path) -> str:
    """Return the token in a file. Raises ArgumentError unless it is one line of printable ASCII."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ArgumentError(f"--token-file {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable() or " " in text:
        raise ArgumentError(f"--token-file {file}: it must hold the token of the cluster, one line, nothing else")
    return text


def shared(file: Path) -> bool:
    """Return whether other users of this host can read a file."""
    return bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def identity(home: Path) -> str:
    """Return the identity of the agent with this home folder; made when it is first asked for."""
    place = home / "agent-id"
    if not place.exists():
        write_atomically(place, f"agt_{secrets.token_hex(16)}\n", 0o600)
    return place.read_text().strip()
