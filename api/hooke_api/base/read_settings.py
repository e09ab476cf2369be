"""Reads the settings of the environment; a wrong one is a sentence with its variable, not a traceback."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hooke.errors import ArgumentError
from hooke.spec.pointers import message
from pydantic import ValidationError
from pydantic_settings import SettingsError

from hooke_api.base.settings import Settings

LONGEST_SHOWN = 80
DATABASES = ("postgresql+psycopg", "sqlite")
BROKERS = ("redis", "rediss", "unix")
_FIELD = re.compile(r'field "(\w+)"')


def read_settings(**given: Any) -> Settings:
    """Return the settings of the environment, with those that are given in their place.

    Raises ArgumentError, which names each variable that is wrong.
    """
    try:
        found = Settings(**given)
    except SettingsError as error:  # a list that is not JSON
        field = _FIELD.search(str(error))
        why = 'a JSON list is needed, such as ["hooke.example.org"]'
        raise ArgumentError(f"{_told(field[1])}: {why}" if field else str(error)) from None
    except ValidationError as error:
        faults = {f"{_told(str(each['loc'][0]))}: {message(each)}": None for each in error.errors()}
        raise ArgumentError("; ".join(faults)) from None
    _check_scheme("HOOKE_DATABASE_URL", found.database_url, DATABASES, "postgresql+psycopg://hooke@db/hooke")
    _check_scheme("HOOKE_REDIS_URL", found.redis_url, BROKERS, "redis://localhost:6379/0")
    return found


def _check_scheme(name: str, url: str | None, known: tuple[str, ...], example: str) -> None:
    """Raise ArgumentError unless a URL begins as it must; it is not quoted, as it may hold a password."""
    if url and url.partition("://")[0] not in known:
        raise ArgumentError(f"{name} begins with {' or '.join(f'{each}://' for each in known)}, such as {example}")


def _told(field: str) -> str:
    """Return a variable with its value."""
    name = field if field.startswith("HOOKE_") else f"HOOKE_{field.upper()}"
    value = os.environ.get(name)
    return name if value is None else f"{name}={value[:LONGEST_SHOWN]}"


def create_home(home: Path) -> None:
    """Create the home folder of an instance if it is missing. Raises ArgumentError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(unusable(home, error)) from None


def unusable(home: Path, error: OSError) -> str:
    """Return what is said of a home folder that this account cannot create or write to."""
    return f"the home folder {home} cannot be used: {error.strerror}: name another one by HOOKE_HOME or --home"
