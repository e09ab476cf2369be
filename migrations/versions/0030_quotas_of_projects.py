"""How many points a project may hold."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("projects", sa.Column("quota", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("projects", "quota")
