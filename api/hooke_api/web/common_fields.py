"""What fields and parameters of common names are, for those that say nothing of their own."""

from __future__ import annotations

from typing import Any

COMMON = {
    "action": "Id of an operation of this API.",
    "actor": "Name of a user or machine, or `owner`.",
    "algorithm": "Name of the algorithm.",
    "attempt": "Number of the attempt of the run, from 1.",
    "axis": "What the horizontal axis is.",
    "calibration_id": "Id of the calibration.",
    "cluster": "Name of the cluster.",
    "created_at": "When it was made.",
    "created_by": "Who made it.",
    "cursor": "`next_cursor` of the page before; without it, the first page.",
    "delivery_id": "Id of the delivery.",
    "description": "What it is for.",
    "ended_at": "When it ended; null: not yet.",
    "errors": "The faults one by one, each with its place.",
    "events": "What it is told of.",
    "experiment": "Id of the experiment.",
    "experiment_id": "Id of the experiment.",
    "fetch_id": "Id of the fetched checkpoint.",
    "fingerprint": "SHA-256 of the specification, 64 hexadecimal digits.",
    "hardware": "What the machine is made of.",
    "host": "Name of the host.",
    "id": "Its id.",
    "identity_id": "Id of the account.",
    "items": "What is listed.",
    "label": "A note by which people know it.",
    "limit": "Maximum number of items.",
    "metric": "Name of the metric.",
    "n": "Number of seeds.",
    "name": "Its name.",
    "next_cursor": "To be passed as `cursor` for the next page; null: this is the last one.",
    "number": "Number of the experiment on this server.",
    "oversubscribed": "Whether it had more ranks than its machine has cores.",
    "password": "The password.",
    "precisions": "Precisions of the gradients that are timed.",
    "priority": "A higher one goes first on clusters whose policy is `priority`.",
    "project": "Name of the project.",
    "rank": "Number of the rank, from 0.",
    "request_id": "Id of the request, as in the server's log.",
    "role": "What this user, token or member may do.",
    "run": "Id of the run.",
    "run_id": "Id of the run.",
    "seed": "Its seed.",
    "servers": "Number of servers: ranks that hold the center.",
    "simulated": "Whether times are virtual.",
    "slots": "Number of ranks that run there at once.",
    "subject": "Identifier of what was changed.",
    "title": "What it is called for people.",
    "token_id": "Id of the token.",
    "unit": "Unit of the values.",
    "url": "Where events are sent to.",
    "used_at": "When it was last used; null: never.",
    "user": "Name of the user.",
    "variant": "Name of the variant.",
    "versions": "Versions of the software, by name.",
    "view_id": "Id of the view.",
    "webhook_id": "Id of the webhook.",
    "workers": "Number of workers.",
    "workload": "Name of the workload.",
    "workloads": "Names of workloads.",
}


NAMES = {"clusters": "Name of the cluster.", "projects": "Name of the user.", "users": "Name of the user."}
"""What the parameter `name` is, by the first part of the path."""


def describe(document: dict[str, Any]) -> None:
    """Add to an OpenAPI document what these fields of schemas and parameters of operations are."""
    for schema in document["components"]["schemas"].values():
        for name, field in schema.get("properties", {}).items():
            if name in COMMON:
                field.setdefault("description", COMMON[name])
    for path, methods in document["paths"].items():
        words = COMMON | {"name": NAMES.get(path.split("/")[3], COMMON["name"])}  # below /api/v1
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in words:
                    parameter.setdefault("description", words[parameter["name"]])
