"""Records that cannot be stored, of each attempt."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("refused", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("attempts", sa.Column("refusals", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("attempts", "refusals")
    op.drop_column("attempts", "refused")
