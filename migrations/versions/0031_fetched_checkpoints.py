"""Checkpoints that users fetch from clusters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "fetches",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("cluster", sa.String(64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("complete", sa.Text(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stored", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.Column("asked_at", moment, nullable=True),
        sa.Column("heard_at", moment, nullable=True),
        sa.Column("ended_at", moment, nullable=True),
        sa.Column("expires_at", moment, nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_fetches_run_id_runs"),
        sa.PrimaryKeyConstraint("id", name="pk_fetches"),
    )
    op.create_index("ix_fetches_run_id", "fetches", ["run_id"])
    op.create_index("ix_fetches_state", "fetches", ["state"])


def downgrade() -> None:
    op.drop_table("fetches")
