"""The first tables, and the one project that owns everything until users make more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.execute("INSERT INTO counters (name, value) VALUES ('events', 0), ('experiments:prj_default', 0)")
    op.create_table(
        "events",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("experiment_id", sa.String(length=40), nullable=True),
        sa.Column("run_id", sa.String(length=40), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_events")),
    )
    op.create_index("ix_events_experiment_id_position", "events", ["experiment_id", "position"], unique=False)
    op.create_index("ix_events_run_id_position", "events", ["run_id", "position"], unique=False)
    op.create_table(
        "leaders",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("holder", sa.String(length=120), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leaders")),
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )
    op.execute("INSERT INTO projects (id, name, created_at) VALUES ('prj_default', 'Default', CURRENT_TIMESTAMP)")
    op.create_table(
        "clusters",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("launcher", sa.String(length=16), nullable=False),
        sa.Column("hardware", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_clusters_project_id_projects")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_clusters")),
    )
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("workload", sa.String(length=64), nullable=False),
        sa.Column("variants", sa.JSON(), nullable=False),
        sa.Column("clusters", sa.JSON(), nullable=False),
        sa.Column("baseline", sa.String(length=120), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_experiments_project_id_projects")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_experiments_project_id_number")),
    )
    op.create_table(
        "catalogue",
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["cluster"], ["clusters.name"], name=op.f("fk_catalogue_cluster_clusters")),
        sa.PrimaryKeyConstraint("cluster", "kind", "name", name=op.f("pk_catalogue")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("experiment_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name=op.f("fk_idempotency_keys_experiment_id_experiments")
        ),
        sa.PrimaryKeyConstraint("key", "created_by", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("experiment_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("variant", sa.String(length=120), nullable=False),
        sa.Column("algorithm", sa.String(length=64), nullable=False),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=64), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("servers", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column(
            "state",
            sa.String(length=16),
            nullable=False,
        ),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("loss", sa.Double(), nullable=True),
        sa.Column("time_to_target", sa.Double(), nullable=True),
        sa.Column("communication_fraction", sa.Double(), nullable=True),
        sa.Column("clock", sa.Double(), nullable=False),
        sa.Column("oversubscribed", sa.Boolean(), nullable=False),
        sa.Column("hardware", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("project_id", sa.String(length=40), nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name=op.f("fk_runs_experiment_id_experiments")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_runs_project_id_projects")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("experiment_id", "number", name=op.f("uq_runs_experiment_id_number")),
    )
    op.create_index("ix_runs_experiment_id_state", "runs", ["experiment_id", "state"], unique=False)
    op.create_index("ix_runs_host_state_id", "runs", ["host", "state", "id"], unique=False)
    op.create_index("ix_runs_state_id", "runs", ["state", "id"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reports", sa.Integer(), nullable=False),
        sa.Column("logs", sa.BigInteger(), nullable=False),
        sa.Column("restored_step", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_attempts_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_attempts")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_attempts_token_sha256")),
    )
    op.create_table(
        "checkpoints",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_checkpoints_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "rank", "seq", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "chunks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("header", sa.JSON(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_chunks_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunks")),
        sa.UniqueConstraint("run_id", "attempt", "rank", "seq", name=op.f("uq_chunks_run_id_attempt_rank_seq")),
    )
    op.create_table(
        "evaluations",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("clock", sa.Double(), nullable=False),
        sa.Column("wall", sa.Double(), nullable=False),
        sa.Column("loss", sa.Double(), nullable=True),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("reached", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_evaluations_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "rank", "seq", name=op.f("pk_evaluations")),
    )
    op.create_table(
        "logs",
        sa.Column("position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_logs_run_id_runs")),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_logs")),
        sa.UniqueConstraint("run_id", "attempt", "seq", name=op.f("uq_logs_run_id_attempt_seq")),
    )
    op.create_index("ix_logs_run_id_position", "logs", ["run_id", "position"], unique=False)
    op.create_table(
        "phase_totals",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("stored", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.String(length=16), nullable=True),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("unix", sa.Double(), nullable=True),
        sa.Column("monotonic", sa.Double(), nullable=True),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("clock", sa.Double(), nullable=False),
        sa.Column("wall", sa.Double(), nullable=False),
        sa.Column("data", sa.Double(), nullable=False),
        sa.Column("compute", sa.Double(), nullable=False),
        sa.Column("communicate", sa.Double(), nullable=False),
        sa.Column("update", sa.Double(), nullable=False),
        sa.Column("evaluate", sa.Double(), nullable=False),
        sa.Column("idle", sa.Double(), nullable=False),
        sa.Column("hidden", sa.Double(), nullable=False),
        sa.Column("payload", sa.BigInteger(), nullable=False),
        sa.Column("wire", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_phase_totals_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "rank", name=op.f("pk_phase_totals")),
    )
    op.create_table(
        "summaries",
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=64), nullable=False),
        sa.Column("first", sa.Double(), nullable=False),
        sa.Column("last", sa.Double(), nullable=False),
        sa.Column("min", sa.Double(), nullable=False),
        sa.Column("max", sa.Double(), nullable=False),
        sa.Column("argmin", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_summaries_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "metric", name=op.f("pk_summaries")),
    )
    op.create_table(
        "transitions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column(
            "source",
            sa.String(length=16),
            nullable=True,
        ),
        sa.Column(
            "state",
            sa.String(length=16),
            nullable=False,
        ),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.String(length=120), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("host", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_transitions_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transitions")),
    )
    op.create_index("ix_transitions_run_id_id", "transitions", ["run_id", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_transitions_run_id_id", table_name="transitions")
    op.drop_table("transitions")
    op.drop_table("summaries")
    op.drop_table("phase_totals")
    op.drop_index("ix_logs_run_id_position", table_name="logs")
    op.drop_table("logs")
    op.drop_table("evaluations")
    op.drop_table("chunks")
    op.drop_table("checkpoints")
    op.drop_table("attempts")
    op.drop_index("ix_runs_state_id", table_name="runs")
    op.drop_index("ix_runs_host_state_id", table_name="runs")
    op.drop_index("ix_runs_experiment_id_state", table_name="runs")
    op.drop_table("runs")
    op.drop_table("idempotency_keys")
    op.drop_table("catalogue")
    op.drop_table("experiments")
    op.drop_table("clusters")
    op.drop_table("projects")
    op.drop_table("leaders")
    op.drop_index("ix_events_run_id_position", table_name="events")
    op.drop_index("ix_events_experiment_id_position", table_name="events")
    op.drop_table("events")
    op.drop_table("counters")
