"""When experiments were restored; the project that a webhook tells of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiments", sa.Column("restored_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("webhooks", sa.Column("project_id", sa.String(40), nullable=True))


def downgrade() -> None:
    """A webhook of one project is switched off: the version before would tell it of all."""
    off = "UPDATE webhooks SET active = :off, off_why = 'it was of one project' WHERE project_id IS NOT NULL"
    op.execute(sa.text(off).bindparams(off=False))
    op.drop_column("webhooks", "project_id")
    op.drop_column("experiments", "restored_at")
