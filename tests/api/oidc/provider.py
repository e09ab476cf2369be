"""An OpenID provider in the tests' process, written on `http.server` and `cryptography` alone.

It shares no code with what is tested: no Authlib and no joserfc. It checks client, redirect address and PKCE
(RFC 7636, appendix B) by itself, gives each code once, and can be made to lie in every part of its answers.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.waiting import LIMIT

CLIENT, SECRET = "hooke", "a-secret-of-the-client"
Answer = Callable[[BaseHTTPRequestHandler], None]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8))


class Key:
    """A private key, ES256 unless it is one of RSA."""

    def __init__(self, kid: str, private=None) -> None:
        self.kid = kid
        self.private = private or ec.generate_private_key(ec.SECP256R1())
        self.alg = "RS256" if isinstance(self.private, rsa.RSAPrivateKey) else "ES256"

    def public(self) -> dict:
        """Return it as JWK (RFC 7518, section 6)."""
        numbers = self.private.public_key().public_numbers()
        about = {"kid": self.kid, "use": "sig", "alg": self.alg}
        if self.alg == "RS256":
            return about | {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}
        x, y = (b64(each.to_bytes(32)) for each in (numbers.x, numbers.y))
        return about | {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def sign(self, data: bytes) -> bytes:
        """Return the signature as JWS has it (RFC 7518, section 3)."""
        if self.alg == "RS256":
            return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)


def unsigned(header: dict, claims: dict) -> str:
    return ".".join(b64(json.dumps(part).encode()) for part in (header, claims))


def signed(key: Key, claims: dict, **header) -> str:
    """Return a JWT; `header`: changes of it."""
    text = unsigned({"alg": key.alg, "kid": key.kid, "typ": "JWT"} | header, claims)
    return f"{text}.{b64(key.sign(text.encode()))}"


class OpenIdProvider:
    """The provider; its attributes are what it will say."""

    def __init__(self) -> None:
        self.person = {"sub": "1001", "email": "ana@example.org", "email_verified": True}
        """Claims about who is signed in there."""
        self.keys = [Key("first")]
        self.signing = self.keys[0]
        self.forge: Callable[[dict], str] = lambda claims: signed(self.signing, claims)
        self.changes: dict = {}
        """Claims instead of the right ones; null: left out."""
        self.discovery: dict = {}
        self.secret: str | None = SECRET
        self.literal = False
        """Whether it takes credentials in a header as they are, against the standard, as some do."""
        self.userinfo: dict | None = None
        """What the userinfo endpoint says; null: there is none."""
        self.denies: str | None = None
        self.replaces: dict[str, Answer] = {}
        """Path -> what is done there instead."""
        self.asked: list[str] = []
        self.prompts: list[str | None] = []
        self.ended = threading.Event()
        self._codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                provider.handle(self)

            do_POST = do_GET

            def log_message(self, *_) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def identify(self, address: str) -> str:
        """Open the provider's page in a browser without cookies; return where it leads back to."""
        assert address.startswith(f"{self.issuer}/authorize?")
        connection = HTTPConnection("127.0.0.1", self.server.server_port, timeout=LIMIT)
        connection.request("GET", address.removeprefix(self.issuer))
        with connection.getresponse() as answer:
            assert answer.status == 302
            location = answer.headers["location"]
        connection.close()
        return location

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        self.asked.append(parts.path)
        if parts.path in self.replaces:
            self.replaces[parts.path](request)
            return
        match parts.path:
            case "/.well-known/openid-configuration":
                send(request, 200, self.document())
            case "/jwks":
                send(request, 200, {"keys": [key.public() for key in self.keys]})
            case "/authorize":
                self._authorize(request, flat(parts.query))
            case "/token":
                length = int(request.headers.get("content-length", 0))
                self._token(request, flat(request.rfile.read(length).decode()))
            case "/userinfo":
                known = request.headers.get("authorization") == "Bearer x"
                send(request, 200 if known else 401, self.userinfo)

    def document(self) -> dict:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }
        if self.userinfo is not None:
            found["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return found | self.discovery

    def _authorize(self, request: BaseHTTPRequestHandler, asked: dict[str, str]) -> None:
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        self.prompts.append(asked.get("prompt"))
        told = {"state": asked["state"], "iss": self.issuer}
        if self.denies:
            told["error"] = self.denies
        else:
            told["code"] = secrets.token_urlsafe(16)
            self._codes[told["code"]] = asked
        location = f"{asked['redirect_uri']}?{urlencode(told)}"
        send(request, 302, {}, location=location)

    def _token(self, request: BaseHTTPRequestHandler, form: dict[str, str]) -> None:
        if not self._knows(request.headers.get("authorization", ""), form):
            send(request, 401, {"error": "invalid_client"})
            return
        asked = self._codes.pop(form["code"], None)  # a code is of use once
        challenge = b64(hashlib.sha256(form["code_verifier"].encode()).digest())
        fits = asked and (asked["code_challenge"], asked["redirect_uri"]) == (challenge, form["redirect_uri"])
        if not fits or form["grant_type"] != "authorization_code":
            send(request, 400, {"error": "invalid_grant"})
            return
        token = self.forge(self.claims(asked["nonce"]))
        send(request, 200, {"access_token": "x", "token_type": "Bearer", "id_token": token})

    def _knows(self, authorization: str, form: dict[str, str]) -> bool:
        if self.secret is None:
            return form.get("client_id") == CLIENT and not authorization
        if authorization:  # both are encoded as in a form (RFC 6749, section 2.3.1)
            told = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            meant = (told[0], told[2]) if self.literal else (unquote_plus(told[0]), unquote_plus(told[2]))
            return meant == (CLIENT, self.secret)
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT, self.secret)

    def claims(self, nonce: str) -> dict:
        now = int(time.time())
        found = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce}
        found |= self.person | self.changes
        return {name: value for name, value in found.items() if value is not None}


def flat(query: str) -> dict[str, str]:
    return {name: given[0] for name, given in parse_qs(query, strict_parsing=True).items()}


def send(request: BaseHTTPRequestHandler, status: int, document: object, **headers: str) -> None:
    body = json.dumps(document).encode()
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("content-type", "application/json")
    request.send_header("content-length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
