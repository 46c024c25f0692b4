"""The table builder: place variables, see the price, release or save."""

import secrets
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dalenius.core import registry
from dalenius.errors import DaleniusError, NotAllowed, OtherRows, RequestError
from dalenius.server.accounts import User
from dalenius.server.auth import SESSION, CurrentUser, csrf_token, has_ended, limit_previews, services_of
from dalenius.server.errors import NotSignedIn, StaleRequest
from dalenius.server.pages.address import read_pairs
from dalenius.server.pages.copies import copies
from dalenius.server.pages.page import Form, lead, redirect, render, wording_of
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.shape import shape_of
from dalenius.server.pages.state import Pairs, TableState, offered_errors
from dalenius.server.pages.wording import Wording
from dalenius.server.roles import RELEASERS, require
from dalenius.server.services import Services
from dalenius.server.views import DatasetView, Preview

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Labels that an address may carry as conditions.
_MOST_LABELS = 100
_MOST_ACTIONS = 50


@router.get("/d/{name}/table")
def build(request: Request, name: str, user: CurrentUser) -> Response:
    """The builder. A form's raw fields, or a button, lead on to the one address of the state they mean."""
    services = services_of(request)
    dataset = services.reading.dataset(name)
    given: Pairs = request.query_params.multi_items()
    state = read_pairs(given, dataset)
    actions = [value for key, value in given if key == "do"]
    is_guided = any(key == "guide" for key, _ in given)
    # A slow answer may have been overtaken by the next press of a button: all of them count, in their order.
    for action in actions[:_MOST_ACTIONS]:
        state = state.act(action, dataset)
    pairs = state.to_pairs() + ([("guide", "1")] if is_guided else [])
    address = _address(dataset, pairs)
    if given and not state.problems and given != pairs and "hx-request" not in request.headers:
        return RedirectResponse(address, 303)
    if "hx-request" in request.headers and has_ended(request, user):
        return lead(request, address)
    return _show(request, dataset, state, user, address, is_guided=is_guided)


def _show_again(request: Request, dataset: DatasetView, state: TableState, user: User, status: int) -> Response:
    """The builder with what was sent, in place of a release; it says why."""
    return _show(request, dataset, state, user, _address(dataset, state.to_pairs()), status=status)


def _address(dataset: DatasetView, pairs: Pairs) -> str:
    query = urlencode(pairs)
    return f"/d/{quote(dataset.name)}/table" + (f"?{query}" if query else "")


def layout_query(state: TableState) -> str:
    return urlencode([(place, c.variable) for place, choices in state.places.items() for c in choices])


def _show(
    request: Request,
    dataset: DatasetView,
    state: TableState,
    user: User,
    address: str,
    *,
    is_guided: bool = False,
    status: int = 200,
) -> Response:
    services = services_of(request)
    wording = wording_of(request)
    document = state.to_request(dataset.name)
    preview, error, from_list = _price(request, user, dataset, state, document)
    code = preview.refusal["error"]["code"] if preview and preview.refusal else ""
    response = render(
        request,
        "builder/page.html",
        user,
        status=status,
        # A script learns the one address from the answer itself: on a slow line a redirect is a second wait.
        headers={"HX-Push-Url": address},
        here=address,
        is_stale=status == StaleRequest.http_status,
        is_expired=has_ended(request, user),
        csrf=csrf_token(request),
        d=dataset,
        state=state,
        heading=wording.state_title(dataset, state),
        measure_text=wording.measure(dataset, state.measure, state.of or None, state.subject()),
        canonical=address,
        pairs=state.to_pairs(),
        layout_query=layout_query(state),
        list_href=f"/d/{quote(dataset.name)}/list?{urlencode(state.to_pairs())}",
        preview=preview,
        expected=wording.expected(dataset, state.measure, preview) if preview else (),
        from_list=from_list,
        narrower=None if from_list or error else _narrower(services, dataset, state, wording),
        error=error,
        is_approval=code == "approval_required",
        idempotency=secrets.token_urlsafe(18),
        shape=shape_of(state, dataset, wording),
        filters=wording.filters(dataset, state),
        amounts=_amounts(state),
        errors=offered_errors(state, dataset),
        design_text=wording.design(dataset, state),
        request_text="" if state.is_empty else "yes",
        copies=copies(dataset.name, document, services.config.public_url),
        label_of=lambda name: wording.label(dataset, name),
        choice_text=lambda choice: wording.choice(dataset, choice),
        group_of=lambda choice, label: next((g for g, members in choice.groups if label in members), ""),
        is_guided=is_guided,
        guide_step=1 if state.is_empty else 2 if len(state.choices) < 2 else 3,
    )
    if has_ended(request, user):
        # It is said once, on a whole page; from then on the reader is a reader.
        response.delete_cookie(SESSION, path="/")
    return response


def _price(
    request: Request, user: User, dataset: DatasetView, state: TableState, document: dict[str, Any]
) -> tuple[Preview | None, DaleniusError | None, bool]:
    """The preview, and whether the stored list answers the request; then a reader needs no other price."""
    services = services_of(request)
    if state.is_empty:
        return None, None, False
    try:
        if not user.may_release and dataset.has_list:
            services.desk.read_request(dataset.name, document)
            if services.reading.list_answer(dataset.name, document) is not None:
                return None, None, True
        limit_previews(request, user)
        preview = services.releasing.preview(user, dataset.name, document)
    except DaleniusError as error:
        return None, error, False
    return preview, None, preview.from_list


def _narrower(services: Services, dataset: DatasetView, state: TableState, wording: Wording) -> tuple[str, str] | None:
    """Variables that need a condition for the stored list to hold the table, and the address of that table."""
    if not dataset.has_list or state.is_empty:
        return None
    try:
        services.reading.list_answer(dataset.name, state.to_request(dataset.name), explains=True)
    except OtherRows as refused:
        where: Any = refused.detail.get("where", {})
    except DaleniusError:
        return None
    else:
        return None
    labels = {name: tuple(values) for name, values in where.items() if isinstance(values, list)}
    if not where or len(labels) < len(where) or sum(map(len, labels.values())) > _MOST_LABELS:
        return None
    narrower = replace(state, where={**state.where, **labels})
    try:
        if services.reading.list_answer(dataset.name, narrower.to_request(dataset.name)) is None:
            return None
    except NotAllowed:
        return None
    names = ", ".join(wording.label(dataset, name) for name in where)
    return names, f"/d/{quote(dataset.name)}/list?{urlencode(narrower.to_pairs())}"


def _amounts(state: TableState) -> tuple[str, ...]:
    try:
        definition = registry.get("definitions", state.definition)
    except DaleniusError:
        return ("epsilon",)
    return tuple(name for name in ("epsilon", "delta", "rho") if name in definition.amounts) or ("epsilon",)


@router.post("/d/{name}/release")
async def release(request: Request, name: str, user: CurrentUser, form: Form) -> Response:
    """Spend: queue the release, wait a little, and go to the table or to the page that shows the progress."""
    services = services_of(request)
    dataset = await run_in_threadpool(services.reading.dataset, name)
    state = read_pairs(form.pairs, dataset)
    document = state.to_request(dataset.name)
    layout = layout_query(state)
    show_again = partial(_show_again, request, dataset, state, user)
    if "hx-request" in request.headers and user.is_anonymous:
        return lead(request, _address(dataset, state.to_pairs()))
    if user.is_anonymous:
        return await run_in_threadpool(show_again, NotSignedIn.http_status)
    require(user, *RELEASERS)
    try:
        preview = await run_in_threadpool(services.releasing.preview, user, dataset.name, document)
        if preview.already is not None:
            return lead(request, f"/r/{quote(preview.already.entry)}?{layout}&again=1")
        if preview.digest != form.one("seen"):
            raise StaleRequest
    except RequestError as error:
        return await run_in_threadpool(show_again, error.http_status)
    submit = partial(services.releasing.submit, user, dataset.name, document, form.one("key"), seen=form.one("seen"))
    job = await run_in_threadpool(submit)
    job = await services.releasing.wait(user, job.id, 8.0)
    if job.state == "done":
        return lead(request, f"/r/{quote(job.entry)}?{layout}")
    return lead(request, f"/jobs/{quote(job.id)}?{layout}")


@router.post("/d/{name}/saved")
def save(request: Request, name: str, user: CurrentUser, form: Form) -> Response:
    services = services_of(request)
    dataset = services.reading.dataset(name)
    state = read_pairs(form.pairs, dataset)
    title = wording_of(request).state_title(dataset, state)[:200]
    services.releasing.save(user, title, dataset.name, state.to_request(dataset.name))
    return redirect(request, "/mine", "mine.saved_ok", title=title)


@router.post("/saved/forget")
def forget(request: Request, user: CurrentUser, form: Form) -> Response:
    title = form.one("title")
    services_of(request).releasing.forget(user, title)
    return redirect(request, "/mine", "mine.forgotten", title=title)
