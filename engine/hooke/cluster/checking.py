"""Whether a specification can run here, found where users' files may be read: `python -m hooke.cluster.checking`.

The supervisor of ranks under another account asks a process of that account, because a file of users is code.
Standard input: a JSON list of run specifications. Standard output: for each `{"ranks": n}` or `{"fault": text}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from hooke.catalogue.algorithm import ranks_of
from hooke.catalogue.validation import validate_run
from hooke.cluster import accounts
from hooke.cluster.environment import for_user_code
from hooke.errors import SpecError
from hooke.spec.specification import RunSpec

SECONDS = 60.0
"""Time limit for reading users' files."""
MOST_SERVERS = 1
_PROGRAM = ("-m", "hooke.cluster.checking")


@dataclass(frozen=True)
class Checked:
    """A run as it can be started here."""

    spec: RunSpec | None
    ranks: int = 0
    fault: str = ""
    """Why it cannot."""


def here(document: dict[str, object]) -> Checked:
    """Check a specification in this process."""
    try:
        spec = validate_run(document)
    except SpecError as error:
        return Checked(None, fault=f"the specification is invalid on this cluster: {error}")
    return Checked(spec, ranks_of(spec))


def elsewhere(documents: Sequence[dict[str, object]], ids: Sequence[str]) -> list[Checked]:
    """Check specifications in a process of the account that was taken; `ids`: of their attempts, as HOOKE_ATTEMPT.

    What it tells is not trusted: the specification stays that of the order, and the number of ranks has a limit.
    """
    try:
        done = subprocess.run(
            [sys.executable, *_PROGRAM],
            input=json.dumps(documents).encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=accounts.environment(for_user_code(os.environ)) | {"HOOKE_ATTEMPT": ",".join(ids)},
            cwd="/",
            **accounts.of_ranks(),
        )
        told = json.loads(done.stdout)
        return [_believed(document, each) for document, each in zip(documents, told, strict=True)]
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError, RecursionError) as error:
        why = f"the process that reads users' files failed: {type(error).__name__}: {error}"[:2000]
        return [Checked(None, fault=why) for _ in documents]


def _believed(document: dict[str, object], told: Any) -> Checked:
    if not isinstance(told, dict) or told.get("fault"):
        why = told["fault"] if isinstance(told, dict) else "nothing was reported"
        return Checked(None, fault=str(why)[:4000])
    try:
        spec = RunSpec.model_validate(document)
    except ValidationError as error:
        return Checked(None, fault=f"the specification is invalid: {error}"[:4000])
    ranks = told.get("ranks")
    if type(ranks) is not int or not spec.workers <= ranks <= spec.workers + MOST_SERVERS:
        return Checked(None, fault=f"a run of {spec.workers} workers cannot have {ranks!r} ranks"[:2000])
    return Checked(spec, ranks)


def _main() -> None:
    with contextlib.redirect_stdout(sys.stderr):  # a user's file may print
        found = [here(document) for document in json.load(sys.stdin)]
    told = [{"fault": each.fault} if each.fault else {"ranks": each.ranks} for each in found]
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    _main()
