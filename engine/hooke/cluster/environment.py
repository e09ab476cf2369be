"""The environment of processes that may run users' code: without what belongs to the service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PASSED_ON = frozenset({"HOOKE_DATA", "HOOKE_PATH"})
"""Variables of Hooke that users' code needs: one or several folders, separated as in PATH."""
_OF_HOOKE = "HOOKE_"
_OF_ITS_SERVICES = frozenset(
    {
        "CELERY_BROKER_URL",
        "CELERY_RESULT_BACKEND",
        "REDISCLI_AUTH",
        "REDIS_PASSWORD",
        "REDIS_URL",
        "DATABASE_PASSWORD",
        "DATABASE_URL",
        "PGPASSWORD",
        "PGPASSFILE",
        "PGSERVICEFILE",
    }
)
"""Variables from which clients of Redis and PostgreSQL, and the commands of docs/clusters.md, take passwords."""


def for_user_code(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without tokens, and without addresses and passwords of the database and the broker."""
    return {
        name: value
        for name, value in inherited.items()
        if name in PASSED_ON or not (name.startswith(_OF_HOOKE) or name in _OF_ITS_SERVICES)
    }


def absolute(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose folders do not depend on the folder of a process: ranks start in another one."""
    found = dict(environment)
    for name in PASSED_ON & found.keys():
        folders = filter(None, found[name].split(os.pathsep))
        found[name] = os.pathsep.join(str(Path(folder).absolute()) for folder in folders)
    return found
