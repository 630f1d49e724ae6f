"""KernelGYM's routes under /kernelgym, so that its client is given another address and works unchanged.

Its client makes whatever failed a reward of -1, the server's own faults too. What has no verdict is a 503 here, which
it tries again, and never a task that failed.
"""

import hashlib
import json
import re
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from harness.serve.asked import LONGEST_TEXT, Asked
from harness.serve.desk import Desk
from harness.serve.jobs import Job, NameTaken

_STATUS = {"queued": "pending", "running": "processing", "done": "completed"}
_RETRY = {"Retry-After": "5"}
_NOT_IN_A_PATH = re.compile(r"[\x00-\x20\x7f?#%\\\ud800-\udfff]")


def _addressable(task_id: str) -> str:
    """`task_id`, which callers put into a path as it is. Raises ValueError where another would be asked for then."""
    if _NOT_IN_A_PATH.search(task_id) or not {"", ".", ".."}.isdisjoint(task_id.split("/")):
        raise ValueError("it cannot stand in the path of a URL as it is")
    return task_id


class Task(BaseModel):
    """KernelGYM's request. What it says of trials, backends and profiling is the judge's own business here."""

    model_config = ConfigDict(extra="ignore")

    task_id: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_addressable)]
    reference_code: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    kernel_code: Annotated[str, Field(max_length=LONGEST_TEXT)]
    entry_point: Literal["Model"] = "Model"
    timeout: Annotated[float, Field(gt=0)] = 300.0
    priority: str = "normal"
    force_refresh: bool = False


def add_routes(app: FastAPI, desk: Desk) -> None:
    """`POST /kernelgym/evaluate`, `GET /kernelgym/status/{task_id}` and `GET /kernelgym/results/{task_id}`."""

    @app.post("/kernelgym/evaluate")
    async def evaluate(task: Task, request: Request) -> dict[str, Any]:
        jobs, asks = desk.engine.jobs, _asks(task)
        try:
            jobs.require_name(task.task_id, asks)  # before anything is queued
            id = await desk.accept(_asked(task, desk))
            jobs.name_task(task.task_id, id, asks)
        except NameTaken:
            raise HTTPException(409, "this task_id stands for another kernel or reference: choose a new one") from None
        return _told(task.task_id, await desk.settled(id, min(task.timeout, 600.0), request))

    @app.get("/kernelgym/status/{task_id:path}")
    async def status(task_id: str) -> dict[str, Any]:
        return _told(task_id, _job(desk, task_id))

    @app.get("/kernelgym/results/{task_id:path}")
    async def results(task_id: str) -> dict[str, Any]:
        return _told(task_id, _job(desk, task_id))


def _asks(task: Task) -> str:
    """A hash of what is to be judged: equal for the same kernel and reference, whatever else the body says."""
    texts = (hashlib.sha256(text.encode("utf-8", "replace")) for text in (task.reference_code, task.kernel_code))
    return " ".join(text.hexdigest() for text in texts)


def _asked(task: Task, desk: Desk) -> Asked:
    """The task as one of ours; a reference that the catalogue has goes by its name, which needs no token."""
    known = desk.known_sources.get(hashlib.sha256(task.reference_code.encode("utf-8", "replace")).hexdigest())
    problem = known or (task.reference_code if "\n" in task.reference_code else task.reference_code + "\n")
    priority = task.priority if task.priority in ("high", "normal", "low") else "normal"
    return Asked.model_validate(
        {"submission": task.kernel_code, "problem": problem, "priority": priority, "fresh": task.force_refresh}
    )


def _job(desk: Desk, task_id: str) -> Job:
    id = desk.engine.jobs.named_task(task_id)
    if id is None:
        raise HTTPException(404, "there is no such task")
    return desk.job(id)


def _told(task_id: str, job: Job) -> dict[str, Any]:
    """A job in KernelGYM's words. Raises HTTPException where there is no verdict and will be none."""
    if job.state not in _STATUS:
        raise HTTPException(503, f"no verdict: {job.reason}", _RETRY)
    told: dict[str, Any] = {"task_id": task_id, "status": _STATUS[job.state]}
    if job.state != "done" or job.record is None or job.summary is None:
        return told
    record, summary = json.loads(job.record), json.loads(job.summary)
    timing, speedup = record["timing"] or {}, summary["speedup"] or {}
    return {
        **told,
        "compiled": summary["compiled"],
        "correctness": summary["correct"],
        "decoy_kernel": summary["kind"] == "rejected",
        "speedup": speedup.get("value", 0.0),
        "kernel_runtime": timing.get("candidate_ms"),
        "reference_runtime": timing.get("reference_ms"),
        "error_message": summary["detail"] or None,
        "metadata": {"device": record["device"]["name"], "judgement": job.id, "flags": summary["flags"]},
    }
