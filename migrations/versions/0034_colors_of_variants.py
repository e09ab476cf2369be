"""Which color of the palette each variant of an experiment has; those so far have them by their places."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("colors", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("experiments", "colors")
