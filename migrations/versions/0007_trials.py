"""Runs that are trials of a tuning, and experiments to which runs will be added."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("trial", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("rung", sa.Integer(), nullable=True))
    op.add_column("experiments", sa.Column("planning", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("experiments", sa.Column("cores", sa.JSON(), nullable=False, server_default="{}"))


def downgrade() -> None:
    trials = op.get_bind().execute(sa.text("SELECT count(*) FROM runs WHERE rung IS NOT NULL")).scalar_one()
    if trials:  # without these columns they would be compared like all other runs
        raise RuntimeError(
            f"{trials} runs are trials of a tuning, which version 0006 cannot tell from reported runs: "
            "export what you need and begin with a new database, or stay at 0007"
        )
    op.drop_column("experiments", "cores")
    op.drop_column("experiments", "planning")
    op.drop_column("runs", "rung")
    op.drop_column("runs", "trial")
