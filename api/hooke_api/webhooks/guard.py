"""Which servers webhooks may reach: the guard against requests into the server's own network (SSRF).

The text of an address is checked when it is stored, and again before each request (`place`). Then its name is
resolved once, every address that it has is checked (`addresses`), and the connection is made to one of these:
another answer of the name server between check and connection has no effect.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

from hooke_api.base.settings import Settings

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], list[str]]
"""Name and port -> addresses as text; raises OSError if there is none."""

LOOKUP_SECONDS = 5.0
"""Seconds in which a name must be resolved: the system may try for minutes."""
MOST_LOOKUPS = 32
"""Names that are resolved at the same time, those that nobody waits for any more included."""
LONGEST = 2000
"""Characters of an address."""
LONGEST_NAME = 253
FIRST_FREE_PORT = 1024
"""Lower ports belong to services of the system, except that of the scheme."""
REFUSED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("a loopback address", ("127.0.0.0/8", "::1/128")),
    ("a private address", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    ("a link-local address", ("169.254.0.0/16", "fe80::/10")),
    ("an address of carrier-grade NAT", ("100.64.0.0/10",)),
    ("a multicast address", ("224.0.0.0/4", "ff00::/8")),
    (
        "a reserved address",
        (
            *("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    ),
)
"""Networks that no public server is in: IANA's special-purpose address registries (RFC 6890)."""
METADATA = frozenset(
    map(
        ip_address,
        (
            *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
            "fd00:ec2::254",
        ),
    )
)
"""Services that give a cloud's machines their credentials; refused also where their network is allowed."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses with the IPv4 address behind them (RFC 6052)."""

_NETWORKS = [(words, ip_network(each)) for words, networks in REFUSED for each in networks]
_TEXT = re.compile(rf"[!-\[\]-~]{{1,{LONGEST}}}")
"""Printable ASCII without blank and backslash."""
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last part of a host that is an IPv4 address in one of its notations."""
_lookups = threading.BoundedSemaphore(MOST_LOOKUPS)


class Refused(ValueError):
    """A webhook may not be sent to this address; the message is a sentence."""


@dataclass(frozen=True)
class Policy:
    """What the settings of the server allow beyond https to public addresses."""

    http: bool = False
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        """Return the policy of a server."""
        return cls(settings.webhook_http, tuple(settings.webhook_networks))


@dataclass(frozen=True)
class Place:
    """An address whose text is in order."""

    tls: bool
    host: str
    """Name, or address without brackets, in lower case."""
    port: int
    target: str
    """Path and query, as a request names them."""

    @property
    def authority(self) -> str:
        """Return the value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _default_port(self.tls) else f"{host}:{self.port}"


def _default_port(tls: bool) -> int:
    return 443 if tls else 80


def place(url: str, policy: Policy) -> Place:
    """Return the parts of an address. Raises Refused, also for an address of a host that is not allowed."""
    if not _TEXT.fullmatch(url):
        raise Refused(
            f"an address has at most {LONGEST:,} printable ASCII characters, without blanks and backslashes"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # brackets that do not match, a port that is not a number
        raise Refused("this is not an address such as https://example.org/hook") from None
    if parts.scheme not in ("https", "http"):
        raise Refused("an address must begin with https://")
    tls = parts.scheme == "https"
    if not tls and not policy.http:
        raise Refused("an address must begin with https://; the server's setting HOOKE_WEBHOOK_HTTP allows http")
    if "@" in parts.netloc:
        raise Refused("an address must not contain a user name or a password")
    if "#" in url:
        raise Refused("an address must not have a fragment (#)")
    found = Place(tls, _host(host, parts.netloc), _port(port, tls), _target(parts.path, parts.query))
    if (literal := _literal(found.host)) is not None:
        _check(literal, found.host, policy)
    return found


def _host(host: str, netloc: str) -> str:
    """Return the host, without the dot that ends a complete name."""
    name = host.removesuffix(".")
    try:
        if netloc.startswith("[") and "%" not in host:
            return str(IPv6Address(host))
        if _NUMBER.fullmatch(name.rpartition(".")[2]):
            return str(IPv4Address(name))  # four decimal numbers: 0x7f.1 and 2130706433 are refused
    except ValueError:
        name = ""
    if _NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
        return name
    raise Refused(f"{host!r} is neither a host name (other scripts are written as xn--...) nor an IP address")


def _port(port: int | None, tls: bool) -> int:
    if port is None:
        return _default_port(tls)
    if port != _default_port(tls) and port < FIRST_FREE_PORT:
        raise Refused(f"the port is {_default_port(tls)}, or one from {FIRST_FREE_PORT} on, not {port}")
    return port


def _target(path: str, query: str) -> str:
    return (path or "/") + (f"?{query}" if query else "")


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def lookup(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system resolves it. Raises OSError; TimeoutError after a while.

    The system cannot be interrupted: a thread asks it, and is left to itself when time is out.
    """
    until, slots = time.monotonic() + LOOKUP_SECONDS, _lookups
    if not slots.acquire(timeout=LOOKUP_SECONDS):
        raise TimeoutError
    answer: SimpleQueue[list[str] | Exception] = SimpleQueue()
    asking = threading.Thread(target=_resolve, args=(host, port, answer, slots), name="resolver", daemon=True)
    try:
        asking.start()
    except RuntimeError:  # no memory for a thread
        slots.release()
        raise
    try:
        found = answer.get(timeout=max(0.0, until - time.monotonic()))
    except Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise found
    return found


def _resolve(host: str, port: int, answer: SimpleQueue[list[str] | Exception], slots: threading.Semaphore) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.put(list(dict.fromkeys(str(each[4][0]) for each in found)))
    except Exception as error:  # any error is raised where the answer is waited for
        answer.put(error)
    finally:
        slots.release()


def addresses(where: Place, policy: Policy, resolve: Resolver = lookup) -> list[str]:
    """Return the addresses of a host, resolved once. Raises Refused if it has none, or one that is not allowed."""
    if _literal(where.host) is not None:
        found = [where.host]
    else:
        try:
            found = resolve(where.host, where.port)
        except TimeoutError:
            raise Refused(f"the name {where.host} was not resolved within {LOOKUP_SECONDS:g} s") from None
        except (OSError, UnicodeError):
            found = []
    if not found:
        raise Refused(f"the name {where.host} has no address")
    for text in found:
        literal = _literal(text)
        if literal is None:
            raise Refused(f"the name {where.host} has an address that cannot be read")
        _check(literal, where.host, policy)
    return found


def _check(address: Address, host: str, policy: Policy) -> None:
    if (words := refusal(address, policy)) is not None:
        raise Refused(
            f"webhooks do not reach {words}, as that of {host}; networks are allowed by the server's setting "
            "HOOKE_WEBHOOK_NETWORKS"
        )


def refusal(address: Address, policy: Policy) -> str | None:
    """Return what kind of address this is, in words, if a connection to it is not allowed."""
    inner = _inner(address)
    if inner in METADATA:
        return "the address of a metadata service"
    if any(inner in network for network in policy.networks):
        return None
    for words, network in _NETWORKS:
        if inner in network:
            return words
    if isinstance(inner, IPv6Address) and (inner.scope_id or inner not in GLOBAL_UNICAST):
        return "a reserved address"
    return None


def _inner(address: Address) -> Address:
    """Return the IPv4 address that packets to an IPv6 address reach, where there is one; else the address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
