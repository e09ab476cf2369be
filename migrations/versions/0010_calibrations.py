"""Calibrations of clusters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "calibrations",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("cluster", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("workloads", sa.JSON(), nullable=False),
        sa.Column("precisions", sa.JSON(), nullable=False),
        sa.Column("document", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.ForeignKeyConstraint(["cluster"], ["clusters.name"], name=op.f("fk_calibrations_cluster_clusters")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_calibrations_project_id_projects")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrations")),
    )
    op.create_index(op.f("ix_calibrations_cluster"), "calibrations", ["cluster"])


def downgrade() -> None:
    op.drop_table("calibrations")
