"""An index that filters of experiments read instead of rows."""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

COLUMNS = (
    *("experiment_id", "rung", "state", "algorithm", "variant", "cluster", "finished_at", "number"),
    *("accuracy", "loss", "test_accuracy", "test_loss", "time_to_target", "communication_fraction"),
    *("staleness", "lost_mass", "clock", "samples"),
)


def upgrade() -> None:
    op.create_index("ix_runs_filters", "runs", list(COLUMNS))


def downgrade() -> None:
    op.drop_index("ix_runs_filters", "runs")
