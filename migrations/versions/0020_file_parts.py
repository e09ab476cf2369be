"""Files of attempts: traces, and samples of what ranks use."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "file_parts",
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_file_parts_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "name", "first", name=op.f("pk_file_parts")),
    )


def downgrade() -> None:
    op.drop_table("file_parts")
