"""Settings of the API: environment variables that begin with HOOKE_, and the two secrets in its home folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

_ROOT = Path(__file__).resolve().parents[3]


class Settings(BaseSettings):
    """Everything that may differ between two instances; `HOOKE_PORT=8471` sets `port`, and so on."""

    model_config = SettingsConfigDict(env_prefix="HOOKE_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=lambda: Path.home() / ".hooke")
    """Folder of this instance: database, secrets, runs. Two instances need two."""
    database_url: str | None = None
    """An SQLAlchemy URL, `postgresql+psycopg://...`; default: SQLite, `hooke.db` in the home folder."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Carries tasks to the agents and hints to browsers; `unix:///path/redis.sock` for a socket."""
    host: str = "127.0.0.1"
    port: int = Field(7450, ge=0, le=65535)
    allowed_hosts: list[str] = Field(default_factory=list)
    """Further values of the Host header (without port) that are this server; a defence against DNS rebinding."""
    start_token: str | None = Field(None, alias="HOOKE_TOKEN")
    """Start-up token; default: the file `token` in the home folder, made when absent."""
    agent_token: str | None = None
    """What agents present; default: the file `agent-token` in the home folder, made when absent."""
    migrations: Path = _ROOT / "migrations"
    """Folder of the Alembic migrations; the default is right in a clone, an installation sets it."""
    dashboard: Path = Path(__file__).resolve().parents[1] / "dashboard"
    """Folder of the built dashboard."""
    log_level: str = "info"

    body_limit: int = 1024 * 1024
    """Bytes of a request body, except ingest."""
    ingest_limit: int = 16 * 1024 * 1024
    """Bytes of an ingest body as sent."""
    inflated_limit: int = 128 * 1024 * 1024
    """Bytes of an ingest body after decompression: a bomb stops here."""
    events_kept: int = 100_000
    """Events older than the newest so many are forgotten; a stream asking for them is told to fetch again."""

    schedule: bool = True
    """Whether this process takes part in scheduling; one leader at a time does the work."""
    schedule_seconds: float = Field(0.3, gt=0)
    lease_seconds: float = Field(40.0, gt=0)
    """A run whose supervisor was silent for so long is lost; nothing expires before the API was up this long."""
    resend_seconds: float = Field(20.0, gt=0)
    """A dispatched run that did not start in this time is sent again."""
    probe_seconds: float = Field(10.0, gt=0)
    """A lost run is probed so often until its agent answers."""
    agent_seconds: float = Field(40.0, gt=0)
    """A cluster whose agent was silent for so long is offline."""
    leader_seconds: float = Field(5.0, gt=0)
    """A scheduling process that died is replaced after so long."""
    max_attempts: int = Field(2, ge=1)
    """A run whose attempt died with proof starts again until it had so many."""

    @property
    def url(self) -> str:
        """Return the database URL."""
        return self.database_url or f"sqlite:///{self.home / 'hooke.db'}"

    @property
    def token(self) -> str:
        """Return the start-up token; make it on first use."""
        return self.start_token or secret(self.home / "token")

    @property
    def agents(self) -> str:
        """Return the token of agents; make it on first use."""
        return self.agent_token or secret(self.home / "agent-token")


def secret(path: Path) -> str:
    """Return the secret in a file only its owner can read; write a new one when there is none.

    The file appears whole under its name or not at all, so two processes that start together agree.
    """
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    try:
        os.link(draft, path)  # fails, unlike rename, when another process was first
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
