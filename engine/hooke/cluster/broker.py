"""Messaging between API and agents: task names, queues, and the Celery configuration of both sides.

A task is named after the kind of the order; its only argument is a `hooke.spec.orders.BrokerOrder`, which holds
ids and a time. It may be delivered twice. The agent claims the order at the API (`hooke.cluster.claiming`) and
does what that answers.
"""

from __future__ import annotations

from typing import get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from celery import Celery

from hooke.spec.orders import BrokerOrder, OrderKind

TASKS: dict[OrderKind, str] = {kind: f"hooke.cluster.{kind}" for kind in get_args(OrderKind)}
"""Kind of an order -> name of its task."""

VISIBILITY_SECONDS = 60
"""Seconds after which Redis delivers an unacknowledged task again; tasks are idempotent."""

EXPIRY_SECONDS = 120
"""Seconds after the last order to a cluster until Redis forgets those that its agent has not taken.

Nothing is lost by that: the API sends again what it still wants, once the agent reports.
"""

ANSWER_SECONDS = 2.0
"""Seconds in which Redis has to accept a connection, and to answer: connections stay open while it is stopped, or
its host is cut off."""

_VERIFIED = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
"""What Celery has to be told for `rediss://`: by itself it accepts any certificate."""


def queue(cluster: str) -> str:
    """Return the name of the queue that the agent of this cluster reads."""
    return f"cluster.{cluster}"


def broker_url(redis_url: str) -> str:
    """Return a Redis URL in Celery's form.

    `unix://PATH` becomes `redis+socket://PATH`; under `rediss://` the certificate and its name are checked, unless
    the URL says otherwise, as redis-py does by itself.
    """
    if redis_url.startswith("unix://"):
        return redis_url.replace("unix://", "redis+socket://", 1)
    parts = urlsplit(redis_url)
    if parts.scheme != "rediss":
        return redis_url
    query = _VERIFIED | dict(parse_qsl(parts.query))
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


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
        broker_channel_error_retry=True,  # or refuse commands: a replica until it is promoted, one without memory
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "socket_timeout": ANSWER_SECONDS,
            "socket_connect_timeout": ANSWER_SECONDS,
        },
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
    )
    return app


class Orders:
    """The sending side, which tries once: who sends has other work to do, and comes again."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, "max_retries": 0}

    def send(self, cluster: str, kind: OrderKind, order: BrokerOrder) -> None:
        """Send an order to the agent of a cluster; it may have been sent although this raises.

        Raises `kombu.exceptions.OperationalError` if Redis cannot be reached, or does not answer in time.
        """
        name, arguments = queue(cluster), [order.model_dump(mode="json")]
        with self._app.producer_pool.acquire(block=True) as producer:
            self._app.send_task(TASKS[kind], args=arguments, queue=name, retry=False, producer=producer)
            # by the clock of Redis: those of agents are not believed, and Celery's `expires` would ask them
            producer.channel.client.expire(name, EXPIRY_SECONDS)
