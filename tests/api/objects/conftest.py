"""The API of the other tests, with nothing known to have failed: it is shared with them."""

import pytest


@pytest.fixture
def service(service):
    service.database.objects._faults.clear()
    yield service
    service.database.objects._faults.clear()
