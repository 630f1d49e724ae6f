"""The routes under /v1, /health and /metrics. What they mean is in docs/serve.md."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import ValidationError

import harness
from harness.errors import ProblemError
from harness.serve.asked import Asked
from harness.serve.changes import phase_of
from harness.serve.desk import Desk, as_ended
from harness.serve.jobs import Job, Shared
from harness.serve.kernelgym import add_routes

LONGEST_WAIT_S = 600.0
LONGEST_BATCH = 1024
KEEP_ALIVE_S = 15.0
"""So often a stream of events says something, so that proxies leave it open."""

Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for the end.")]


def view(job: Job, *, tag: str | None = None) -> str:
    """A judgement as callers see it, a line of JSON. `record` and `summary` are there where it is done, and only there.

    Both are JSON in the table, and go out as they lie there.
    """
    own = {"id": job.id, "state": job.state, "tag": job.tag if tag is None else tag, "reason": job.reason}
    done = job.state == "done"
    record, summary = (text if done and text else "null" for text in (job.record, job.summary))
    return f'{json.dumps(own)[:-1]}, "record": {record}, "summary": {summary}}}'


def make_app(desk: Desk) -> FastAPI:
    """The application; whatever it is asked has passed the guard."""
    app = FastAPI(title="kernel-harness", version=harness.__version__, docs_url=None, redoc_url=None)
    app.exception_handler(RequestValidationError)(_refuse_unreadable)
    _add_judgements(app, desk)
    _add_events(app, desk)
    _add_the_rest(app, desk)
    add_routes(app, desk)
    return app


def _answered(job: Job, *, tag: str | None = None) -> Response:
    where = {"Location": f"/v1/judgements/{job.id}"}
    return Response(view(job, tag=tag), 202 if job.is_open else 200, where, "application/json")


def _add_judgements(app: FastAPI, desk: Desk) -> None:
    @app.post("/v1/judgements")
    async def judge(asked: Asked, request: Request, wait: Wait = 0.0) -> Response:
        id = await desk.accept(asked)
        return _answered(await desk.settled(id, wait, request), tag=asked.tag)

    @app.post("/v1/judgements:batch")
    async def judge_batch(asked: list[Any]) -> list[dict[str, Any]]:
        if len(asked) > LONGEST_BATCH:
            raise HTTPException(422, f"a batch may have {LONGEST_BATCH} judgements")
        return list(await asyncio.gather(*(_one_of_batch(desk, one) for one in asked)))

    @app.get("/v1/judgements/{id}")
    async def look(id: str, request: Request, wait: Wait = 0.0) -> Response:
        return _answered(await desk.settled(id, wait, request))

    @app.delete("/v1/judgements/{id}")
    async def cancel(id: str) -> Response:
        desk.job(id)
        try:
            desk.engine.cancel(id)
        except Shared:
            raise HTTPException(409, "it was asked for more than once, maybe by others: it is judged") from None
        return _answered(desk.job(id))


async def _one_of_batch(desk: Desk, one: Any) -> dict[str, Any]:
    try:
        return {"id": await desk.accept(Asked.model_validate(one))}
    except HTTPException as error:
        return {"error": error.detail, "status": error.status_code}
    except ValidationError as error:
        return {"error": str(error.errors(include_input=False, include_url=False))[:2000], "status": 422}


def _add_events(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/judgements/{id}/events")
    async def events(id: str) -> Response:
        desk.job(id)
        desk.require_a_place()
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(_events(desk, id), media_type="text/event-stream", headers=headers)


async def _events(desk: Desk, id: str) -> AsyncIterator[str]:
    """Server-sent events: `phase` while it runs, `state` whenever that changes, the last one with the verdict."""
    told: tuple[str, str | None] = ("", None)
    if desk.is_full:  # others have come since it was asked
        return
    before = desk.job(id).record
    with desk.place(id, phase_of(id)) as changed:
        while True:
            changed.clear()
            job = as_ended(desk.job(id), before)
            now = (job.state, desk.engine.phases.get(id))
            if now[0] != told[0]:
                yield f"event: state\ndata: {view(job)}\n\n"
            if now[1] is not None and now[1] != told[1]:
                yield f"event: phase\ndata: {json.dumps({'id': id, 'phase': now[1]})}\n\n"
            told = now
            if not job.is_open or desk.engine.draining:
                return
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    await changed.wait()
            except TimeoutError:
                yield ": still there\n\n"


def _add_the_rest(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/problems")
    async def problems() -> list[str]:
        return list(desk.engine.catalog.files)

    @app.get("/v1/problems/{name:path}")
    async def problem(name: str) -> dict[str, str]:
        try:
            found = await asyncio.to_thread(desk.engine.named, name)
        except ProblemError as error:
            raise HTTPException(404, str(error)) from None
        return {"title": found.title, "sha256": found.sha256, "source": found.source}

    @app.get("/health")
    async def health() -> Response:
        engine = desk.engine
        status = "draining" if engine.draining else "unhealthy" if engine.fault else "ok"
        return JSONResponse({"status": status}, status_code=200 if status == "ok" else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(desk.metrics.text(desk.engine), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _refuse_unreadable(request: Request, error: Exception) -> Response:
    """What is wrong with a request, without repeating what it holds."""
    del request
    assert isinstance(error, RequestValidationError)
    told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:10])
    detail = "; ".join(told).encode("utf-8", "replace").decode()
    return JSONResponse({"detail": detail[:2000]}, status_code=422)
