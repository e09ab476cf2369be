"""The index of filters has what filters of runs name, too."""

from __future__ import annotations

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

FORMER = (
    *("experiment_id", "rung", "state", "algorithm", "variant", "cluster", "finished_at", "number"),
    *("accuracy", "loss", "test_accuracy", "test_loss", "time_to_target", "communication_fraction"),
    *("staleness", "lost_mass", "clock", "samples"),
)
ADDED = ("workers", "seed", "simulated", "id")


def upgrade() -> None:
    op.drop_index("ix_runs_filters", "runs")
    op.create_index("ix_runs_filters", "runs", [*FORMER, *ADDED])


def downgrade() -> None:
    op.drop_index("ix_runs_filters", "runs")
    op.create_index("ix_runs_filters", "runs", [*FORMER])
