"""Keyset cursors: where a page ended, signed so that nobody builds or edits one."""

from __future__ import annotations

import hashlib

from hooke.errors import Fault
from itsdangerous import BadData, URLSafeSerializer

from hooke_api.base.errors import Invalid


class Cursors:
    """Seals and opens the last key of a page; a cursor of one list does not open another."""

    def __init__(self, token: str) -> None:
        self._signer = URLSafeSerializer(
            token, salt="hooke cursor", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def seal(self, listing: str, key: str | int) -> str:
        """Return the opaque text for the last key of a page."""
        return str(self._signer.dumps([listing, key]))

    def open(self, listing: str, cursor: str) -> str:
        """Return the key in a cursor; raises Invalid for one that this server did not make for this list."""
        try:
            found, key = self._signer.loads(cursor)
        except BadData:
            found, key = "", ""
        if found == listing:
            return str(key)
        fault = Fault(pointer="query/cursor", message="not a cursor of this list: start again without one")
        raise Invalid("the cursor cannot be used", [fault])
