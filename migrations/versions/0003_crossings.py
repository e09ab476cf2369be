"""When a run had not yet met its target, and whether it diverged; of earlier runs, from what is stored of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("target_after", sa.Double(), nullable=True))
    op.add_column("runs", sa.Column("diverged", sa.Boolean(), nullable=False, server_default=sa.false()))
    # the evaluation that met the target is the run's first with that clock; those before it had fewer samples
    op.execute(
        sa.text(
            """
            UPDATE runs SET target_after = COALESCE((
                SELECT MAX(earlier.clock) FROM evaluations AS earlier
                WHERE earlier.run_id = runs.id AND earlier.clock <= runs.time_to_target AND earlier.samples < (
                    SELECT MIN(met.samples) FROM evaluations AS met
                    WHERE met.run_id = runs.id AND met.attempt = runs.attempt AND met.reached
                )
            ), 0)
            WHERE time_to_target IS NOT NULL
            """
        )
    )
    # so far a rank that NumericalError ended had the same exit status as any other error of the user's
    op.execute(
        sa.text(
            """
            UPDATE runs SET diverged = (1 = 1)
            WHERE state = 'failed_user' AND EXISTS (
                SELECT 1 FROM transitions
                WHERE transitions.run_id = runs.id AND transitions.attempt = runs.attempt
                AND transitions.state = 'failed_user' AND transitions.why LIKE '%NumericalError%'
            )
            """
        )
    )


def downgrade() -> None:
    op.drop_column("runs", "diverged")
    op.drop_column("runs", "target_after")
