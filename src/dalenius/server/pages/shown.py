"""One released table and one reader: what all pages of the table need."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import Response

from dalenius.core.domain import Axis, Domain
from dalenius.core.release import Provenance, Release, Table
from dalenius.errors import DaleniusError
from dalenius.server.accounts import User
from dalenius.server.auth import services_of
from dalenius.server.pages.address import from_request
from dalenius.server.pages.page import render, wording_of
from dalenius.server.pages.reuse import request_of, with_levels
from dalenius.server.pages.state import PLACES, TableState
from dalenius.server.pages.wording import Wording
from dalenius.server.services import Services
from dalenius.server.views import DatasetView, ReleaseView
from dalenius.shown import speech
from dalenius.shown.answers import labelled
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.spec.universe import universe_of

# What the builder must be able to ask for before it offers to change a table.
_OF_THE_TABLE = ("axes", "where", "measure", "of", "weight", "margins", "keys")


class Shown:
    """One released table and one reader: what all of its pages need."""

    dataset: DatasetView | None
    layout: list[tuple[str, str]]
    member: int
    members: tuple[Release, ...]
    provenance: Provenance
    release: Release
    services: Services
    wording: Wording

    def __init__(
        self, request: Request, user: User, release: Release, view: ReleaseView | None, state: TableState | None = None
    ) -> None:
        """`state` is what was asked of a stored list; a stored release says itself what was asked."""
        self.request, self.user, self.view = request, user, view
        self.state = state
        # Of a batch one table is shown at a time, the first unless the address names another.
        self.members = release.members
        number = request.query_params.get("member", "")
        self.member = int(number) if number in map(str, range(1, len(release.members) + 1)) else 1
        release = release.parts[self.member - 1]
        self.services = services_of(request)
        self.wording = wording_of(request)
        self.release = self.read(release)
        self.provenance = release.provenance
        self.dataset = self._known(self.provenance.dataset)
        self.layout = [(key, value) for key, value in request.query_params.multi_items() if key in PLACES]

    @classmethod
    def find(cls, request: Request, entry: str, user: User) -> "Shown":
        services = services_of(request)
        return cls(request, user, services.reading.release(user, entry), services.reading.release_view(user, entry))

    def read(self, release: Release) -> Release:
        """A release with its answers named in the reader's language."""
        wording, dataset = self.wording, self._known(release.provenance.dataset)
        subject = release.about
        return labelled(
            release,
            lambda table: wording.measure(dataset, speech.method_of(release, table), subject.of or None, subject),
        )

    def _known(self, name: str) -> DatasetView | None:
        try:
            return self.services.reading.dataset(name)
        except DaleniusError:
            return None

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.release.table.space.axes if self.release.tables else ()

    @property
    def heading(self) -> str:
        if self.state is not None and self.dataset is not None:
            return self.wording.state_title(self.dataset, self.state)
        return self.release.about.title or self.described

    @property
    def described(self) -> str:
        """What is shown, by what, in the reader's language; beside a title that somebody gave."""
        subject, shown = self.release.about, set()
        if self.release.tables:
            shown = {axis.name for axis in speech.classified(self.release, self.release.table)}
        variables = [axis.variable for axis in self._in_order() if axis.name in shown]
        return self.wording.title(self.dataset, subject.measure, subject.of or None, variables, subject)

    def table_heading(self, table: Table) -> str:
        method, of = speech.method_of(self.release, table), self.release.about.of
        axes = speech.in_order(self.release.about, speech.classified(self.release, table))
        variables = [axis.variable for axis in axes]
        return self.wording.title(self.dataset, method, of or None, variables, self.release.about)

    @property
    def conditions(self) -> list[str]:
        if self.state is not None and self.dataset is not None:
            return self.wording.filters(self.dataset, self.state)
        return self.wording.conditions(self.dataset, self.provenance.request)

    def _in_order(self) -> list[Axis]:
        named = [value for _, value in self.layout] or list(self.release.about.order)
        return sorted(self.axes, key=lambda a: next((i for i, n in enumerate(named) if n in (a.name, a.variable)), 99))

    def axis_label(self, axis: Axis) -> str:
        label = self.wording.label(self.dataset, axis.variable)
        return f"{label} ({self.wording.level_name(self.dataset, axis.level)})" if axis.level else label

    def spoken(self, table: Table) -> Table:
        """The table with its labels in the reader's language, for display alone."""
        axes = tuple(
            replace(
                axis, labels=tuple(self.wording.translate_label(self.dataset, axis.variable, x) for x in axis.labels)
            )
            for axis in table.space.axes
        )
        return replace(table, space=replace(table.space, axes=axes))

    @property
    def universe(self) -> dict[str, str]:
        """Whose records are covered, translated where the declaration still says the same as the release."""
        stored = {"text": self.release.about.universe, "language": "en"}
        if not stored["text"] or self.dataset is None or self.wording.language == "en":
            return stored
        try:
            domain = self.services.desk.find(self.dataset.name).curator.domain
            universe = universe_of(load_request(self.document()), domain)
        except DaleniusError:
            return stored
        # The sentence names variables in the order in which they were asked for.
        order = [name.partition(".")[0] for name in self.release.about.order]
        needs, widened = (
            tuple(sorted(names, key=lambda name: order.index(name) if name in order else len(order)))
            for names in (universe.needs, universe.widened)
        )
        parts = tuple(
            sorted(universe.parts, key=lambda p: order.index(p.variable) if p.variable in order else len(order))
        )
        universe = replace(universe, needs=needs, widened=widened, parts=parts)
        if universe.sentence(self.release.about.labels) != stored["text"]:
            return stored
        names = {name: self.wording.label(self.dataset, name) for name in universe.named}
        language = self.wording.language
        say = partial(self.wording.translate_label, self.dataset)
        return {"text": universe.sentence(names, language, say), "language": language}

    @property
    def notes(self) -> list[dict[str, str]]:
        """What the release warns of; whose records it covers is said in the same words as beside the table."""
        about = self.release.about.universe
        return [
            self.universe if sentence == about else self.wording.note(sentence) for sentence in self.provenance.warnings
        ]

    def frame(self, section: str) -> dict[str, Any]:
        base = f"/r/{quote(self.view.entry)}" if self.view else ""
        return {
            "view": self.view,
            "provenance": self.provenance,
            "heading": self.heading,
            "described": "" if self.state is not None or self.heading == self.described else self.described,
            "section": section,
            "remarks": self.notes,
            "conditions": self.conditions,
            "base_href": base,
            "layout_query": urlencode([*self.layout, *([("member", self.member)] if self.members else [])]),
            "member": self.member,
            "members": [(f"{base}?member={n}", n) for n in range(1, len(self.members) + 1)],
            "is_again": self.request.query_params.get("again") == "1" and self.view is not None,
            "edit_href": self._edit_href(),
            "absolute": self.services.config.public_url + base,
            "axis_label": self.axis_label,
            "axis_label_by_name": lambda name: next((self.axis_label(a) for a in self.axes if a.name == name), name),
        }

    def document(self) -> dict[str, Any]:
        variables = self.dataset.variables if self.dataset else ()
        numeric = {variable.name: variable for variable in variables if variable.is_numeric}
        document = request_of(self.release, dict_of(self.layout), numeric)
        if self.dataset is None:
            return document
        domain = self.services.desk.find(self.dataset.name).curator.domain
        document["table"] = with_levels(document["table"], domain)
        plainer = from_request(document, self.dataset).to_request(self.dataset.name)
        shorter = {**document, "table": plainer["table"]}
        return shorter if self._asks_the_same(shorter, domain) else document

    def _asks_the_same(self, document: dict[str, Any], domain: Domain, keys: Sequence[str] = ()) -> bool:
        """Whether a document asks for exactly this table, or agrees with it in some keys of the canonical request.

        The builder knows fewer keys than a request may hold.
        """
        stored = self.provenance.request
        try:
            content = canonical(load_request(document), domain).content
        except DaleniusError:
            return False
        return all(content.get(key) == stored.get(key) for key in keys or {*content, *stored})

    def _edit_href(self) -> str:
        if self.dataset is None or not self.axes:
            return ""
        state = self.state or from_request(self.document(), self.dataset)
        domain = self.services.desk.find(self.dataset.name).curator.domain
        if self.state is None and not self._asks_the_same(state.to_request(self.dataset.name), domain, _OF_THE_TABLE):
            return ""
        return f"/d/{quote(self.dataset.name)}/table?{urlencode(state.to_pairs())}"

    def answer(self, template: str, section: str, **context: Any) -> Response:
        """A section of the table's pages. Published tables may be kept by caches of this reader for a minute."""
        response = render(self.request, template, self.user, **self.frame(section), **context)
        is_public = self.view is None or self.view.status == "published"
        if is_public and self.user.is_anonymous:
            response.headers["Cache-Control"] = "private, max-age=60"
        return response


def dict_of(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {}
    for key, value in pairs:
        labels.setdefault(key, []).append(value)
    return labels
