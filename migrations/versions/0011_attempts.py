"""Random tokens of attempts, retries, pauses after failed launches, and clocks that are only displayed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

WAITING = ["host", "state", "experiment_id", "algorithm", "simulated", "workers", "servers", "budget"]


def upgrade() -> None:
    op.create_table(
        "attempt_tokens",
        sa.Column("token_sha256", sa.String(64), nullable=False),
        sa.Column("run_id", sa.String(40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_attempt_tokens_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_sha256", name=op.f("pk_attempt_tokens")),
    )
    op.create_index(op.f("ix_attempt_tokens_run_id_attempt"), "attempt_tokens", ["run_id", "attempt"])
    # attempts that have been sent keep their tokens
    op.execute(
        "INSERT INTO attempt_tokens (token_sha256, run_id, attempt, created_at) "
        "SELECT token_sha256, run_id, number, created_at FROM attempts"
    )
    with op.batch_alter_table("attempts") as attempts:
        attempts.drop_constraint(op.f("uq_attempts_token_sha256"), type_="unique")
        attempts.drop_column("token_sha256")
        attempts.add_column(sa.Column("sends", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True))
    op.add_column("runs", sa.Column("resume_from", sa.Integer(), nullable=False, server_default="1"))
    op.drop_index("ix_runs_waiting", "runs")
    op.create_index("ix_runs_waiting", "runs", [*WAITING, "not_before"])
    op.add_column("transitions", sa.Column("reported_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("transitions", sa.Column("cause", sa.String(16), nullable=True))
    op.add_column("clusters", sa.Column("clock_offset", sa.Double(), nullable=True))
    op.add_column("clusters", sa.Column("failed_launches", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("clusters", sa.Column("held_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("clusters", sa.Column("held_why", sa.Text(), nullable=True))


def downgrade() -> None:
    for name in ("held_why", "held_until", "failed_launches", "clock_offset"):
        op.drop_column("clusters", name)
    for name in ("cause", "reported_at"):
        op.drop_column("transitions", name)
    op.drop_index("ix_runs_waiting", "runs")
    op.create_index("ix_runs_waiting", "runs", WAITING)
    for name in ("resume_from", "not_before", "failures"):
        op.drop_column("runs", name)
    with op.batch_alter_table("attempts") as attempts:
        attempts.drop_column("sends")
        attempts.add_column(sa.Column("token_sha256", sa.String(64), nullable=True))
    # one token of each; an attempt that was never sent has none, and gets a value that no token has
    op.execute(
        "UPDATE attempts SET token_sha256 = COALESCE("
        "(SELECT MIN(t.token_sha256) FROM attempt_tokens t "
        "WHERE t.run_id = attempts.run_id AND t.attempt = attempts.number), "
        "attempts.run_id || '.' || attempts.number)"
    )
    with op.batch_alter_table("attempts") as attempts:
        attempts.alter_column("token_sha256", existing_type=sa.String(64), nullable=False)
        attempts.create_unique_constraint(op.f("uq_attempts_token_sha256"), ["token_sha256"])
    op.drop_table("attempt_tokens")
