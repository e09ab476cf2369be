"""Objects in a bucket of a service that speaks the protocol of Amazon S3.

Requests are signed by AWS Signature Version 4 with the hash of their body ("Signature Calculations for the
Authorization Header", Amazon S3 API Reference). Buckets are addressed by path, which all such services know.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote

import httpx

from hooke_api.storage.objects import (
    MissingObject,
    ObjectError,
    ObjectStore,
    Step,
    digest_of,
    nothing,
    system_errors,
)

SECONDS, CONNECT_SECONDS = 30.0, 5.0
"""Time for which the service may be silent, and in which it has to be connected. How long a whole object takes is
not limited: it may be large, and the line slow."""
BLOCK = 1 << 16
"""Bytes of an object that are sent at a time."""
PAUSES = (0.2, 1.0)
"""Seconds before each further try of a request that was refused or broken off, or got one of AGAIN."""
REST = 10.0
"""Seconds for which a service that did not answer is not asked again."""
AT_ONCE, WAIT = 8, 5.0
"""Objects that are fetched at a time, and seconds that others wait for: 40 threads handle requests, and a service
that is away or slow must leave some of them to those that need nothing of it."""
AGAIN = frozenset({429, 500, 502, 503, 504})
NOTHING = hashlib.sha256(b"").hexdigest()
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")


@dataclass(frozen=True)
class Signer:
    """Credentials of a service in a region."""

    key_id: str
    secret: str
    region: str

    def authorization(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], payload: str
    ) -> str:
        """Return the header `Authorization` of a request.

        `path`: not percent-encoded; `headers`: those that are signed, in lower case, among them `host` and
        `x-amz-date`; `payload`: SHA-256 of the body.
        """
        words = sorted((quote(name, "-_.~"), quote(value, "-_.~")) for name, value in query.items())
        names = sorted(headers)
        signed = ";".join(names)
        lines = [method, quote(path, "/-_.~"), "&".join(f"{name}={value}" for name, value in words)]
        lines += [f"{name}:{' '.join(headers[name].split())}" for name in names]
        canonical = "\n".join([*lines, "", signed, payload])
        at = headers["x-amz-date"]
        scope = f"{at[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        signature = _hmac(key, text).hex()
        credential = f"Credential={self.key_id}/{scope}"
        return f"AWS4-HMAC-SHA256 {credential},SignedHeaders={signed},Signature={signature}"


@dataclass(frozen=True)
class _Content:
    """The body of a request, which may have to be sent again."""

    file: IO[bytes]
    size: int
    sha256: str
    step: Step

    def blocks(self) -> Iterator[bytes]:
        """Yield it from its beginning on; `step` is called for every block that has been taken."""
        self.file.seek(0)
        while block := self.file.read(BLOCK):
            yield block
            self.step()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class S3Store(ObjectStore):
    """A bucket, or the names in it that begin with a prefix."""

    def __init__(self, endpoint: str, bucket: str, prefix: str, signer: Signer, drafts: Path) -> None:
        """`endpoint`: address of the service, such as `https://s3.eu-central-1.amazonaws.com`."""
        super().__init__(drafts)
        self._place = "/".join(["", bucket, *filter(None, [prefix.strip("/")])])
        self._endpoint = endpoint.rstrip("/")
        self._signer = signer
        own = ssl.create_default_context()  # the authorities of this host
        limits = httpx.Timeout(SECONDS, connect=CONNECT_SECONDS)
        self._client = httpx.Client(timeout=limits, trust_env=False, verify=own)
        self._silent_until = 0.0
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    @property
    def name(self) -> str:
        """Return where it is, for messages."""
        return f"the bucket {self._place[1:]} at {self._endpoint}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def put(self, key: str, file: IO[bytes], step: Step = nothing) -> None:
        """Store the content of a file."""
        size, payload = digest_of(file)
        with self._sent("PUT", key, _Content(file, size, payload, step)) as answer:
            self._check(answer)

    @contextmanager
    def open(self, key: str, step: Step = nothing) -> Iterator[IO[bytes]]:
        """Yield an object as a file with positions: a copy of it. Raises MissingObject."""
        with self.draft() as copy:
            with self._slot(), self._sent("GET", key) as answer:
                self._check(answer)
                for block in answer.iter_raw():
                    with system_errors():
                        copy.write(block)
                    step()
            copy.seek(0)
            yield copy

    def delete(self, key: str) -> None:
        """Remove an object if it is there."""
        with self._sent("DELETE", key) as answer:
            try:
                self._check(answer)
            except MissingObject:
                return

    def absent(self, key: str, size: int) -> str | None:  # noqa: ARG002 - a request for each would take too long
        """Return None: it would take a request."""
        return None

    def size(self, key: str) -> int | None:
        """Return the bytes of an object; None: there is none of that name."""
        with self._sent("HEAD", key) as answer:
            if answer.status_code == httpx.codes.NOT_FOUND:
                return None
            self._check(answer)
            return int(answer.headers.get("content-length", -1))

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._slots.acquire(timeout=WAIT):
            raise ObjectError(f"{self.name} is slow: {AT_ONCE} objects are being fetched, and no more at a time")
        try:
            yield
        finally:
            self._slots.release()

    @contextmanager
    def _sent(self, method: str, key: str, content: _Content | None = None) -> Iterator[httpx.Response]:
        """Yield the answer to a request. Raises ObjectError if there is none."""
        left = self._silent_until - time.monotonic()
        if left > 0:
            raise ObjectError(f"{self.name} does not answer, and is asked again in {left:.0f} s")
        try:
            answer = self._try(method, key, content)
        except httpx.HTTPError as error:
            self._silent_until = time.monotonic() + REST
            raise ObjectError(f"{self.name} does not answer: {_said(error)}") from error
        try:
            yield answer
        except httpx.HTTPError as error:
            raise ObjectError(f"{self.name} broke off: {_said(error)}") from error
        finally:
            answer.close()

    def _try(self, method: str, key: str, content: _Content | None) -> httpx.Response:
        for pause in PAUSES:
            with suppress(httpx.NetworkError, httpx.ProtocolError):  # who is silent once is not asked at once
                answer = self._client.send(self._request(method, key, content), stream=True)
                if answer.status_code not in AGAIN:
                    return answer
                answer.close()
            time.sleep(pause)
        return self._client.send(self._request(method, key, content), stream=True)

    def _request(self, method: str, key: str, content: _Content | None) -> httpx.Request:
        payload = NOTHING if content is None else content.sha256
        path = f"{self._place}/{key}"
        url = httpx.URL(f"{self._endpoint}{quote(path, '/-_.~')}")
        headers = {
            "host": url.netloc.decode(),
            "x-amz-date": f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}",
            "x-amz-content-sha256": payload,
        }
        headers["authorization"] = self._signer.authorization(method, path, {}, headers, payload)
        headers["accept-encoding"] = "identity"
        if content is None:
            return self._client.build_request(method, url, headers=headers)
        headers["content-length"] = str(content.size)  # else it would be sent in chunks, which S3 refuses
        return self._client.build_request(method, url, content=content.blocks(), headers=headers)

    def _check(self, answer: httpx.Response) -> None:
        """Raise MissingObject, or ObjectError with what the service said, unless it has done what it was asked."""
        if answer.is_success:
            return
        said = _CODE.search(answer.read()[:4096].decode(errors="replace"))
        code = said[1] if said else answer.reason_phrase
        if answer.status_code == 404 and code != "NoSuchBucket":
            raise MissingObject("it is missing")
        raise ObjectError(f"{self.name} answers {answer.status_code}: {code}")


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
