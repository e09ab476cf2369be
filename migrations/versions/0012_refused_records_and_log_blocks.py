"""Records that cannot be stored, of each attempt; lines of output in compressed blocks instead of a row each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

BLOCK_BYTES, BLOCK_LINES = 64 * 1024, 4096

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
LOGS = sa.table(
    "logs",
    *(sa.column(name) for name in ("position", "run_id", "attempt", "seq", "rank", "stream", "text")),
    sa.column("at", sa.DateTime(timezone=True)),
)
BLOCKS = sa.table(
    "log_blocks",
    *(sa.column(name) for name in ("id", "run_id", "attempt", "n", "size", "cut_lines", "cut_bytes")),
    sa.column("data", sa.LargeBinary()),
)


def upgrade() -> None:
    op.add_column("attempts", sa.Column("refused", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("attempts", sa.Column("refusals", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("attempts", sa.Column("log_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "log_blocks",
        sa.Column("id", BIG, nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("cut_lines", sa.BigInteger(), nullable=False),
        sa.Column("cut_bytes", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_log_blocks_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_blocks")),
    )
    op.create_index(op.f("ix_log_blocks_run_id_id"), "log_blocks", ["run_id", "id"])
    session = op.get_bind()
    for run in session.execute(sa.select(LOGS.c.run_id).distinct().order_by(LOGS.c.run_id)).scalars().all():
        rows = session.execute(sa.select(LOGS).where(LOGS.c.run_id == run).order_by(LOGS.c.position))
        for block in _blocks(rows.mappings()):
            session.execute(sa.insert(BLOCKS).values(run_id=run, cut_lines=0, cut_bytes=0, **block))
    op.drop_table("logs")
    session.execute(
        sa.text(
            "UPDATE attempts SET log_bytes = (SELECT coalesce(sum(b.size), 0) FROM log_blocks b "
            "WHERE b.run_id = attempts.run_id AND b.attempt = attempts.number)"
        )
    )


def _blocks(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    lines: list[list[Any]] = []
    size, attempt = 0, 0
    for row in rows:
        if lines and (row["attempt"] != attempt or size >= BLOCK_BYTES or len(lines) >= BLOCK_LINES):
            yield _packed(attempt, size, lines)
            lines, size = [], 0
        attempt = row["attempt"]
        at = row["at"].replace(tzinfo=UTC) if row["at"].tzinfo is None else row["at"]
        lines.append([row["rank"], row["stream"], round(at.timestamp(), 3), row["text"]])
        size += len(row["text"].encode())
    if lines:
        yield _packed(attempt, size, lines)


def _packed(attempt: int, size: int, lines: list[list[Any]]) -> dict[str, Any]:
    text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
    return {"attempt": attempt, "n": len(lines), "size": size, "data": zlib.compress(text.encode(), 6)}


def downgrade() -> None:
    op.create_table(
        "logs",
        sa.Column("position", BIG, nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_logs_run_id_runs")),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_logs")),
        sa.UniqueConstraint("run_id", "attempt", "seq", name=op.f("uq_logs_run_id_attempt_seq")),
    )
    op.create_index(op.f("ix_logs_run_id_position"), "logs", ["run_id", "position"])
    session = op.get_bind()
    counts: dict[tuple[str, int], int] = {}
    for block in session.execute(sa.select(BLOCKS).order_by(BLOCKS.c.id)).mappings().all():
        key = (block["run_id"], block["attempt"])
        rows = []
        for rank, stream, unix, text in json.loads(zlib.decompress(block["data"])):
            seq = counts[key] = counts.get(key, -1) + 1
            row = {"rank": rank, "stream": stream, "at": datetime.fromtimestamp(unix, UTC), "text": text}
            rows.append({"run_id": key[0], "attempt": key[1], "seq": seq, **row})
        session.execute(sa.insert(LOGS), rows)
    op.drop_table("log_blocks")
    op.drop_column("attempts", "log_bytes")
    op.drop_column("attempts", "refusals")
    op.drop_column("attempts", "refused")
