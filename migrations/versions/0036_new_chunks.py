"""An index by which the chunks of a run that are new are found, however many there are."""

from __future__ import annotations

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_chunks_run_id_id"), "chunks", ["run_id", "id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_chunks_run_id_id"), "chunks")
