"""Receivers on this machine, a server that may reach them, and senders that look when told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hooke_api.base.settings import Settings
from hooke_api.webhooks.sender import Sender

from tests.api.hands import Service
from tests.api.webhooks.receiver import LOCAL, Receiver
from tests.waiting import wait_for


@pytest.fixture
def receivers() -> Iterator[Callable[[], Receiver]]:
    """Return what makes receivers, which end with the test."""
    made: list[Receiver] = []

    def make(context=None) -> Receiver:
        made.append(Receiver(context))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def receiver(receivers) -> Receiver:
    return receivers()


@dataclass
class Webhooks:
    """A running API that allows webhooks to this machine."""

    service: Service
    settings: Settings
    senders: list[Sender]

    def sender(self, resolve=None, **changes) -> Sender:
        """Return a sender; `changes` of the settings."""
        more = {"resolve": resolve} if resolve else {}
        made = Sender(self.service.database, self.settings.model_copy(update=changes), **more)
        self.senders.append(made)
        return made

    def add(self, url: str, **more) -> dict:
        answer = self.service.client.post("/webhooks", json={"url": url} | more)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def deliveries(self, webhook: dict) -> list[dict]:
        return self.service.get(f"/webhooks/{webhook['id']}/deliveries")["items"]

    def test(self, webhook: dict) -> str:
        """Ask for a test; return the id of its delivery."""
        answer = self.service.client.post(f"/webhooks/{webhook['id']}/test")
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]

    def view(self, webhook: dict) -> dict:
        items = self.service.get("/webhooks")["items"]
        return next(each for each in items if each["id"] == webhook["id"])


def look(sender: Sender) -> None:
    """Let a sender look, and wait until it has sent what is due."""
    sender._rests.clear()
    sender.look()
    wait_for(lambda: not sender.busy(), "the requests of the sender")


@pytest.fixture
def webhooks(service) -> Iterator[Webhooks]:
    settings = service.settings.model_copy(update=LOCAL)
    service.app.state.settings = settings
    made = Webhooks(service, settings, [])
    yield made
    service.app.state.settings = service.settings
    for sender in made.senders:
        sender.stop()
        sender.close()
