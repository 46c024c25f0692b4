"""The HTTP interface under /api/v1: data sets, plans, releases, jobs, tables from lists, inference, downloads.

Documents are the ones that the command line takes. A release is queued as a job; the call waits for it for a while and
otherwise answers 202 with the job's address. Whatever ends a job is seen on a tick.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response

from dalenius.core.contracts import Adjustment
from dalenius.core.release import Release
from dalenius.postprocess import adjusted
from dalenius.server import auth
from dalenius.server.downloads import negotiate, render
from dalenius.server.errors import NotFound
from dalenius.server.inference import described, find, infer, questions
from dalenius.server.routes import bodies
from dalenius.server.views import Download, JobView, plain

router = APIRouter(prefix="/api/v1", tags=["tables"], route_class=bodies.BoundedRoute)

Name = Annotated[str, Path(max_length=200)]
EntryName = Annotated[str, Path(max_length=64, pattern="^[0-9a-f]{1,64}$")]
JobName = Annotated[str, Path(max_length=64, pattern="^[0-9a-f]{1,64}$")]
Format = Annotated[str | None, Query(max_length=20, description="json, csv, html, …; otherwise by Accept")]
View = Annotated[Literal["measured", "anchored"], Query()]


@router.get("/datasets")
def datasets(request: Request, user: auth.CurrentUser) -> list[dict[str, Any]]:
    """Data sets that are served, as declared."""
    return [plain(view) for view in auth.services_of(request).reading.datasets()]


@router.get("/datasets/{name}")
def dataset(request: Request, name: Name, user: auth.CurrentUser) -> dict[str, Any]:
    """One data set: variables, categories, levels, what may be measured."""
    return plain(auth.services_of(request).reading.dataset(name))  # type: ignore[no-any-return]


@router.post("/datasets/{name}/plan", openapi_extra=bodies.document_body(with_batch=True))
async def plan(request: Request, name: Name, user: auth.CurrentUser) -> JSONResponse:
    """Cells, cost, expected error, and the quota of who has one: free, no data are read."""
    auth.limit_previews(request, user)
    document = await bodies.read_document(request)
    view = await run_in_threadpool(auth.services_of(request).releasing.preview, user, name, document)
    return JSONResponse(plain(view))


@router.post(
    "/datasets/{name}/tables",
    openapi_extra=bodies.document_body(),
    response_class=Response,
    responses=bodies.document_responses(),
)
async def table(request: Request, name: Name, user: auth.CurrentUser, format: Format = None) -> Response:
    """A table from the stored list: free, open to everybody, never computed from data."""
    services = auth.services_of(request)
    document = await bodies.read_document(request)
    answer = await run_in_threadpool(partial(services.reading.list_answer, name, document, explains=True))
    if answer is None:
        raise NotFound("The stored list of this data set does not hold this table; ask for a release instead.")
    return send(request, await run_in_threadpool(render, answer, choose(request, format)))


@router.get("/datasets/{name}/list")
def stored_list(request: Request, name: Name, user: auth.CurrentUser) -> dict[str, Any]:
    """The published list of a data set, from which every table it holds is free."""
    view = auth.services_of(request).reading.list_view(name)
    if view is None:
        raise NotFound("This data set has no published list.")
    return plain(view)  # type: ignore[no-any-return]


@router.post(
    "/datasets/{name}/releases",
    openapi_extra=bodies.document_body(with_batch=True),
    response_class=Response,
    responses=bodies.document_responses()
    | {202: {"description": "Queued, or awaiting approval.", "content": {"application/json": {"schema": {}}}}},
)
async def release(
    request: Request,
    name: Name,
    user: auth.SignedIn,
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
    preview_digest: Annotated[
        str | None, Header(max_length=100, description="`digest` of a plan: refuse whatever is not that.")
    ] = None,
    wait: Annotated[float, Query(ge=0, le=120, description="Seconds to wait for the answer.")] = 20,
    format: Format = None,
) -> Response:
    """Release a table, or a batch of tables as one charge: from the list if it holds it, from the ledger if it was
    released before, else new and charged.

    [show] shapes this answer alone: the release is stored as it was measured, and asking again with another [show] is
    free.
    """
    services = auth.services_of(request)
    chosen = choose(request, format)
    document = await bodies.read_document(request)
    steps = await run_in_threadpool(services.reading.adjustments, name, document)
    answer = await run_in_threadpool(services.reading.list_answer, name, document)
    if answer is not None:
        return send(request, await run_in_threadpool(render, answer, chosen))
    submit = partial(services.releasing.submit, user, name, document, idempotency_key, seen=preview_digest)
    job: JobView = await run_in_threadpool(submit)
    if job.cells <= services.config.limits.direct_cells:
        job = await services.releasing.wait(user, job.id, min(wait, services.config.limits.wait_seconds))
    return await run_in_threadpool(_outcome, request, user, job, chosen, steps)


def _outcome(request: Request, user: Any, job: JobView, chosen: str, steps: Sequence[Adjustment]) -> Response:
    if job.state == "done":
        reading = auth.services_of(request).reading
        # What is stored stays as it was measured.
        shaped = adjusted(reading.release(user, job.entry), steps) if steps else None
        file = render(shaped, chosen, is_public=False) if shaped else reading.download(user, job.entry, chosen)
        response = send(request, file)
        response.headers["Content-Location"] = f"/api/v1/releases/{job.entry}"
        response.headers["Cache-Control"] = "no-store"
        return response
    if job.state == "failed":
        return JSONResponse(job.error, job.http_status or 500)
    return JSONResponse(_job(job), 202, headers={"Location": f"/api/v1/jobs/{job.id}"})


def _job(job: JobView) -> dict[str, Any]:
    address = f"/api/v1/releases/{job.entry}" if job.entry else None
    return {**plain(job), "release": address}


@router.get("/jobs")
def jobs(request: Request, user: auth.SignedIn) -> list[dict[str, Any]]:
    """Your releases under way and finished, newest first."""
    return [_job(job) for job in auth.services_of(request).releasing.jobs_of(user)]


@router.get("/jobs/{job}")
def job(request: Request, job: JobName, user: auth.SignedIn) -> dict[str, Any]:
    """A release under way: its state and stage."""
    return _job(auth.services_of(request).releasing.job(user, job))


@router.get("/releases")
def releases(
    request: Request,
    user: auth.CurrentUser,
    dataset: Annotated[str, Query(max_length=200)] = "",
    query: Annotated[str, Query(max_length=200)] = "",
    status: Annotated[str, Query(max_length=20)] = "",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """Released tables, newest first."""
    services = auth.services_of(request)
    total, page = services.reading.releases(user, dataset, query, status, offset, limit)
    return {"total": total, "offset": offset, "releases": plain(page)}


@router.get("/releases/{entry}", response_class=Response, responses=bodies.document_responses())
async def read(request: Request, entry: EntryName, format: Format = None, view: View = "measured") -> Response:
    """A released table by its permanent address, in the format that you accept.

    `view=anchored` ties it to the first publication that shares a margin with it; measured values stay beside.
    """
    services = auth.services_of(request)
    chosen = choose(request, format)
    if view == "measured" and auth.is_unmarked(request):
        ready = services.reading.ready_download(entry, chosen)
        if ready is not None:
            limit = services.config.limits.anonymous_per_minute
            services.limiter.take("anonymous", auth.caller_address(request), limit)
            return send(request, ready)
    return await run_in_threadpool(_read, request, entry, chosen, view)


def _read(request: Request, entry: str, chosen: str, view: str) -> Response:
    services = auth.services_of(request)
    user = auth.current_user(request)
    if view == "measured":
        return send(request, services.reading.download(user, entry, chosen))
    return send(request, render(services.reading.anchored(user, entry), chosen, is_public=False))


@router.get("/inference")
def methods() -> dict[str, str]:
    """What can be computed from a release without data."""
    return {name: question.help for name, question in questions().items()}


@router.get("/inference/{name}")
def method(name: Name) -> dict[str, Any]:
    """One of them: its parameters, and what its answers stand on."""
    return described(find(name))


@router.post("/releases/{entry}/inference")
def inference(
    request: Request,
    entry: EntryName,
    body: bodies.InferenceBody,
    user: auth.CurrentUser,
    member: Annotated[int, Query(ge=1, le=50, description="Which table of a batch.")] = 1,
) -> JSONResponse:
    """Intervals, tests and estimates that know the noise; from the release alone."""
    reading = auth.services_of(request).reading

    def read(entry: str) -> Release:
        parts = reading.release(user, entry).parts
        if member > len(parts):
            raise NotFound(
                f"This release has {len(parts)} tables that are asked about one by one; there is no table {member}."
            )
        return parts[member - 1]

    return JSONResponse(infer(read(entry), body.method, body.model_extra or {}, read))


@router.get("/saved")
def saved(request: Request, user: auth.SignedIn) -> list[dict[str, Any]]:
    """Your saved tables."""
    return [plain(view) for view in auth.services_of(request).releasing.saved(user)]


@router.put("/saved/{title}", status_code=204)
def save(request: Request, title: Name, body: bodies.SavedBody, user: auth.SignedIn) -> None:
    """Keep a request under a title."""
    auth.services_of(request).releasing.save(user, title, body.dataset, body.request)


@router.delete("/saved/{title}", status_code=204)
def forget(request: Request, title: Name, user: auth.SignedIn) -> None:
    """Remove a saved table."""
    auth.services_of(request).releasing.forget(user, title)


def choose(request: Request, format: str | None) -> str:
    """The format that was named, or the one that the caller accepts."""
    return format if format is not None else negotiate(request.headers.get("accept", "*/*"))


def send(request: Request, file: Download) -> Response:
    """A document with its name and tag; 304 where the caller has it already."""
    headers = {"ETag": file.etag, "Vary": "Accept, Authorization, Cookie"}
    if file.is_public:
        headers["Cache-Control"] = "no-cache"
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    kind = "inline" if file.media_type.startswith("application/json") else "attachment"
    headers["Content-Disposition"] = f'{kind}; filename="{file.filename}"'
    return Response(file.content, headers=headers, media_type=file.media_type)
