"""Which addresses webhooks may be sent to: texts, resolved addresses, and the settings that allow more."""

import socket
import threading
from ipaddress import ip_address, ip_network

import pytest
from hooke_api.webhooks import guard
from hooke_api.webhooks.guard import Policy, Refused, addresses, lookup, place, refusal
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import LIMIT

STRICT = Policy()
PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/", "HOOKE_WEBHOOK_HTTP"),
        ("ftp://example.org/", "must begin with https"),
        ("//example.org/", "must begin with https"),
        ("example.org/hook", "must begin with https"),
        ("https://", "neither a host name"),
        ("https:///hook", "neither a host name"),
        ("https://user:password@example.org/", "must not contain a user name"),
        ("https://user@example.org/", "must not contain a user name"),
        ("https://@example.org/", "must not contain a user name"),
        ("https://example.org\\@127.0.0.1/", "printable ASCII"),
        ("https://example.org/a b", "printable ASCII"),
        ("https://example.org/\r\nhost: x", "printable ASCII"),
        ("https://b\u00fccher.example/", "printable ASCII"),
        ("https://example.org/" + 2000 * "x", "at most 2,000"),
        ("https://example.org/#part", "fragment"),
        ("https://example.org/#", "fragment"),
        ("https://[::1", "not an address such as"),
        ("https://example.org:port/", "not an address such as"),
        ("https://example.org:70000/", "not an address such as"),
        ("https://example.org:22/", "not 22"),
        ("https://example.org:80/", "not 80"),
        ("https://example.org:0/", "not 0"),
        ("https://ex_-.example-/", "neither a host name"),
        ("https://example..org/", "neither a host name"),
        ("https://ex%61mple.org/", "neither a host name"),
        ("https://2130706433/", "neither a host name"),
        ("https://127.1/", "neither a host name"),
        ("https://0177.0.0.1/", "neither a host name"),
        ("https://0x7f.0.0.1/", "neither a host name"),
        ("https://0x7f000001/", "neither a host name"),
        ("https://[fe80::1%25eth0]/", "neither a host name"),
        ("https://127.0.0.1/", "a loopback address"),
        ("https://127.0.0.1./", "a loopback address"),
        ("https://[::1]/", "a loopback address"),
        ("https://[::ffff:127.0.0.1]/", "a loopback address"),
        ("https://[0:0:0:0:0:ffff:7f00:1]:8443/", "a loopback address"),
        ("https://[64:ff9b::10.0.0.1]/", "a private address"),
        ("https://169.254.169.254/latest/meta-data/", "a metadata service"),
        ("https://[fd00:ec2::254]/", "a metadata service"),
        ("https://0.0.0.0/", "a reserved address"),
        ("https://[::]/", "a reserved address"),
    ],
)
def test_an_address_is_refused_by_its_text(url, words):
    with pytest.raises(Refused, match=words):
        place(url, STRICT)


def test_the_parts_of_an_address_are_those_of_the_request():
    found = place("https://Hooks.Example.org.:8443/a//b?c=d%20e&f", STRICT)
    assert (found.tls, found.host, found.port) == (True, "hooks.example.org", 8443)
    assert found.target == "/a//b?c=d%20e&f"
    assert found.authority == "hooks.example.org:8443"
    assert place("https://example.org?x", STRICT).target == "/?x"
    assert place("https://example.org", STRICT).authority == "example.org"
    assert place(f"https://[{PUBLIC[1]}]/", STRICT).authority == f"[{PUBLIC[1]}]"
    plain = place("http://example.org", Policy(http=True))
    assert (plain.tls, plain.port, plain.authority) == (False, 80, "example.org")
    with pytest.raises(Refused, match="not 443"):
        place("http://example.org:443", Policy(http=True))


class Names:
    """A resolver that counts; each answer is given once, the last one forever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (["127.8.9.10"], "a loopback address"),
        (["::1"], "a loopback address"),
        (["10.255.0.1"], "a private address"),
        (["172.31.255.255"], "a private address"),
        (["192.168.0.1"], "a private address"),
        (["fd12::1"], "a private address"),
        (["169.254.1.1"], "a link-local address"),
        (["fe80::1%2"], "a link-local address"),
        (["100.64.0.1"], "carrier-grade NAT"),
        (["224.0.0.1"], "a multicast address"),
        (["ff02::1"], "a multicast address"),
        (["::ffff:192.168.0.1"], "a private address"),
        (["2002:7f00:1::"], "a reserved address"),
        (["2001:0:7f00:1::"], "a reserved address"),
        (["::127.0.0.1"], "a reserved address"),
        (["255.255.255.255"], "a reserved address"),
        (["168.63.129.16"], "a metadata service"),
        (["100.100.100.200"], "a metadata service"),
        ([PUBLIC[0], "10.0.0.1"], "a private address"),
        (["10.0.0.1", PUBLIC[0]], "a private address"),
        (["nonsense"], "cannot be read"),
        ([], "has no address"),
    ],
)
def test_every_address_of_a_name_is_checked(found, words):
    names = Names(found)
    with pytest.raises(Refused, match=words):
        addresses(place("https://example.org/", STRICT), STRICT, names)
    assert names.asked == 1


def test_a_name_is_resolved_once_and_a_literal_never():
    names = Names(PUBLIC, ["127.0.0.1"])
    assert addresses(place("https://example.org/", STRICT), STRICT, names) == PUBLIC
    assert names.asked == 1
    assert addresses(place(f"https://{PUBLIC[0]}/", STRICT), STRICT, names) == PUBLIC[:1]
    assert names.asked == 1


def test_a_name_that_cannot_be_resolved_is_refused():
    def fail(host, port):
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    with pytest.raises(Refused, match=r"the name example\.org has no address"):
        addresses(place("https://example.org/", STRICT), STRICT, fail)


def test_networks_that_are_allowed_and_those_beside_them():
    wide = Policy(networks=(ip_network("10.1.0.0/16"), ip_network("169.254.0.0/16"), ip_network("::/0")))
    assert addresses(place("https://10.1.2.3/", wide), wide) == ["10.1.2.3"]
    assert addresses(place("https://example.org/", wide), wide, Names(["::ffff:10.1.0.1"]))
    with pytest.raises(Refused, match="a private address"):
        place("https://10.2.0.1/", wide)
    for metadata in ("169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"):
        with pytest.raises(Refused, match="a metadata service"):
            place(f"https://{metadata}/", wide)


@given(st.ip_addresses())
def test_nothing_that_is_not_global_is_allowed(address):
    """Python's own table of special addresses is the other opinion."""
    inner = getattr(address, "ipv4_mapped", None) or address
    if not inner.is_global or inner.is_multicast or inner.is_reserved:
        in_nat64 = inner.version == 6 and inner in ip_network("64:ff9b::/96")
        assert refusal(address, STRICT) or in_nat64


@pytest.mark.parametrize("text", [*PUBLIC, "1.1.1.1", "100.128.0.1", "172.32.0.1", "64:ff9b::1.1.1.1"])
def test_public_addresses_are_allowed(text):
    assert refusal(ip_address(text), STRICT) is None


def test_the_system_resolves_a_literal_to_itself():
    assert lookup("127.0.0.1", 443) == ["127.0.0.1"]


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    """The system's own limit may be minutes; a thread that still asks counts until it has an answer."""
    answers, asked = threading.Event(), []

    def getaddrinfo(host, *_, **__):
        asked.append(host)
        answers.wait(LIMIT)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC[0], 443))]

    monkeypatch.setattr(guard, "LOOKUP_SECONDS", 0.05)
    monkeypatch.setattr(guard, "_lookups", threading.BoundedSemaphore(2))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for _ in range(3):
        with pytest.raises(Refused, match=r"the name example\.org was not resolved within 0\.05 s"):
            addresses(place("https://example.org/", STRICT), STRICT)
    assert len(asked) == 2
    answers.set()
    monkeypatch.setattr(guard, "LOOKUP_SECONDS", LIMIT)
    assert addresses(place("https://example.org/", STRICT), STRICT) == PUBLIC[:1]


def test_what_the_system_says_of_a_name_is_told(monkeypatch):
    def getaddrinfo(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for _ in range(guard.MOST_LOOKUPS + 1):  # none is left behind
        with pytest.raises(Refused, match="has no address"):
            addresses(place("https://example.org/", STRICT), STRICT)
