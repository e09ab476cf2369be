"""Further metrics of evaluations, and what runs declare of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("further", sa.JSON(), nullable=True))
    op.add_column("runs", sa.Column("further_metrics", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "further_metrics")
    op.drop_column("evaluations", "further")
