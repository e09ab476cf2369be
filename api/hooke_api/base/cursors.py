"""Keyset cursors: the last key of a page, signed so that clients cannot build or edit one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json

from hooke.errors import Fault

from hooke_api.base.errors import Invalid

_SIGNATURE = 12


class Cursors:
    """Encodes and decodes the last key of a page; a cursor is valid for one list only."""

    def __init__(self, token: str) -> None:
        self._key = hashlib.sha256(b"hooke cursor key\0" + token.encode()).digest()

    def seal(self, listing: str, key: str | int) -> str:
        """Return the cursor of the last key of a page."""
        body = json.dumps([listing, key]).encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode().rstrip("=")

    def open(self, listing: str, cursor: str) -> str:
        """Return the key of a cursor. Raises Invalid unless this server made it for this list."""
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except (binascii.Error, ValueError):
            raw = b""
        signature, body = raw[:_SIGNATURE], raw[_SIGNATURE:]
        if hmac.compare_digest(signature, self._sign(body)):
            found, key = json.loads(body)
            if found == listing:
                return str(key)
        fault = Fault(pointer="query/cursor", message="not a cursor of this list: start again without one")
        raise Invalid("the cursor cannot be used", [fault])

    def _sign(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:_SIGNATURE]
