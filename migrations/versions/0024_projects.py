"""Projects with members; all experiments so far are in the default one, which everybody reaches."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
ONE_BUNDLE = "ix_experiments_bundle_sha256"
BUNDLES = "ix_experiments_project_id_bundle_sha256"


def _added() -> list[sa.Column[Any]]:
    return [
        sa.Column("description", sa.Text(), nullable=False, server_default=""),
        sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("keep_runs", sa.String(40), nullable=True),
        sa.Column("created_by", sa.String(120), nullable=False, server_default=""),
    ]


def upgrade() -> None:
    for column in _added():
        op.add_column("projects", column)
    op.execute("UPDATE projects SET name = 'default' WHERE id = 'prj_default'")
    op.create_index(op.f("ix_projects_name"), "projects", ["name"], unique=True)
    op.create_table(
        "project_members",
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("user_id", sa.String(40), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_project_members_project_id_projects")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_project_members_user_id_users")),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_project_members")),
    )
    op.create_index(op.f("ix_project_members_user_id"), "project_members", ["user_id"])
    op.create_index("ix_experiments_number", "experiments", ["number"], unique=True)
    op.drop_index(op.f(ONE_BUNDLE), table_name="experiments")
    op.create_index(BUNDLES, "experiments", ["project_id", "bundle_sha256"], unique=True)


def downgrade() -> None:
    """Experiments of other projects stay in them, which the version before leaves out of its lists."""
    op.drop_index(BUNDLES, table_name="experiments")
    op.execute(
        "UPDATE experiments SET bundle_sha256 = NULL WHERE EXISTS (SELECT 1 FROM experiments earlier "
        "WHERE earlier.bundle_sha256 = experiments.bundle_sha256 AND earlier.id < experiments.id)"
    )
    op.create_index(op.f(ONE_BUNDLE), "experiments", ["bundle_sha256"], unique=True)
    op.drop_index("ix_experiments_number", table_name="experiments")
    op.drop_table("project_members")
    op.drop_index(op.f("ix_projects_name"), table_name="projects")
    op.execute("UPDATE projects SET name = 'Default' WHERE id = 'prj_default'")
    for column in _added():
        op.drop_column("projects", column.name)
