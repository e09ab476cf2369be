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
"""File in the home folder, readable by its owner alone: {"of": SHA-256 of the token in the file, "token": ...,
"before": the one that it followed on}."""


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
        return self._known(given).get("token", given)

    def former(self) -> str | None:
        """Return the token that was renewed last, None if there is none. Raises as `read`."""
        return self._known(site.token(self._file)).get("before")

    def renew(self, token: str) -> None:
        """Use another token from now on. Raises OSError if it cannot be stored."""
        self._store({"token": token, "before": self.read()})

    def go_back(self) -> None:
        """Use the one that was renewed last again, if there is one. Raises OSError if this cannot be stored."""
        if former := self.former():
            self._store({"token": former})

    def _known(self, given: str) -> dict[str, str]:
        """Return what follows on the token of the file; nothing if none does, or it is not readable."""
        if self._renewed is None:
            return {}
        try:
            known = json.loads(self._renewed.read_text())
            found = {name: str(known[name]) for name in ("token", "before") if name in known}
            return found if known["of"] == _sha256(given) else {}
        except (OSError, ValueError, KeyError, TypeError):  # the server says what the token of the file lacks
            return {}

    def _store(self, tokens: dict[str, str]) -> None:
        if self._renewed is not None:
            document = {"of": _sha256(site.token(self._file)), **tokens}
            write_atomically(self._renewed, json.dumps(document), 0o600)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
