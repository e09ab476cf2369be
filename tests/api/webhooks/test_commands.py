"""`hooke webhooks`, as an administrator types it, against a running API and its sender."""

import re

import pytest

from tests.api.databases import ONE_KIND
from tests.api.test_people_commands import hooke
from tests.waiting import free_port, wait_for

pytestmark = ONE_KIND  # the database makes no difference to a command


@pytest.fixture
def remote(webhooks, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", webhooks.service.url)
    monkeypatch.setenv("HOOKE_TOKEN", webhooks.settings.token)
    return webhooks


def test_from_the_first_webhook_to_none(remote, receiver, tmp_path):
    assert "hooke webhooks add URL" in hooke("webhooks", "list")
    made = hooke("webhooks", "add", receiver.url, "--event", "run.failed", "--event", "run.started").split()
    id, secret = made
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    listed = hooke("webhooks", "list")
    assert f"{id}  on     all      run.started,run.failed  -" in listed
    assert secret not in listed
    assert "has no deliveries" in hooke("webhooks", "deliveries", id)
    sender = remote.sender(webhook_seconds=0.02)
    sender.start()
    assert hooke("webhooks", "test", id) == "the test was delivered: status 204\n"
    delivery = receiver.ids[0]
    assert re.search(
        rf"{delivery} +webhook\.test .* delivered +1 +- +status 204", hooke("webhooks", "deliveries", id)
    )
    assert "is sent again" in hooke("webhooks", "redeliver", delivery)
    wait_for(lambda: receiver.ids == [delivery, delivery], "the second time")
    receiver.statuses = [410]
    assert "was not delivered: status 410" in hooke("webhooks", "test", id, status=1)
    assert "off: the receiver answered with status 410" in hooke("webhooks", "list")
    assert sender.fault() is None, "a receiver that fails is no fault of the server"
    assert hooke("webhooks", "on", id) == f"{id} is on\n"
    assert hooke("webhooks", "off", id) == f"{id} is off\n"
    assert "is off" in hooke("webhooks", "test", id, status=1)
    assert hooke("webhooks", "remove", id) == f"{id} is removed\n"
    assert "no webhook has the id" in hooke("webhooks", "off", id, status=1)

    out = tmp_path / "secret"
    url = f"http://127.0.0.1:{free_port()}/"
    assert "holds the secret of the webhook whk_" in hooke("webhooks", "add", url, "--out", str(out))
    assert out.read_text().startswith("whsec_")
    assert out.stat().st_mode & 0o777 == 0o600
    id = hooke("webhooks", "list").splitlines()[1].split()[0]
    assert "the connection failed" in hooke("webhooks", "test", id, status=1)
    hooke("webhooks", "add", url, "--project", "default")
    assert "  on     default  " in hooke("webhooks", "list")
    assert "no project has this name" in hooke("webhooks", "add", url, "--project", "none", status=1)
    assert "webhooks do not reach a private address" in hooke("webhooks", "add", "https://10.0.0.1/", status=1)
