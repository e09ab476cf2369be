"""Messaging between API and agents: task names, queues, and the Celery configuration of both sides.

Tasks carry short orders only and may be delivered twice. Arguments are JSON:

    LAUNCH  [orders]         orders: list of `hooke.spec.events.LaunchOrder`; several share processes
    CANCEL  [run, attempt]
    PROBE   [run, attempt]   answered by POST /api/v1/agents/proof with a `hooke.spec.attempts.AgentProof`
    CALIBRATE [order]        a `hooke.spec.calibrating.CalibrationOrder`, answered by /api/v1/agents/calibration
    CANCEL_CALIBRATION [id]  answered in the same way
    FORGET  [runs]           deleted runs; answered by /api/v1/agents/forgotten with a `ForgetReport`
"""

from __future__ import annotations

from celery import Celery

from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.events import LaunchOrder

LAUNCH = "hooke.cluster.launch"
CANCEL = "hooke.cluster.cancel"
PROBE = "hooke.cluster.probe"
CALIBRATE = "hooke.cluster.calibrate"
CANCEL_CALIBRATION = "hooke.cluster.cancel_calibration"
FORGET = "hooke.cluster.forget"

VISIBILITY_SECONDS = 60
"""Seconds after which Redis delivers an unacknowledged task again; tasks are idempotent."""

EXPIRY_SECONDS = 120
"""Seconds after the last order to a cluster until Redis forgets those that its agent has not taken.

Nothing is lost by that: the API sends again what it still wants, once the agent reports.
"""


def queue(cluster: str) -> str:
    """Return the name of the queue that the agent of this cluster reads."""
    return f"cluster.{cluster}"


def broker_url(redis_url: str) -> str:
    """Return a Redis URL in Celery's form: `unix://PATH` becomes `redis+socket://PATH`."""
    return redis_url.replace("unix://", "redis+socket://", 1) if redis_url.startswith("unix://") else redis_url


def make_app(redis_url: str) -> Celery:
    """Return a Celery application on this Redis; it connects at the first message."""
    app = Celery("hooke", broker=broker_url(redis_url), set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # Redis may be unavailable for long: the agent waits
        broker_transport_options={"visibility_timeout": VISIBILITY_SECONDS},
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
    )
    return app


class Orders:
    """The sending side. Methods raise `kombu.exceptions.OperationalError` if Redis cannot be reached."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def launch(self, cluster: str, orders: list[LaunchOrder]) -> None:
        """Ask the agent of `cluster` to start attempts; several orders share processes."""
        self._send(cluster, LAUNCH, [[order.model_dump(mode="json") for order in orders]])

    def cancel(self, cluster: str, run: str, attempt: int) -> None:
        """Ask the agent to end an attempt; the response to the next ingest does so, too."""
        self._send(cluster, CANCEL, [run, attempt])

    def probe(self, cluster: str, run: str, attempt: int) -> None:
        """Ask the agent whether an attempt is alive."""
        self._send(cluster, PROBE, [run, attempt])

    def calibrate(self, cluster: str, order: CalibrationOrder) -> None:
        """Ask the agent to calibrate its cluster, on which no run is active."""
        self._send(cluster, CALIBRATE, [order.model_dump(mode="json")])

    def cancel_calibration(self, cluster: str, id: str) -> None:
        """Ask the agent to end a calibration."""
        self._send(cluster, CANCEL_CALIBRATION, [id])

    def forget(self, cluster: str, runs: list[str]) -> None:
        """Ask the agent to remove what it holds of deleted runs."""
        self._send(cluster, FORGET, [runs])

    def _send(self, cluster: str, task: str, arguments: list[object]) -> None:
        name = queue(cluster)
        with self._app.producer_pool.acquire(block=True) as producer:
            self._app.send_task(task, args=arguments, queue=name, retry=False, producer=producer)
            # by the clock of Redis: those of agents are not believed, and Celery's `expires` would ask them
            producer.channel.client.expire(name, EXPIRY_SECONDS)
