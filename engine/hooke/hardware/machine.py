"""Which machine this is: an identity that all agents on it share, and no other machine has."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from hooke.hardware.files import text

_KEY = b"hooke: identity of a machine"
"""So that neither /etc/machine-id nor the boot id leave the machine, which other programs may take for secrets."""
_SOURCES = ("proc/sys/kernel/random/boot_id", "etc/machine-id", "var/lib/dbus/machine-id")
"""The best first. Containers of one kernel have the same boot id and perhaps different machine ids, and machines
that start from one image have different boot ids and perhaps the same machine id."""


def machine(root: Path = Path("/"), kept: Path | None = None) -> str:
    """Return the identity of this machine: 32 hexadecimal digits, others after a restart of the machine.

    Where the system has none it is random: kept in the file `kept`, or empty without one. `root` is where /proc
    and /etc are mounted. Raises OSError if that file cannot be written.
    """
    found = next((f"{name} {told}" for name in _SOURCES if (told := text(root / name))), "")
    if found:
        return hmac.new(_KEY, found.encode(), hashlib.sha256).hexdigest()[:32]
    if kept is None:
        return ""
    if not (told := text(kept)):
        told = secrets.token_hex(16)
        kept.write_text(told + "\n")
    return told
