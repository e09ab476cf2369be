"""The policy of a cluster's queue, priorities of experiments, and indexes for both."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

WAITING = ["host", "state", "experiment_id", "algorithm", "simulated", "workers", "servers", "budget"]


def upgrade() -> None:
    op.add_column("clusters", sa.Column("policy", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("experiments", sa.Column("priority", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_runs_waiting", "runs", WAITING)
    op.create_index("ix_runs_host_finished_at", "runs", ["host", "finished_at"])


def downgrade() -> None:
    op.drop_index("ix_runs_host_finished_at", "runs")
    op.drop_index("ix_runs_waiting", "runs")
    op.drop_column("experiments", "priority")
    op.drop_column("clusters", "policy")
