"""When runs were last dispatched to a cluster, for the turns of clusters on one machine."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clusters", sa.Column("served_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE clusters SET served_at = (SELECT max(attempts.created_at) FROM attempts"
        " JOIN runs ON runs.id = attempts.run_id WHERE runs.host = clusters.name)"
    )


def downgrade() -> None:
    op.drop_column("clusters", "served_at")
