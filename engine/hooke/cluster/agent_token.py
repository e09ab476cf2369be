"""The token of an agent: that of its file, or the one by which the server has renewed it.

A renewed token is kept in the agent's home folder, as the file may be one that the agent can only read. It is used
as long as the file has the token that it follows on: whoever writes another one into the file is obeyed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hooke.cluster import site
from hooke.cluster.places import write_atomically

NAME = "renewed-token"
"""File in the home folder, readable by its owner alone: {"of": SHA-256 of the token in the file, "token": ...}."""


class AgentToken:
    """The token to be sent, read for every request, so that another one needs no restart."""

    def __init__(self, file: Path, home: Path | None = None) -> None:
        """`home`: folder of the agent; None: its token is not renewed."""
        self._file = file
        self._renewed = home / NAME if home is not None else None

    @property
    def may_be_renewed(self) -> bool:
        """Return whether there is a place for another one."""
        return self._renewed is not None

    def read(self) -> str:
        """Return the token. Raises ArgumentError unless its file has one line of printable ASCII."""
        given = site.token(self._file)
        if self._renewed is None:
            return given
        try:
            known = json.loads(self._renewed.read_text())
            return str(known["token"]) if known["of"] == _sha256(given) else given
        except (OSError, ValueError, KeyError, TypeError):  # none, or not readable: the server says what it lacks
            return given

    def renew(self, token: str) -> None:
        """Use another token from now on. Raises OSError if it cannot be stored."""
        if self._renewed is not None:
            document = {"of": _sha256(site.token(self._file)), "token": token}
            write_atomically(self._renewed, json.dumps(document), 0o600)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
