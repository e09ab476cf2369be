"""A user's own algorithm and workload, from two files to a run that succeeded, over REST with real MPI."""

import hashlib

from instances import runs, submit

from tests.engine.spec.test_own_files import ALGORITHM, WORKLOAD
from tests.waiting import wait_for

OWN = {
    "name": "own",
    "workload": {"name": "two-blobs", "parameters": {"width": 8}},
    "variants": [{"name": "mine", "algorithm": "my-descent", "parameters": {"lr": 0.2}}],
    "baseline": "mine",
    "clusters": [{"name": "local", "workers": [2], "seeds": 1}],
    "budget": {"samples": 4000},
    "evaluation": {"every": 1000},
}


def offered(client, kind, name):
    return next((item for item in client.get(f"/{kind}").json()["items"] if item["name"] == name), None)


def ended(client, experiment):
    (run,) = runs(client, experiment)
    return client.get(f"/runs/{run['id']}").json() if run["finished_at"] else None


def test_own_files_run_and_a_changed_one_is_refused(hooke, tmp_path):
    folder = tmp_path / "mine"
    method, workload = folder / "algorithms" / "mine.py", folder / "workloads" / "two_blobs.py"
    for file, text in ((method, ALGORITHM), (workload, WORKLOAD)):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (folder / "algorithms" / "broken.py").write_text("1 / 0\n")
    up = hooke("up", environment={"HOOKE_PATH": str(folder)})
    with up.ready() as client:
        mine = wait_for(lambda: offered(client, "algorithms", "my-descent"), "the report of the file")
        digest = hashlib.sha256(method.read_bytes()).hexdigest()
        assert (mine["origin"], mine["offers"]) == ("file", {"local": digest})
        assert offered(client, "workloads", "two-blobs")["origin"] == "file"
        (cluster,) = client.get("/clusters").json()["items"]
        assert ["ZeroDivisionError" in problem["error"] for problem in cluster["problems"]] == [True]

        first = submit(client, OWN)
        done = wait_for(lambda: ended(client, first), "the end of the run")
        assert done["state"] == "succeeded", done["history"][-1]
        assert done["spec"]["algorithm"] == {"name": "my-descent", "parameters": {"lr": 0.2}, "hash": digest}
        assert done["accuracy"] > 0.8

        # the wrong source: planned with the one that was reported, changed before it starts
        method.write_text(ALGORITHM + "\n# another one\n")
        second = submit(client, OWN)
        refused = wait_for(lambda: ended(client, second), "the end of the run")
        assert refused["state"] == "failed_user"
        assert "here differs from the planned one" in refused["history"][-1]["why"]
        changed = hashlib.sha256(method.read_bytes()).hexdigest()
        wait_for(lambda: offered(client, "algorithms", "my-descent")["hash"] == changed, "the changed file")
