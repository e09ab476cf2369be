"""The phase in which hash tables are built: none of the ranks so far has spent time in it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("phase_totals", sa.Column("rebuild", sa.Double(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("phase_totals", "rebuild")
