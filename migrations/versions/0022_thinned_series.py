"""Series of ended runs at a limited resolution."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "thinned_series",
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(40), nullable=False),
        sa.Column("of_data", sa.String(120), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("gaps", sa.Boolean(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_thinned_series_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "most", "metric", name=op.f("pk_thinned_series")),
    )


def downgrade() -> None:
    op.drop_table("thinned_series")
