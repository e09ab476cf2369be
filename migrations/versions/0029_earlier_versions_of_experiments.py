"""What experiments were before they were extended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("earlier", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("experiments", "earlier")
