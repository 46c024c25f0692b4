"""The table builder: place variables, see the price, release or save."""

import secrets
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dalenius.core import registry
from dalenius.errors import DaleniusError, OtherRows
from dalenius.server.accounts import User
from dalenius.server.auth import CurrentUser
from dalenius.server.pages.address import read_pairs
from dalenius.server.pages.copies import copies
from dalenius.server.pages.page import Form, language_of, redirect, render
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.shape import shape_of
from dalenius.server.pages.state import PLACES, Pairs, TableState
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, Preview

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Labels that an address may carry as conditions.
_MOST_LABELS = 100


@router.get("/d/{name}/table")
def build(request: Request, name: str, user: CurrentUser) -> Response:
    """The builder. A form's raw fields, or a button, lead on to the one address of the state they mean."""
    services = request.app.state.services
    dataset = services.dataset(name)
    given: Pairs = request.query_params.multi_items()
    state = read_pairs(given, dataset)
    actions = [value for key, value in given if key == "do"]
    is_guided = any(key == "guide" for key, _ in given)
    for action in actions[:1]:
        state = state.act(action, dataset)
    pairs = state.to_pairs() + ([("guide", "1")] if is_guided else [])
    address = _address(dataset, pairs)
    if given and not state.problems and given != pairs:
        return RedirectResponse(address, 303)
    return _show(request, dataset, state, user, address, is_guided=is_guided)


def _address(dataset: DatasetView, pairs: Pairs) -> str:
    query = urlencode(pairs)
    return f"/d/{quote(dataset.name)}/table" + (f"?{query}" if query else "")


def layout_query(state: TableState) -> str:
    """Where the axes stand, for the page of the released table."""
    return urlencode([(place, c.variable) for place in PLACES for c in getattr(state, place)])


def _show(
    request: Request, dataset: DatasetView, state: TableState, user: User, address: str, *, is_guided: bool
) -> Response:
    services = request.app.state.services
    wording = Wording(language_of(request), services)
    document = state.to_request(dataset.name)
    preview, error, from_list = _price(services, user, dataset, state, document)
    code = preview.refusal["error"]["code"] if preview and preview.refusal else ""
    return render(
        request,
        "builder/page.html",
        user,
        d=dataset,
        state=state,
        heading=wording.state_title(dataset, state),
        measure_text=wording.measure(dataset, state.measure, state.of or None),
        canonical=address,
        pairs=state.to_pairs(),
        layout_query=layout_query(state),
        list_href=f"/d/{quote(dataset.name)}/list?{urlencode(state.to_pairs())}",
        preview=preview,
        from_list=from_list,
        narrower=None if from_list or error else _narrower(services, user, dataset, state, wording),
        error=error,
        is_approval=code == "approval_required",
        idempotency=secrets.token_urlsafe(18),
        shape=shape_of(state, dataset, wording),
        filters=wording.filters(dataset, state),
        amounts=_amounts(state),
        request_text="" if state.is_empty else "yes",
        copies=copies(dataset.name, document, services.config.public_url),
        label_of=lambda name: wording.label(dataset, name),
        choice_text=lambda choice: wording.choice(dataset, choice),
        group_of=lambda choice, label: next((g for g, members in choice.groups if label in members), ""),
        is_guided=is_guided,
        guide_step=1 if state.is_empty else 2 if len(state.choices) < 2 else 3,
    )


def _price(
    services: Any, user: User, dataset: DatasetView, state: TableState, document: dict[str, Any]
) -> tuple[Preview | None, DaleniusError | None, bool]:
    """The preview for who may release; for others, whether the stored list answers the request."""
    if state.is_empty:
        return None, None, False
    try:
        if user.may_release:
            preview: Preview = services.preview(user, dataset.name, document)
            return preview, None, preview.from_list
        services.read_request(dataset.name, document)
        is_listed = dataset.has_list and services.list_answer(user, dataset.name, document) is not None
    except DaleniusError as error:
        return None, error, False
    return None, None, is_listed


def _narrower(
    services: Any, user: User, dataset: DatasetView, state: TableState, wording: Wording
) -> tuple[str, str] | None:
    """The same table of the records that the ready list counts: on which variables it asks for a value, and its address."""
    if not dataset.has_list or state.is_empty:
        return None
    try:
        services.list_answer(user, dataset.name, state.to_request(dataset.name), explains=True)
    except OtherRows as refused:
        where: Any = refused.detail.get("where", {})
    except DaleniusError:
        return None
    else:
        return None
    labels = {name: tuple(given) for name, given in where.items() if isinstance(given, list)}
    if not where or len(labels) < len(where) or sum(map(len, labels.values())) > _MOST_LABELS:
        return None
    found = replace(state, where={**state.where, **labels})
    if services.list_answer(user, dataset.name, found.to_request(dataset.name)) is None:
        return None
    names = ", ".join(wording.label(dataset, name) for name in where)
    return names, f"/d/{quote(dataset.name)}/list?{urlencode(found.to_pairs())}"


def _amounts(state: TableState) -> tuple[str, ...]:
    """Which amounts the chosen definition takes."""
    try:
        definition = registry.get("definitions", state.definition)
    except DaleniusError:
        return ("epsilon",)
    return tuple(name for name in ("epsilon", "delta", "rho") if name in definition.amounts) or ("epsilon",)


@router.post("/d/{name}/release")
async def release(request: Request, name: str, user: CurrentUser, form: Form) -> Response:
    """Spend: queue the release, wait a little, and go to the table or to the page that shows the progress."""
    services = request.app.state.services
    dataset = await run_in_threadpool(services.dataset, name)
    state = read_pairs(form.pairs, dataset)
    document = state.to_request(dataset.name)
    layout = layout_query(state)
    known = await run_in_threadpool(services.preview, user, dataset.name, document)
    if known.already is not None:
        return RedirectResponse(f"/r/{quote(known.already.entry)}?{layout}&again=1", 303)
    job = await run_in_threadpool(services.submit, user, dataset.name, document, form.one("key"))
    job = await services.wait(user, job.id, 8.0)
    if job.state == "done":
        return RedirectResponse(f"/r/{quote(job.entry)}?{layout}", 303)
    return RedirectResponse(f"/jobs/{quote(job.id)}?{layout}", 303)


@router.post("/saved")
def save(request: Request, user: CurrentUser, form: Form) -> Response:
    """Keep the table being built under its title."""
    services = request.app.state.services
    dataset = services.dataset(form.one("dataset"))
    state = read_pairs(form.pairs, dataset)
    title = Wording(language_of(request), services).state_title(dataset, state)[:200]
    services.save(user, title, dataset.name, state.to_request(dataset.name))
    return redirect(request, "/mine", "mine.saved_ok", title=title)


@router.post("/saved/forget")
def forget(request: Request, user: CurrentUser, form: Form) -> Response:
    """Remove a saved table."""
    title = form.one("title")
    request.app.state.services.forget(user, title)
    return redirect(request, "/mine", "mine.forgotten", title=title)
