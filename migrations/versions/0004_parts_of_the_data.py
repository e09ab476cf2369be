"""Which part of the data a run's evaluations score, and its score on the test part, once.

Runs that have begun before scored the test part: nothing else existed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("evaluated_part", sa.String(length=16), nullable=True))
    op.add_column("runs", sa.Column("test_accuracy", sa.Double(), nullable=True))
    op.add_column("runs", sa.Column("test_loss", sa.Double(), nullable=True))
    runs, ranks = (
        sa.table("runs", sa.column("id"), sa.column("evaluated_part")),
        sa.table("phase_totals", sa.column("run_id"), sa.column("host")),
    )
    begun = sa.select(ranks.c.run_id).where(ranks.c.host.is_not(None))
    op.execute(runs.update().where(runs.c.id.in_(begun)).values(evaluated_part="test"))


def downgrade() -> None:
    for column in ("test_loss", "test_accuracy", "evaluated_part"):
        op.drop_column("runs", column)
