"""A small real HTTP server with the contract of ingest: stores each point once; can be down, broken or hostile."""

import gzip
import threading
import zlib
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hooke.spec.attempts import AgentProof, FailedLaunch, ForgetReport
from hooke.spec.events import AgentHello, Ingest, IngestAnswer
from hooke.spec.files import compressed
from hooke.spec.orders import ClaimedOrder, OrderClaim
from hooke.spec.protocol import OLDEST, PROTOCOL, AgentWelcome
from pydantic import ValidationError


class RecordingApi:
    """What was ingested, exactly as the contract says: numbers that are stored already are ignored."""

    def __init__(self):
        self.lock = threading.Lock()
        self.records = defaultdict(list)  # (run, attempt, rank) -> records in order of seq
        self.logs = defaultdict(list)
        self.files = defaultdict(bytes)  # (run, attempt, name) -> content
        self.reports = defaultdict(list)
        self.requests = []  # (run, attempt, bytes of the decompressed body, Ingest)
        self.hellos, self.proofs, self.faults = [], [], []
        self.failed_launches, self.forgotten = [], []
        self.orders = {}  # id -> Work, or what returns it for each claim
        self.claims = []  # OrderClaim and the token that it came with
        self.cancel, self.fenced = set(), set()
        self.checkpoints = defaultdict(int)  # (run, attempt) -> asked for so far
        self.tokens = {}
        self.mode = "ok"  # ok | 500 | garbage | 413 | 422 | deaf: stores everything, but the answer is lost
        self.refused = 0  # requests answered in the modes 500, 422 and garbage
        self.limit = None  # bytes above which a body is refused with 413
        self._server = None
        self.port = 0
        self.up()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def up(self):
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = _Server(("127.0.0.1", self.port), handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self):
        self._server.shutdown()
        self._server.close_all()
        self._server.server_close()

    def states(self, run, attempt=1):
        return [report.state for report in self.reports[run, attempt]]

    def end(self, run, attempt=1):
        return self.reports[run, attempt][-1]

    def seqs(self, run, rank, attempt=1):
        return [record.seq for record in self.records[run, attempt, rank]]

    def ingest(self, message):
        key = (message.run, message.attempt)
        acknowledged = {}
        for part in message.ranks:
            stored = self.records[*key, part.rank]
            for record in part.records:
                if record.seq < len(stored):
                    continue
                if record.seq > len(stored):
                    self.faults.append(f"{key} rank {part.rank}: {record.seq} after {len(stored) - 1}")
                    break
                stored.append(record)
            acknowledged[part.rank] = len(stored) - 1
        logs = self.logs[key]
        for line in message.logs:
            if line.seq == len(logs):
                logs.append(line)
            elif line.seq > len(logs):
                self.faults.append(f"{key} log: {line.seq} after {len(logs) - 1}")
        files = {}
        for part in message.files:
            if part.size and part.start == len(self.files[(*key, part.name)]):
                self.files[(*key, part.name)] += zlib.decompress(compressed(part))
            files[part.name] = len(self.files[(*key, part.name)])
        applied = self.reports[key]
        common = min(len(message.reports), len(applied))  # a request of a killed supervisor may arrive late
        if [r.model_dump() for r in message.reports[:common]] != [r.model_dump() for r in applied[:common]]:
            self.faults.append(f"{key}: reports were rewritten: {applied} by {message.reports}")
        applied.extend(message.reports[len(applied) :])
        return IngestAnswer(
            acknowledged=acknowledged,
            logs=len(logs) - 1,
            reports=len(applied),
            cancel=key in self.cancel,
            checkpoints=self.checkpoints[key],
            files=files,
            fenced=key in self.fenced,
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *args):
        self.connections = set()
        super().__init__(*args)

    def process_request(self, request, address):
        self.connections.add(request)
        super().process_request(request, address)

    def close_all(self):
        for connection in self.connections:
            try:
                connection.shutdown(2)
            except OSError:
                continue

    def handle_error(self, request, address):
        pass  # a client that was killed, or a server that was taken down on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: RecordingApi

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        status, answer = self.answer(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def answer(self, body):
        api = self.api
        if self.path == "/api/v1/agents/hello":
            api.hellos.append(AgentHello.model_validate_json(body))
            return 200, AgentWelcome(protocol=PROTOCOL, oldest=OLDEST, version="test").model_dump_json().encode()
        if self.path == "/api/v1/agents/proof":
            api.proofs.append(AgentProof.model_validate_json(body))
            return 204, b""
        if self.path == "/api/v1/agents/failed-launch":
            api.failed_launches.append(FailedLaunch.model_validate_json(body))
            return 204, b""
        if self.path == "/api/v1/agents/forgotten":
            api.forgotten.append(ForgetReport.model_validate_json(body))
            return 204, b""
        if self.path == "/api/v1/agents/claim":
            return self.claim(OrderClaim.model_validate_json(body))
        if self.path != "/api/v1/ingest":
            return 404, b"{}"
        if api.mode in ("500", "422", "garbage"):
            api.refused += 1
        if api.mode in ("500", "422"):
            return int(api.mode), b'{"title": "no"}'
        if api.mode == "garbage":
            return 200, b"<html>a captive portal</html>"
        if api.limit and len(body) > api.limit:
            return 413, b"{}"
        with api.lock:
            try:
                message = Ingest.model_validate_json(body)
            except ValidationError as error:
                api.faults.append(str(error))
                return 422, b"{}"
            token = api.tokens.get((message.run, message.attempt))
            if token and self.headers["Authorization"] != f"Bearer {token}":
                return 401, b"{}"
            api.requests.append((message.run, message.attempt, len(body), message))
            answer = api.ingest(message).model_dump_json().encode()
        return (500, b"lost") if api.mode == "deaf" else (200, answer)

    def claim(self, asked):
        self.api.claims.append((asked, self.headers["Authorization"]))
        work = self.api.orders.get(asked.order)
        if work is None:
            return 404, b'{"detail": "there is no such order for this agent", "errors": []}'
        work = work() if callable(work) else work
        return 200, ClaimedOrder(id=asked.order, work=work).model_dump_json().encode()
