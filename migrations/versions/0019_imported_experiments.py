"""Imported experiments: when, from where, and which measurement."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

INDEX = "ix_experiments_bundle_sha256"


def upgrade() -> None:
    op.add_column("experiments", sa.Column("imported_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("experiments", sa.Column("bundle_sha256", sa.String(64), nullable=True))
    op.add_column("experiments", sa.Column("origin", sa.JSON(), nullable=True))
    op.create_index(op.f(INDEX), "experiments", ["bundle_sha256"], unique=True)


def downgrade() -> None:
    op.drop_index(op.f(INDEX), table_name="experiments")
    for name in ("origin", "bundle_sha256", "imported_at"):
        op.drop_column("experiments", name)
