"""Keyset cursors: the last key of a page, signed so that clients cannot build or edit one."""

from __future__ import annotations

import hashlib

from hooke.errors import Fault
from itsdangerous import BadData, URLSafeSerializer

from hooke_api.base.errors import Invalid


class Cursors:
    """Encodes and decodes the last key of a page; a cursor is valid for one list only."""

    def __init__(self, token: str) -> None:
        self._signer = URLSafeSerializer(
            token, salt="hooke cursor", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def seal(self, listing: str, key: str | int) -> str:
        """Return the cursor of the last key of a page."""
        return str(self._signer.dumps([listing, key]))

    def open(self, listing: str, cursor: str) -> str:
        """Return the key of a cursor. Raises Invalid unless this server made it for this list."""
        try:
            found, key = self._signer.loads(cursor)
        except BadData:
            found, key = "", ""
        if found == listing:
            return str(key)
        fault = Fault(pointer="query/cursor", message="not a cursor of this list: start again without one")
        raise Invalid("the cursor cannot be used", [fault])
