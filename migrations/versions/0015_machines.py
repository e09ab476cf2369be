"""Machines of clusters, runs that overlapped with another cluster's there, and indexes of filtered lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

FILTERS = ("variant", "cluster")


def upgrade() -> None:
    op.add_column("clusters", sa.Column("machines", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("runs", sa.Column("overlap", sa.String(64), nullable=True))
    for name in FILTERS:
        op.create_index(op.f(f"ix_runs_{name}_id"), "runs", [name, "id"])


def downgrade() -> None:
    for name in FILTERS:
        op.drop_index(op.f(f"ix_runs_{name}_id"), "runs")
    op.drop_column("runs", "overlap")
    op.drop_column("clusters", "machines")
