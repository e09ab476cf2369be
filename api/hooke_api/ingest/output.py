"""Stores the output of attempts in compressed blocks, and cuts what is too long from its middle.

The beginning says what a run is, and the end why it ended: of an attempt with more output than the limit, the
first half of the limit and the latest lines are kept. A block with one line that says so stands where others were.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from hooke_api.models import Attempt, LogBlock
from hooke_api.storage.lines import MOST_LINES, WHOLE_BYTES, StoredLine, pack, parts, unpack


def append(session: Session, attempt: Attempt, lines: Sequence[StoredLine], limit: int) -> None:
    """Store lines behind those of an attempt, of which about `limit` bytes of text are kept."""
    newest = select(LogBlock).where(LogBlock.run_id == attempt.run_id).order_by(LogBlock.id.desc()).limit(1)
    last = session.scalars(newest).first()
    goes_on = last is not None and last.attempt == attempt.number and not last.cut_lines
    if last is not None and goes_on and last.size < WHOLE_BYTES and last.n + len(lines) <= MOST_LINES:
        _fill(last, [*unpack(last.data), *lines])
    else:
        for part in parts(lines):
            block = LogBlock(run_id=attempt.run_id, attempt=attempt.number, cut_lines=0, cut_bytes=0)
            _fill(block, part)
            session.add(block)
            session.flush()  # in this order: the number of a block is its place
    attempt.log_bytes += sum(line.bytes for line in lines)
    if attempt.log_bytes > limit:
        session.flush()
        _cut(session, attempt, limit)


def _fill(block: LogBlock, lines: Sequence[StoredLine]) -> None:
    block.n, block.size, block.data = len(lines), sum(line.bytes for line in lines), pack(lines)


def _cut(session: Session, attempt: Attempt, limit: int) -> None:
    """Replace the blocks behind the first half of the limit, as many as needed, by one that counts them."""
    columns = (LogBlock.id, LogBlock.n, LogBlock.size, LogBlock.cut_lines, LogBlock.cut_bytes)
    mine = (LogBlock.run_id == attempt.run_id) & (LogBlock.attempt == attempt.number)
    blocks = session.execute(select(*columns).where(mine).order_by(LogBlock.id)).all()
    head, excess, gone = 0, attempt.log_bytes - limit, []
    for block in blocks[:-1]:  # the latest lines stay in any case
        head += block.size
        if excess > 0 and (block.cut_lines or head > limit // 2):
            gone.append(block)
            excess -= block.size
    if not gone:
        return
    lines = sum(block.cut_lines or block.n for block in gone)
    size = sum(block.cut_bytes + block.size for block in gone)
    attempt.log_bytes -= sum(block.size for block in gone)
    session.execute(delete(LogBlock).where(LogBlock.id.in_([block.id for block in gone[:-1]])))
    marker = session.get_one(LogBlock, gone[-1].id)
    marker.n, marker.size, marker.cut_lines, marker.cut_bytes = 1, 0, lines, size
    text = (
        f"[{lines:,} lines, {size / 2**20:.1f} MiB of output were cut here: of an attempt, the first "
        f"{limit / 2**21:.0f} MiB and the latest lines are kept, {limit / 2**20:.0f} MiB in all]"
    )
    marker.data = pack([StoredLine(-1, "supervisor", time.time(), text)])
