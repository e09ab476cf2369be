"""Orders to agents, which the broker names and agents claim."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_orders",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("cluster", sa.String(64), nullable=False),
        sa.Column("agent", sa.String(40), nullable=True),
        sa.Column("subjects", sa.JSON(), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claims", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_orders")),
    )
    for name in ("subject", "made_at"):
        op.create_index(op.f(f"ix_agent_orders_{name}"), "agent_orders", [name])


def downgrade() -> None:
    op.drop_table("agent_orders")
