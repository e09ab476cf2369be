"""Files of attempts (traces, samples of the system), in the compressed parts in which they arrive."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from hooke.spec.files import FilePart
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models import StoredFilePart


def append(
    session: Session, run_id: str, attempt: int, parts: Sequence[tuple[FilePart, bytes]], limit: int
) -> dict[str, int]:
    """Store parts, with their compressed bytes, that continue their files.

    Returns for each file the number of its first bytes that are stored without gap. Of an attempt, `limit` bytes
    are kept; what follows is acknowledged, and the reader finds that it is missing.
    """
    mine = (StoredFilePart.run_id == run_id) & (StoredFilePart.attempt == attempt)
    sizes = select(StoredFilePart.name, func.sum(StoredFilePart.size)).where(mine).group_by(StoredFilePart.name)
    stored = {name: int(size) for name, size in session.execute(sizes)}
    answer = {}
    for part, data in parts:
        have = stored.get(part.name, 0)
        if part.size and part.start == have:
            kept = data if sum(stored.values()) + part.size <= limit else b""
            row = {"run_id": run_id, "attempt": attempt, "name": part.name, "first": have}
            session.add(StoredFilePart(**row, size=part.size, data=kept))
            have = stored[part.name] = have + part.size
        answer[part.name] = have
    return answer


def sizes_of(session: Session, run_id: str, attempt: int) -> dict[str, int]:
    """Return the number of bytes of each file of an attempt, without those that were not kept."""
    query = (
        select(StoredFilePart.name, func.sum(StoredFilePart.size))
        .where(StoredFilePart.run_id == run_id, StoredFilePart.attempt == attempt, StoredFilePart.data != b"")
        .group_by(StoredFilePart.name)
    )
    return {name: int(size) for name, size in session.execute(query)}


def read(session: Session, run_id: str, attempt: int, name: str) -> bytes:
    """Return a file as far as it is stored without gap; empty if there is none."""
    key = (StoredFilePart.run_id == run_id, StoredFilePart.attempt == attempt, StoredFilePart.name == name)
    content = bytearray()
    for row in session.scalars(select(StoredFilePart).where(*key).order_by(StoredFilePart.first)):
        if not row.data:
            break
        content += zlib.decompress(row.data)
    return bytes(content)
