"""Clients of an API: when they read the environment, and when they verify certificates."""

import pytest
from hooke.cluster.http_client import client_options


@pytest.mark.parametrize(
    ("api", "trust_env", "verify"),
    [
        ("http://127.0.0.1:7450", False, False),
        ("http://localhost:7450/", False, False),
        ("http://[::1]:7450", False, False),
        ("https://127.0.0.1:7450", False, True),
        ("http://server:7450", True, True),  # a proxy of the environment may be an https:// one
        ("https://server", True, True),
        ("http://127.0.0.1.example.org", True, True),
    ],
)
def test_certificates_are_left_out_only_where_there_can_be_none(api, trust_env, verify):
    assert client_options(api) == {"trust_env": trust_env, "verify": verify}
