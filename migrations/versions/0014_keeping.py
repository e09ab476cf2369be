"""Deletion with an undo period, tags, notes and marks of experiments, headlines, removals on clusters."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def _added() -> list[sa.Column[Any]]:
    return [
        sa.Column("starred", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("protected", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("note", sa.Text(), nullable=False, server_default=""),
        sa.Column("revision", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_by", sa.String(120), nullable=True),
        sa.Column("purge_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("headlines", sa.JSON(), nullable=False, server_default="[]"),
        sa.Column("headlines_at", sa.DateTime(timezone=True), nullable=True),
    ]


def upgrade() -> None:
    for column in _added():
        op.add_column("experiments", column)
    op.create_table(
        "experiment_tags",
        sa.Column("experiment_id", sa.String(40), nullable=False),
        sa.Column("tag", sa.String(40), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_experiment_tags_experiment_id_experiments"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("experiment_id", "tag", name=op.f("pk_experiment_tags")),
    )
    op.create_index(op.f("ix_experiment_tags_tag_experiment_id"), "experiment_tags", ["tag", "experiment_id"])
    op.create_table(
        "removals",
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("cluster", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_removals")),
    )
    op.create_index(op.f("ix_removals_cluster_asked_at"), "removals", ["cluster", "asked_at"])


def downgrade() -> None:
    _refuse_deleted()
    op.drop_table("removals")
    op.drop_table("experiment_tags")
    for column in reversed(_added()):
        op.drop_column("experiments", column.name)


def _refuse_deleted() -> None:
    """An earlier version would show deleted experiments again."""
    deleted = op.get_bind().scalar(sa.text("SELECT count(*) FROM experiments WHERE deleted_at IS NOT NULL"))
    if deleted:
        raise RuntimeError(
            f"{deleted} experiments are deleted and not yet purged, and an earlier version would show them again: "
            "restore them, or wait until they are purged"
        )
