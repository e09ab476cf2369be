"""Users, their tokens and sessions; the audit trail, which the database lets nobody change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
MOMENT = sa.DateTime(timezone=True)

SQLITE = [
    f"CREATE TRIGGER audit_trail_{what.lower()} BEFORE {what} ON audit_trail "
    "BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END"
    for what in ("UPDATE", "DELETE")
]
POSTGRES = [
    "CREATE FUNCTION audit_trail_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$",
    "CREATE TRIGGER audit_trail_rows BEFORE UPDATE OR DELETE ON audit_trail "
    "FOR EACH ROW EXECUTE FUNCTION audit_trail_refuse()",
    "CREATE TRIGGER audit_trail_table BEFORE TRUNCATE ON audit_trail "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_trail_refuse()",
]


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("signed_in_at", MOMENT, nullable=True),
        sa.Column("invite_sha256", sa.String(64), nullable=True),
        sa.Column("invite_until", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        sa.UniqueConstraint("invite_sha256", name=op.f("uq_users_invite_sha256")),
    )
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("user_id", sa.String(40), nullable=True),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("token_sha256", sa.String(64), nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_access_tokens_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_tokens")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_access_tokens_token_sha256")),
    )
    op.create_index(op.f("ix_access_tokens_user_id"), "access_tokens", ["user_id"])
    op.create_table(
        "browser_sessions",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("user_id", sa.String(40), nullable=True),
        sa.Column("session_sha256", sa.String(64), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_browser_sessions_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_browser_sessions")),
        sa.UniqueConstraint("session_sha256", name=op.f("uq_browser_sessions_session_sha256")),
    )
    op.create_index(op.f("ix_browser_sessions_user_id"), "browser_sessions", ["user_id"])
    op.create_table(
        "audit_trail",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("actor", sa.String(120), nullable=False),
        sa.Column("credential", sa.String(60), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_trail")),
    )
    for name in ("actor", "subject", "address"):
        op.create_index(op.f(f"ix_audit_trail_{name}_id"), "audit_trail", [name, "id"])
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRES:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit_trail")
    if op.get_bind().dialect.name != "sqlite":
        op.execute("DROP FUNCTION audit_trail_refuse()")
    op.drop_table("browser_sessions")
    op.drop_table("access_tokens")
    op.drop_table("users")
