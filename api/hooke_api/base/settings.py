"""Settings of the API: environment variables with the prefix HOOKE_, and the two secrets in its home folder."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from hooke.errors import ArgumentError
from pydantic import BeforeValidator, Field, IPvAnyNetwork
from pydantic_settings import BaseSettings, SettingsConfigDict

from hooke_api.base.durations import at_least

_ROOT = Path(__file__).resolve().parents[3]


LEAST_KEPT = timedelta(hours=1)
LEAST_UNDO = timedelta(minutes=10)
LEAST_SETTLED = timedelta(minutes=1)


def _duration(least: timedelta) -> BeforeValidator:
    """Return the reader of a duration such as `90d`, of at least `least`; an empty text is None."""

    def read(value: Any) -> Any:
        return (at_least(value, least) if value.strip() else None) if isinstance(value, str) else value

    return BeforeValidator(read)


class Settings(BaseSettings):
    """The settings of an instance; `HOOKE_PORT=8471` sets `port`, and so on."""

    model_config = SettingsConfigDict(env_prefix="HOOKE_", extra="ignore", frozen=True)

    home: Path = Field(default_factory=lambda: Path.home() / ".hooke")
    """Folder of this instance: database, secrets, runs. Every instance needs its own."""
    database_url: str | None = None
    """An SQLAlchemy URL, `postgresql+psycopg://...`; default: SQLite, `hooke.db` in the home folder."""
    database_password_file: Path | None = None
    """File with the password that `database_url` then does not contain."""
    redis_url: str = "redis://127.0.0.1:6379/0"
    """Redis for orders to agents and notifications of events; `unix:///path/redis.sock` for a socket."""
    redis_password_file: Path | None = None
    """File with the password that `redis_url` then does not contain."""
    host: str = "127.0.0.1"
    port: int = Field(7450, ge=0, le=65535)
    reuse_port: bool = False
    """Whether other API processes of the same user may listen on this port; the kernel distributes connections."""
    allowed_hosts: list[str] = Field(default_factory=list)
    """Additional host names of this server (without port), checked against DNS rebinding."""
    public_url: str | None = None
    """Address under which browsers reach this server, for links in webhooks; default: that of host and port."""
    start_token: str | None = Field(None, alias="HOOKE_TOKEN")
    """Start-up token; default: the file `token` in the home folder, created when missing."""
    configuration: Path | None = None
    """Folder with files of this installation outside of its home folder, such as `/etc/hooke`, for backups."""
    token_file: Path | None = None
    """Another file with the start-up token."""
    agent_token: str | None = None
    """Token of agents; default: the file `agent-token` in the home folder, created when missing."""
    agent_token_file: Path | None = None
    """Another file with the token of agents."""
    migrations: Path = _ROOT / "migrations"
    """Folder of the Alembic migrations; the default is for a clone."""
    dashboard: Path = Path(__file__).resolve().parents[1] / "dashboard"
    """Folder of the built dashboard."""
    log_level: Literal["critical", "error", "warning", "info", "debug", "trace"] = "info"

    body_limit: int = 1024 * 1024
    """Maximum bytes of a request body, except ingest."""
    ingest_limit: int = 8 * 1024 * 1024
    """Maximum bytes of an ingest body as sent."""
    inflated_limit: int = 12 * 1024 * 1024
    """Maximum bytes of an ingest body after decompression; the longest record, 65,536 steps, has 8 MiB."""
    logs_limit: int = Field(16 * 1024 * 1024, ge=1024 * 1024)
    """Bytes of an attempt's output that are kept: the first half of them, and the latest lines."""
    files_limit: int = Field(24 * 1024 * 1024, ge=1024 * 1024)
    """Bytes of an attempt's other files that are kept: traces of its ranks (8 MiB and a header of each) and
    samples of the system."""
    fetch_limit: int = Field(8 * 1024**3, ge=0)
    """Maximum bytes of a checkpoint that users may fetch from a cluster; 0: none may be fetched."""
    fetches_of_project_limit: int = Field(16 * 1024**3, ge=0)
    """Maximum bytes of the fetched checkpoints of one project."""
    fetches_limit: int = Field(32 * 1024**3, ge=0)
    """Maximum bytes of all fetched checkpoints."""
    keep_fetched: Annotated[timedelta, _duration(LEAST_KEPT)] = timedelta(days=1)
    """How long a fetched checkpoint stays."""
    body_seconds: float = Field(20.0, gt=0)
    """Seconds in which a body must arrive."""
    import_limit: int = 128 * 1024 * 1024
    """Maximum bytes of a bundle that is imported."""
    import_seconds: float = Field(300.0, gt=0)
    """Seconds in which it must arrive."""
    bodies_limit: int = 64 * 1024 * 1024
    """Maximum bytes of the bodies of all unanswered requests together."""
    client_bodies_limit: int = 16 * 1024 * 1024
    """The same of one client, that is, of one token."""
    head_seconds: float = Field(10.0, gt=0)
    """Seconds in which the head of a request must arrive, and in which the body of a refused one is awaited."""
    write_seconds: float = Field(60.0, gt=0)
    """Seconds for which a client may read nothing of a response that does not fit the buffers."""
    connections: int = Field(768, ge=1)
    """Maximum number of connections; a further one gets 503."""
    client_connections: int = Field(512, ge=1)
    """Maximum number of connections from one address."""
    requests_per_minute: int = Field(6000, ge=0)
    """Maximum requests of one token or session within a minute, before 429; 0: no limit.

    With PostgreSQL, of all API processes together while Redis answers, otherwise of each.
    """
    ingest_per_minute: int = Field(12_000, ge=0)
    """The same for ingest, of the token of one attempt."""
    streams_per_minute: int = Field(600, ge=0)
    """The same for event streams that are opened."""
    anonymous_per_minute: int = Field(600, ge=0)
    """The same for requests without a valid token, of one address."""
    caches_limit: int = Field(12 * 1024 * 1024, ge=0)
    """Bytes of curves, timelines and answers that this process keeps, so that it need not read them again. The one
    used last stays although it alone is larger."""
    database_seconds: float = Field(10.0, gt=0)
    """Seconds that a request waits for its turn to write, or for a connection to the database, before 503."""
    events_kept: int = 100_000
    """Number of events kept; a stream that asks for older ones gets `reset`."""

    keep_runs: Annotated[timedelta | None, _duration(LEAST_KEPT)] = None
    """Experiments that ended longer ago are deleted, unless they are starred or protected; None: never."""
    undo: Annotated[timedelta, _duration(LEAST_UNDO)] = timedelta(days=7)
    """How long a deleted experiment can be restored; at least ten minutes: an order to an agent may come twice."""
    purge_seconds: float = Field(30.0, gt=0)
    """Interval between two looks for what is to be deleted or purged, s."""
    headline_seconds: float = Field(2.0, gt=0)
    """Interval between two looks for experiments whose headlines are out of date, s."""
    hang_seconds: float = Field(120.0, gt=0, le=10**7)
    """Seconds without a sign of a thread, or of the event loop, after which the process counts as hanging. Then
    `readyz` says so, and the process ends, for a thread as many seconds later: its keeper starts it again."""
    disk_warning: int = Field(2 * 1024**3, ge=0)
    """Bytes: below this free space on the disk of the database, `readyz` and the dashboard warn."""

    compact_after: Annotated[timedelta | None, _duration(LEAST_SETTLED)] = timedelta(hours=1)
    """How long nothing has come from a run that has ended before its steps become an object; None: never."""
    objects: str | None = None
    """Where objects are: `s3://BUCKET/PREFIX`; default: the folder `objects` in the home folder."""
    s3_endpoint: str | None = None
    """Address of the service with that bucket, such as `https://s3.eu-central-1.amazonaws.com`."""
    s3_region: str = "us-east-1"
    """Region that its requests are signed for."""
    s3_key_id: str | None = None
    """Id of the access key of the bucket."""
    s3_secret: str | None = None
    """Secret of that access key."""
    s3_secret_file: Path | None = None
    """File with that secret."""

    oidc_issuer: str | None = None
    """Issuer of an OpenID provider through which users sign in. `hooke_api.oidc` reads these texts: a wrong one
    keeps nobody from signing in with a password."""
    oidc_client_id: str | None = None
    oidc_client_secret_file: Path | None = None
    """File with the secret of the client; default: a public client, which has none."""
    oidc_name: str | None = None
    """Name of the provider on the sign-in page; default: the host of the issuer."""
    oidc_scopes: str = "openid profile email"
    oidc_domains: str | None = None
    """JSON list of domains of e-mail addresses that may sign in; default: all."""
    oidc_groups_claim: str = "groups"
    """Claim of the ID token with groups or roles; dots lead into objects."""
    oidc_groups: str | None = None
    """JSON list of its values of which one is needed to sign in; default: none is."""
    oidc_roles: str | None = None
    """JSON object: one of its values -> role."""
    oidc_new_users: str = "invited"
    """Who becomes a user by a first sign-in: nobody (`invited`), whose group has a role (`mapped`), or whoever may
    sign in, with this role."""

    webhook_http: bool = False
    """Whether webhooks may be sent by http, without encryption."""
    webhook_networks: list[IPvAnyNetwork] = Field(default_factory=list)
    """Networks, such as `10.1.0.0/16`, that webhooks may reach although their addresses are not public."""
    webhook_seconds: float = Field(1.0, gt=0)
    """Interval between two looks for events that webhooks are told of, s."""

    schedule: bool = True
    """Whether this process takes part in scheduling; one leader at a time schedules."""
    schedule_seconds: float = Field(0.3, gt=0)
    lease_seconds: float = Field(40.0, gt=0)
    """Seconds of silence of a supervisor after which its run is lost: above its longest pause, 8 s.

    Also the minimum uptime of the API for that.
    """
    resend_seconds: float = Field(20.0, gt=0)
    """Seconds after which a dispatched run that has not started is sent again."""
    probe_seconds: float = Field(10.0, gt=0)
    """Interval between probes of a lost run, s."""
    agent_seconds: float = Field(40.0, gt=0)
    """Seconds of silence of an agent after which its cluster is offline."""
    leader_seconds: float = Field(5.0, gt=0)
    """Seconds after which the leadership of a dead process is taken over."""
    start_seconds: float = Field(300.0, gt=0)
    """Seconds for which a run's order is sent, to an agent that reports, until the run is lost."""
    max_attempts: int = Field(3, ge=1, le=100)
    """Attempts of a run that may fail, where its experiment has no `retry`."""

    @property
    def url(self) -> str:
        """Return the database URL, with its password. Raises ArgumentError if the file of that cannot be read."""
        if self.database_url is None or self.database_password_file is None:
            return self.database_url or f"sqlite:///{self.home / 'hooke.db'}"
        from sqlalchemy import make_url

        password = given_secret("HOOKE_DATABASE_PASSWORD_FILE", self.database_password_file)
        return make_url(self.database_url).set(password=password).render_as_string(hide_password=False)

    @property
    def broker(self) -> str:
        """Return the URL of Redis, with its password. Raises ArgumentError if the file of that cannot be read."""
        return with_broker_password(self.redis_url, self.redis_password_file)

    @property
    def token(self) -> str:
        """Return the start-up token; create it on first use. Raises ArgumentError if its file cannot be read."""
        if self.start_token is None and self.token_file is not None:
            return given_secret("HOOKE_TOKEN_FILE", self.token_file)
        return self.start_token or secret(self.home / "token")

    @property
    def agents(self) -> str:
        """Return the token of agents; create it on first use. Raises ArgumentError if its file cannot be read."""
        if self.agent_token is None and self.agent_token_file is not None:
            return given_secret("HOOKE_AGENT_TOKEN_FILE", self.agent_token_file)
        return self.agent_token or secret(self.home / "agent-token")

    @property
    def webhook_key(self) -> str:
        """Return the key that the secrets of webhooks follow from; create it on first use."""
        return secret(self.home / "webhook-key")

    @property
    def address(self) -> str:
        """Return the address under which browsers reach this server."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104 - what it is bound to
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def with_broker_password(url: str, file: Path | None) -> str:
    """Return a URL of Redis with the password in a file. Raises ArgumentError if the file cannot be read."""
    if file is None:
        return url
    from hooke.cluster.site import with_password

    return with_password(url, given_secret("HOOKE_REDIS_PASSWORD_FILE", file))


def given_secret(variable: str, path: Path) -> str:
    """Return the secret in a file that a variable names. Raises ArgumentError if there is none."""
    try:
        text = path.read_text().strip()
    except OSError as error:
        raise ArgumentError(f"{variable}={path}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    if not text:
        raise ArgumentError(f"{variable}={path}: it must hold the secret as text, and nothing else")
    return text


def secret(path: Path) -> str:
    """Return the secret in a file that only its owner can read; create the file if it is missing.

    Creation is atomic, so two processes that start together agree.
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
        os.link(draft, path)  # fails, unlike rename, if another process was first
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()
