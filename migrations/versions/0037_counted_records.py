"""How many chunks and evaluations each run has, so that a look at one in progress does not count them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("chunks", "evaluations"):
        op.add_column("runs", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.execute(
        "UPDATE runs SET evaluations = (SELECT count(*) FROM evaluations WHERE run_id = runs.id),"
        " chunks = (SELECT count(*) FROM chunks WHERE run_id = runs.id)"
        " + coalesce((SELECT chunks FROM compacted_runs WHERE run_id = runs.id), 0)"
    )


def downgrade() -> None:
    op.drop_column("runs", "evaluations")
    op.drop_column("runs", "chunks")
