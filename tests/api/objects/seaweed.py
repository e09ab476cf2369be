"""A storage server that speaks the protocol of S3, started for a test: SeaweedFS, whose program is `weed`."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import httpx
from hooke_api.storage.s3 import Signer

from tests.waiting import free_port, wait_for

BUCKET, REGION, SECRET = "points", "eu-test-1", "a secret/with+signs"
ADMIN = ("ADMIN", "the secret of the administrator")
MINE = ["Read:points", "Write:points"]


class Seaweed:
    """The server: everything in a folder, which outlives the process."""

    def __init__(self, weed: str, folder: Path) -> None:
        """`weed`: path of the program."""
        self._weed, self._folder = weed, folder
        self._keys = folder / "keys.json"
        self._ports = {each: free_port() for each in ("master", "volume", "filer", "s3", "https")}
        self._ports |= {f"{each}.grpc": free_port() for each in ("master", "volume", "filer", "s3")}
        self._process: subprocess.Popen[bytes] | None = None
        self._tls: list[str] = []
        (folder / "data").mkdir()
        self.allow("AKIDTEST", SECRET)
        self.url = f"http://127.0.0.1:{self._ports['s3']}"

    def allow(self, key_id: str, secret: str) -> None:
        """Have this key alone reach the bucket, from the next start on."""
        self.secret = secret
        keys = ((key_id, secret, MINE), (*ADMIN, ["Admin", "Read", "Write", "List"]))
        made = [
            {"name": key, "credentials": [{"accessKey": key, "secretKey": word}], "actions": actions}
            for key, word, actions in keys
        ]
        self._keys.write_text(json.dumps({"identities": made}))

    def encrypt(self, certificate: Path, key: Path) -> str:
        """Speak TLS, too, from the next start on; return the address."""
        self._tls = [f"-s3.port.https={self._ports['https']}", f"-s3.cert.file={certificate}"]
        self._tls.append(f"-s3.key.file={key}")
        return f"https://localhost:{self._ports['https']}"

    def start(self) -> None:
        """Start it with what is in its folder, and make the bucket if it is not there."""
        ports = {"s3": "s3.port", "https": "", **{each: f"{each}.port" for each in ("master", "volume", "filer")}}
        options = [f"-{ports[name]}={port}" for name, port in self._ports.items() if ports.get(name)]
        grpc = [f"-{name[:-5]}.port.grpc={port}" for name, port in self._ports.items() if name.endswith(".grpc")]
        fixed = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={self._folder / 'data'}", "-s3"]
        fixed += ["-master.volumeSizeLimitMB=64", "-master.telemetry=false", f"-s3.config={self._keys}"]
        fixed += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=4"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._weed, "server", *fixed, *options, *grpc, *self._tls],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | {"HOME": str(self._folder)},
            )
        wait_for(self._ready, lambda: (self._folder / "log").read_text()[-2000:], ignoring=(httpx.HTTPError,))

    def _ready(self) -> bool:
        """Make the bucket, and store an object: that is more than being asked."""
        return self.ask("PUT", "") in (200, 409) and self.ask("PUT", "ready", b"x") == 200

    def ask(self, method: str, key: str, body: bytes = b"") -> int:
        """Send a request as the administrator; return the status."""
        path, payload = f"/{BUCKET}/{key}".rstrip("/"), hashlib.sha256(body).hexdigest()
        headers = {"host": self.url.partition("//")[2], "x-amz-date": f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"}
        headers["x-amz-content-sha256"] = payload
        signed = Signer(*ADMIN, REGION).authorization(method, path, {}, headers, payload)
        headers["authorization"] = signed
        return httpx.request(method, f"{self.url}{path}", headers=headers, content=body).status_code

    def pause(self) -> None:
        """Let it be silent: connections are made, and nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
