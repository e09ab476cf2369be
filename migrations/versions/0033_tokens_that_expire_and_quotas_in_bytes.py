"""When tokens of agents expire and which one they renew; how many bytes a project may hold."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("cluster_tokens", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("cluster_tokens", sa.Column("renews", sa.String(40), nullable=True))
    op.add_column("projects", sa.Column("quota_bytes", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("projects", "quota_bytes")
    op.drop_column("cluster_tokens", "renews")
    op.drop_column("cluster_tokens", "expires_at")
