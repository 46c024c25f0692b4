"""The table builder: place variables, see the price, release or save."""

import secrets
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise, product
from math import ceil, prod
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dalenius.core import registry
from dalenius.core.rationals import rational
from dalenius.errors import DaleniusError, NotAllowed, OtherRows, ParameterError, RequestError
from dalenius.server.accounts import RELEASERS, require
from dalenius.server.auth import SESSION, csrf_token, has_ended, limit_previews
from dalenius.server.errors import NotSignedIn, StaleRequest
from dalenius.server.pages.address import read_pairs
from dalenius.server.pages.page import Caller, Form, PageRoute, Visit
from dalenius.server.pages.reuse import copies
from dalenius.server.pages.state import AxisChoice, Pairs, TableState, offered_errors
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, Preview, VariableView

_MOST_LINES, _MOST_COLUMNS = 14, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    heads: tuple[tuple[tuple[str, int], ...], ...]
    lines: tuple[tuple[tuple[str, int], ...], ...]
    stub: int
    columns: int
    more_columns: int
    more_lines: int
    layers: tuple[str, ...]
    sheets: int
    cells: int


def labels_of(
    choice: AxisChoice, dataset: DatasetView, wording: Wording, ends: tuple[str, str] = ("", "")
) -> tuple[str, ...]:
    """Labels of an axis, as the request will have them; `ends` are those of a condition on its variable."""
    variable = dataset.variable(choice.variable)
    if variable is None:
        return ()
    if choice.cuts:
        limits = [wording.typed(cut) for cut in _limits(choice, variable, ends)]
        return tuple(f"{a} – {b}" for a, b in pairwise(limits))
    if choice.level == "*" and choice.groups:
        return tuple(name for name, _ in choice.groups)
    for level in variable.levels:
        if level.name == choice.level:
            return tuple(wording.translate_label(dataset, choice.variable, group) for group in level.groups)
    kept = choice.picks or variable.categories
    return tuple(wording.translate_label(dataset, choice.variable, label) for label in kept)


def shape_of(state: TableState, dataset: DatasetView, wording: Wording) -> Shape | None:
    """The shape of a state; nothing while no variable is placed."""
    if state.is_empty:
        return None
    rows, columns, sheets_of = (
        [labels_of(c, dataset, wording, state.ranges.get(c.variable, ("", ""))) for c in choices]
        for choices in (state.rows, state.columns, state.layers)
    )
    sheets = prod(map(len, sheets_of))
    all_columns, all_lines = prod(map(len, columns)), prod(map(len, rows))
    shown = min(all_columns, _MOST_COLUMNS)
    return Shape(
        heads=_heads(columns, shown),
        lines=_lines(rows) if rows else (((wording.t("builder.whole"), 1),),),
        stub=max(len(rows), 1),
        columns=shown,
        more_columns=all_columns - shown,
        more_lines=max(all_lines - _MOST_LINES, 0),
        layers=tuple(wording.label(dataset, c.variable) for c in state.layers),
        sheets=sheets,
        cells=all_columns * all_lines * sheets,
    )


def _heads(axes: list[tuple[str, ...]], most: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    heads = []
    repeat, below = 1, prod(map(len, axes))
    for labels in axes:
        below //= max(len(labels), 1)
        head = []
        for number, label in enumerate(label for _ in range(repeat) for label in labels):
            room = most - number * below
            if room <= 0:
                break
            head.append((label, min(below, room)))
        heads.append(tuple(head))
        repeat *= len(labels)
    return tuple(heads)


def _lines(axes: list[tuple[str, ...]]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """The stub, cut after a few lines; a label spans the lines below that share it."""
    spans = [prod(len(labels) for labels in axes[i + 1 :]) for i in range(len(axes))]
    total = min(prod(map(len, axes)), _MOST_LINES)
    return tuple(
        tuple((label, min(span, total - n)) for label, span in zip(labels, spans, strict=True) if n % span == 0)
        for n, labels in enumerate(islice(product(*axes), total))
    )


def _limits(choice: AxisChoice, variable: VariableView, ends: tuple[str, str]) -> tuple[str, ...]:
    """Limits of the classes, with the declared bounds at ends that the condition on the variable leaves open."""
    if choice.is_closed or not variable.bounds:
        return choice.cuts
    (low, high), step = variable.bounds, rational(variable.step or "1")
    try:
        first, last = rational(choice.cuts[0]), rational(choice.cuts[-1])
        is_open_below = first > max(rational(low), ceil(rational(ends[0] or low) / step) * step)
        is_open_above = last < rational(high) and last <= rational(ends[1] or high)
    except ParameterError:
        # What was typed is no number; planning says so.
        return choice.cuts
    limits = (*((low,) if is_open_below else ()), *choice.cuts, *((high,) if is_open_above else ()))
    return limits if len(limits) > 1 else (low, high)


router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Labels that an address may carry as conditions.
_MOST_LABELS = 100
_MOST_ACTIONS = 50


@router.get("/d/{name}/table")
def build(visit: Caller, name: str) -> Response:
    """The builder. A form's raw fields, or a button, lead on to the one address of the state they mean."""
    dataset = visit.services.reading.dataset(name)
    given: Pairs = visit.request.query_params.multi_items()
    state = read_pairs(given, dataset)
    actions = [value for key, value in given if key == "do"]
    is_guided = any(key == "guide" for key, _ in given)
    # A slow answer may have been overtaken by the next press of a button: all of them count, in their order.
    for action in actions[:_MOST_ACTIONS]:
        state = state.act(action, dataset)
    pairs = state.to_pairs() + ([("guide", "1")] if is_guided else [])
    address = _address(dataset, pairs)
    if given and not state.problems and given != pairs and not visit.wants_part:
        return RedirectResponse(address, 303)
    if visit.wants_part and has_ended(visit.request, visit.user):
        return visit.lead(address)
    return _show(visit, dataset, state, address, is_guided=is_guided)


def _address(dataset: DatasetView, pairs: Pairs) -> str:
    query = urlencode(pairs)
    return f"/d/{quote(dataset.name)}/table" + (f"?{query}" if query else "")


def layout_query(state: TableState) -> str:
    return urlencode([(place, c.variable) for place, choices in state.places.items() for c in choices])


def _show(
    visit: Visit, dataset: DatasetView, state: TableState, address: str, *, is_guided: bool = False, status: int = 200
) -> Response:
    request, wording = visit.request, visit.wording
    document, is_expired = state.to_request(dataset.name), has_ended(request, visit.user)
    preview, error, from_list = _price(visit, dataset, state, document)
    code = preview.refusal["error"]["code"] if preview and preview.refusal else ""
    response = visit.render(
        "builder/page.html",
        status=status,
        # A script learns the one address from the answer itself: on a slow line a redirect is a second wait.
        headers={"HX-Push-Url": address},
        here=address,
        is_stale=status == StaleRequest.http_status,
        is_expired=is_expired,
        csrf=csrf_token(request),
        d=dataset,
        state=state,
        heading=wording.state_title(dataset, state),
        measure_text=wording.measure(dataset, state.subject()),
        layout_query=layout_query(state),
        list_href=f"/d/{quote(dataset.name)}/list?{urlencode(state.to_pairs())}",
        preview=preview,
        expected=wording.expected(dataset, state.measure, preview) if preview else (),
        from_list=from_list,
        narrower=None if from_list or error else _narrower(visit, dataset, state),
        error=error,
        is_approval=code == "approval_required",
        idempotency=secrets.token_urlsafe(18),
        shape=shape_of(state, dataset, wording),
        filters=wording.filters(dataset, state),
        amounts=_amounts(state),
        errors=offered_errors(state, dataset),
        design_text=wording.design(dataset, state),
        copies=copies(dataset.name, document, visit.services.config.public_url),
        label_of=lambda name: wording.label(dataset, name),
        choice_text=lambda choice: wording.choice(dataset, choice),
        group_of=lambda choice, label: next((g for g, members in choice.groups if label in members), ""),
        is_guided=is_guided,
        guide_step=1 if state.is_empty else 2 if len(state.choices) < 2 else 3,
    )
    if is_expired:
        # It is said once, on a whole page; from then on the reader is a reader.
        response.delete_cookie(SESSION, path="/")
    return response


def _price(
    visit: Visit, dataset: DatasetView, state: TableState, document: dict[str, Any]
) -> tuple[Preview | None, DaleniusError | None, bool]:
    """The preview, and whether the stored list answers the request; then a reader needs no other price."""
    services, user = visit.services, visit.user
    if state.is_empty:
        return None, None, False
    try:
        if not user.may_release and dataset.has_list:
            services.desk.read_request(dataset.name, document)
            if services.reading.list_answer(dataset.name, document) is not None:
                return None, None, True
        limit_previews(visit.request, user)
        preview = services.releasing.preview(user, dataset.name, document)
    except DaleniusError as error:
        return None, error, False
    return preview, None, preview.from_list


def _narrower(visit: Visit, dataset: DatasetView, state: TableState) -> tuple[str, str] | None:
    """Variables that need a condition for the stored list to hold the table, and the address of that table."""
    if not dataset.has_list or state.is_empty:
        return None
    reading = visit.services.reading
    try:
        reading.list_answer(dataset.name, state.to_request(dataset.name), explains=True)
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
        if reading.list_answer(dataset.name, narrower.to_request(dataset.name)) is None:
            return None
    except NotAllowed:
        return None
    names = ", ".join(visit.wording.label(dataset, name) for name in where)
    return names, f"/d/{quote(dataset.name)}/list?{urlencode(narrower.to_pairs())}"


def _amounts(state: TableState) -> tuple[str, ...]:
    try:
        definition = registry.get("definitions", state.definition)
    except DaleniusError:
        return ("epsilon",)
    return tuple(name for name in ("epsilon", "delta", "rho") if name in definition.amounts) or ("epsilon",)


@router.post("/d/{name}/release")
async def release(visit: Caller, name: str, form: Form) -> Response:
    """Spend: queue the release, wait a little, and go to the table or to the page that shows the progress."""
    user, releasing = visit.user, visit.services.releasing
    dataset = await run_in_threadpool(visit.services.reading.dataset, name)
    state = read_pairs(form.pairs, dataset)
    document = state.to_request(dataset.name)
    layout, address = layout_query(state), _address(dataset, state.to_pairs())
    # The builder with what was sent, in place of a release; it says why.
    show_again = partial(_show, visit, dataset, state, address)
    if visit.wants_part and user.is_anonymous:
        return visit.lead(address)
    if user.is_anonymous:
        return await run_in_threadpool(show_again, status=NotSignedIn.http_status)
    require(user, *RELEASERS)
    try:
        preview = await run_in_threadpool(releasing.preview, user, dataset.name, document)
        if preview.already is not None:
            return visit.lead(f"/r/{quote(preview.already.entry)}?{layout}&again=1")
        if preview.digest != form.one("seen"):
            raise StaleRequest
    except RequestError as error:
        return await run_in_threadpool(show_again, status=error.http_status)
    submit = partial(releasing.submit, user, dataset.name, document, form.one("key"), seen=form.one("seen"))
    job = await run_in_threadpool(submit)
    job = await releasing.wait(user, job.id, 8.0)
    if job.state == "done":
        return visit.lead(f"/r/{quote(job.entry)}?{layout}")
    return visit.lead(f"/jobs/{quote(job.id)}?{layout}")


@router.post("/d/{name}/saved")
def save(visit: Caller, name: str, form: Form) -> Response:
    dataset = visit.services.reading.dataset(name)
    state = read_pairs(form.pairs, dataset)
    title = visit.wording.state_title(dataset, state)[:200]
    visit.services.releasing.save(visit.user, title, dataset.name, state.to_request(dataset.name))
    return visit.redirect("/mine", "mine.saved_ok", title=title)


@router.post("/saved/forget")
def forget(visit: Caller, form: Form) -> Response:
    title = form.one("title")
    visit.services.releasing.forget(visit.user, title)
    return visit.redirect("/mine", "mine.forgotten", title=title)
