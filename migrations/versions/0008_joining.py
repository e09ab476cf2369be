"""Tokens of clusters; identity, state and missing data of their agents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("clusters", sa.Column("agent", sa.String(40), nullable=True))
    op.add_column("clusters", sa.Column("place", sa.Text(), nullable=True))
    op.add_column("clusters", sa.Column("token", sa.String(40), nullable=True))
    op.add_column("clusters", sa.Column("protocol", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("clusters", sa.Column("draining", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("clusters", sa.Column("missing_data", sa.JSON(), nullable=False, server_default="{}"))
    op.create_table(
        "cluster_tokens",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("cluster", sa.String(64), nullable=False),
        sa.Column("label", sa.String(120), nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_cluster_tokens_project_id_projects")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster_tokens")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_cluster_tokens_token_sha256")),
    )
    op.create_index(op.f("ix_cluster_tokens_cluster_id"), "cluster_tokens", ["cluster", "id"])


def downgrade() -> None:
    op.drop_table("cluster_tokens")
    for name in ("missing_data", "draining", "protocol", "token", "place", "agent"):
        op.drop_column("clusters", name)
