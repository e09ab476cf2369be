"""Files of an attempt that are delivered to the API: they only grow, and are stored in parts."""

from __future__ import annotations

import base64
import zlib

from pydantic import Field

from hooke.errors import JournalError
from hooke.spec.frozen import Frozen

SYSTEM = "system"
"""The file of `hooke.cluster.sampling`; it is delivered during the run, a trace after it."""
PART_BYTES = 256 << 10
"""Maximum bytes of a part, and of all parts that a supervisor sends in a request, before compression."""


class FilePart(Frozen):
    """Consecutive bytes of a file; a part that is sent twice is stored once."""

    name: str = Field(pattern=r"^(trace\.(0|[1-9][0-9]{0,4})|system)$")
    """`trace.<rank>` (`hooke.trace`), or `system` (`hooke.cluster.sampling`)."""
    start: int = Field(ge=0, lt=2**40)
    """Bytes of the file before these."""
    size: int = Field(ge=0, le=PART_BYTES)
    """Number of these bytes; 0: the part only asks how many are stored."""
    data: str = Field("", max_length=2 * PART_BYTES)
    """Base64 of these bytes compressed by zlib."""

    @property
    def rank(self) -> int | None:
        """Return whose trace it is; None of a file of the whole attempt."""
        return None if self.name == SYSTEM else int(self.name.removeprefix("trace."))


def packed(name: str, start: int, content: bytes) -> FilePart:
    """Return a part of a file, whose compression takes about 6 ms for PART_BYTES."""
    data = base64.b64encode(zlib.compress(content, 3)).decode() if content else ""
    return FilePart(name=name, start=start, size=len(content), data=data)


def compressed(part: FilePart) -> bytes:
    """Return the compressed bytes of a part. Raises JournalError unless they are `size` bytes compressed."""
    try:
        data = base64.b64decode(part.data, validate=True)
        machine = zlib.decompressobj()
        content = machine.decompress(data, part.size + 1)
    except (ValueError, zlib.error) as error:  # of base64: also of text that is not ASCII
        raise JournalError(
            f"the part at byte {part.start} of {part.name} is not base64 of zlib: {error}"
        ) from None
    if len(data) > part.size + part.size // 256 + 64:  # zlib adds less: empty blocks, or bytes behind its end
        raise JournalError(f"the part at byte {part.start} of {part.name} is longer than its {part.size} bytes")
    if len(content) != part.size or not machine.eof or machine.unused_data:
        raise JournalError(f"the part at byte {part.start} of {part.name} does not hold {part.size} bytes")
    return data
