"""The pages that everybody may read: start, data sets, released tables, explanations, language."""

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.core.law import Additive
from dalenius.core.registry import get
from dalenius.server import messages
from dalenius.server.auth import set_cookie
from dalenius.server.errors import NotFound
from dalenius.server.pages.page import LANGUAGE, TEMPLATES, Caller, PageRoute, local
from dalenius.server.pages.wording import Wording
from dalenius.shown.charts import Mark, bars

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_EPSILONS = ("0.01", "0.1", "0.5", "1")
TOPICS = tuple(sorted(page.name.split(".")[0] for page in (TEMPLATES / "explain").glob("*.en.html")))


@router.get("/")
def start(visit: Caller) -> Response:
    reading = visit.services.reading
    datasets = reading.datasets()
    _, recent = reading.releases(visit.user, limit=6)
    guide = f"/d/{quote(datasets[0].name)}/table?guide=1" if datasets else ""
    return visit.render("home.html", datasets=datasets, recent=recent, guide=guide)


@router.get("/d/{name}")
def dataset(visit: Caller, name: str) -> Response:
    user, services, wording = visit.user, visit.services, visit.wording
    view = services.reading.dataset(name)
    _, recent = services.reading.releases(user, dataset=view.name, limit=10)
    neighbours = services.desk.find(name).curator.domain.neighbours.to_dict()
    return visit.render(
        "dataset.html",
        d=view,
        recent=recent,
        list_view=services.reading.list_view(view.name) if view.has_list else None,
        quota=services.releasing.quota(user, view.name) if user.may_release else None,
        unit_text=wording.unit(neighbours),
        design_text=wording.design(view),
    )


@router.get("/tables")
def tables(visit: Caller, q: str = "", dataset: str = "") -> Response:
    reading, words = visit.services.reading, q[:200]
    _, views = reading.releases(visit.user, dataset=dataset, query=words, limit=200)
    return visit.render("tables.html", recent=views, datasets=reading.datasets(), q=words, chosen=dataset)


@router.get("/language/{code}")
def language(request: Request, code: str, next: str = "/") -> Response:
    response = RedirectResponse(local(next), 303)
    if code in messages.languages():
        set_cookie(request, response, LANGUAGE, code, 86_400 * 365)
    return response


@router.get("/explain")
def explanations(visit: Caller) -> Response:
    return visit.render("explain/index.html", topics=TOPICS)


@router.get("/explain/{topic}")
def explanation(visit: Caller, topic: str) -> Response:
    if topic not in TOPICS:
        raise NotFound("There is no such page.")
    language = visit.wording.language
    return visit.render(
        "explain/page.html",
        topic=topic,
        topics=TOPICS,
        text_language=language if language in ("en", "de") else "en",
        noise_chart=_noise_chart(visit.wording) if topic == "noise" else "",
        margins=[(text, int(_law(text).half_width(0.95))) for text in _EPSILONS] if topic == "noise" else (),
    )


def _law(epsilon: str) -> Additive:
    return Additive(get("mechanisms", "discrete_laplace")(epsilon))


def _noise_chart(wording: Wording) -> str:
    law = _law("0.5")
    marks = [Mark(group="", label=wording.num(k), value=float(law.pmf(k))) for k in range(-8, 9)]
    return bars(
        marks,
        title=wording.t("explain.chart"),
        description="",
        show=lambda p: wording.percent(p, 0 if round(p * 100, 9).is_integer() else 1),
    )
