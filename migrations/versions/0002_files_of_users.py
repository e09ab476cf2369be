"""What the whole catalogue has to say: files of users, warnings, notes, staleness, lost mass, dropped workers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _added() -> dict[str, list[sa.Column]]:
    return {
        "clusters": [sa.Column("problems", sa.JSON(), nullable=False, server_default="[]")],
        "experiments": [sa.Column("warnings", sa.JSON(), nullable=False, server_default="[]")],
        "runs": [
            sa.Column("staleness", sa.Double(), nullable=True),
            sa.Column("lost_mass", sa.Double(), nullable=True),
        ],
        "attempts": [sa.Column("checkpoints_asked", sa.Integer(), nullable=False, server_default="0")],
        "phase_totals": [
            sa.Column("notes", sa.JSON(), nullable=False, server_default="{}"),
            sa.Column("staleness", sa.JSON(), nullable=False, server_default="{}"),
        ],
        "checkpoints": [sa.Column("at", sa.DateTime(timezone=True), nullable=True)],
    }


def upgrade() -> None:
    for table, columns in _added().items():
        for column in columns:
            op.add_column(table, column)
    op.create_table(
        "dropped_workers",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_dropped_workers_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "rank", "seq", name=op.f("pk_dropped_workers")),
    )


def downgrade() -> None:
    op.drop_table("dropped_workers")
    for table, columns in reversed(_added().items()):
        for column in columns:
            op.drop_column(table, column.name)
