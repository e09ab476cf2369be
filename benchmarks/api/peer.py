"""MLflow's tracking server, with its defaults and SQLite, through its own REST API."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from benchmarks.api.client import Client, Failed, timed

START_SECONDS = 300.0
API = "/api/2.0/mlflow"
INTERVAL = "/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
"""What MLflow's own pages ask for a chart: a sample of the history of a metric."""


class Peer:
    """A running server of MLflow. `python`: an interpreter that can import mlflow."""

    BATCH = 1000
    """Metrics of a log-batch: the most that MLflow accepts."""
    METRICS = 20

    def __init__(self, python: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hooke-bench-mlflow-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        store = f"sqlite:///{self._folder / 'mlflow.db'}"
        command = [str(python), "-m", "mlflow", "server", "--backend-store-uri", store]
        command += ["--default-artifact-root", str(self._folder / "artifacts")]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
        environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"  # its own processes would outlive it
        environment["PATH"] = f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"
        with (self._folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, cwd=self._folder, start_new_session=True
            )
        self._step = 0

    def __enter__(self) -> Peer:
        try:
            self._wait()
            with self.client() as client:
                made = client.post("/experiments/create", {"name": "benchmark"})
            self._experiment = made["experiment_id"]
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def client(self) -> Client:
        """Return a client of its REST API."""
        return Client(self.url, prefix=API)

    def run(self) -> str:
        """Create a run; return its id."""
        with self.client() as client:
            body = {"experiment_id": self._experiment, "start_time": int(1e3 * time.time())}
            run_id: str = client.post("/runs/create", body)["run"]["info"]["run_id"]
            return run_id

    def log(self, writers: int, requests: int) -> float:
        """Have writers log batches, each to a run of its own; return points/s."""
        work = [(self.run(), [self._batch(i) for i in range(requests)]) for _ in range(writers)]
        errors: list[Exception] = []

        def write(run: str, batches: list[list[dict[str, object]]]) -> None:
            try:
                with self.client() as client:
                    for metrics in batches:
                        client.post("/runs/log-batch", {"run_id": run, "metrics": metrics})
            except Exception as error:  # any error: told by the caller
                errors.append(error)

        threads = [threading.Thread(target=write, args=each) for each in work]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return writers * requests * self.BATCH / (time.perf_counter() - began)

    def series(self, points: int, looks: int) -> tuple[float, ...]:
        """Log one metric of so many points; return ms of each of some looks at it."""
        run = self.run()
        with self.client() as client:
            for begin in range(0, points, self.BATCH):
                count = range(begin, min(points, begin + self.BATCH))
                metrics = [_metric("loss", 1 / (1 + step), step) for step in count]
                client.post("/runs/log-batch", {"run_id": run, "metrics": metrics})
        with Client(self.url, prefix="") as client:
            asked = f"{INTERVAL}?run_ids={run}&metric_key=loss&max_results=1000"
            return tuple(1e3 * timed(client, "GET", asked) for _ in range(looks))

    def _batch(self, number: int) -> list[dict[str, object]]:
        steps = range(number * self.BATCH // self.METRICS, (number + 1) * self.BATCH // self.METRICS)
        return [_metric(f"metric_{i}", 1 / (i + step + 1), step) for step in steps for i in range(self.METRICS)]

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with Client(self.url, prefix="") as client:
                    if client.raw("GET", "/health")[0] == 200:
                        return
            except OSError:
                time.sleep(0.1)
        log = (self._folder / "server.log").read_text(errors="replace")
        raise Failed(f"MLflow's server did not start: {log[-2000:]}")

    def _end(self) -> None:
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also its workers
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _metric(key: str, value: float, step: int) -> dict[str, object]:
    return {"key": key, "value": value, "timestamp": 1_700_000_000_000 + step, "step": step}


def version_of(python: Path) -> str:
    """Return the version of MLflow of an interpreter. Raises SystemExit if it cannot import it."""
    asked = [str(python), "-c", "import mlflow, json; print(json.dumps(mlflow.__version__))"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise SystemExit(f"benchmarks.api: {python} cannot import mlflow: {said.stderr.strip()[-300:]}")
    found: str = json.loads(said.stdout.splitlines()[-1])
    return found
