"""Steps of ended runs in objects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "compacted_runs",
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("key", sa.String(120), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("last_chunk", sa.BigInteger(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("raw", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_compacted_runs_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_compacted_runs")),
    )
    op.create_table(
        "loose_objects",
        sa.Column("key", sa.String(120), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("discarded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_loose_objects")),
    )


def downgrade() -> None:
    count = op.get_bind().execute(sa.text("SELECT count(*) FROM compacted_runs")).scalar_one()
    if count:
        raise RuntimeError(
            f"the steps of {count} runs are in objects, which earlier versions do not read: end the API, and move "
            "them back to the database with `hooke objects --expand`"
        )
    op.drop_table("loose_objects")
    op.drop_table("compacted_runs")
