"""One released table and one reader: what all pages of the table need."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from fastapi.responses import Response

from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.release import Provenance, Release
from dalenius.errors import DaleniusError
from dalenius.server.errors import NotFound
from dalenius.server.pages.address import from_request, read_pairs
from dalenius.server.pages.page import Visit
from dalenius.server.pages.reuse import request_of, with_levels
from dalenius.server.pages.state import PLACES, TableState
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, ReleaseView
from dalenius.shown import speech
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.spec.universe import universe_of

# What the builder must be able to ask for before it offers to change a table.
_OF_THE_TABLE = ("axes", "where", "measure", "of", "weight", "margins", "keys")


class Shown:
    def __init__(
        self, visit: Visit, release: Release, view: ReleaseView | None, state: TableState | None = None
    ) -> None:
        """`state` is what was asked of a stored list; a stored release says itself what was asked."""
        self.visit, self.view, self.state, self.stored = visit, view, state, release
        self.wording: Wording = visit.wording
        params = visit.request.query_params
        # Of a batch one table is shown at a time, the first unless the address names another.
        self.members: tuple[Release, ...] = release.members
        number = params.get("member", "")
        self.member: int = int(number) if number in map(str, range(1, len(release.members) + 1)) else 1
        self.dataset: DatasetView | None = self._known(release.provenance.dataset)
        self.whole: Release = self.read(release)
        self.release: Release = self.whole.parts[self.member - 1]
        self.provenance: Provenance = release.parts[self.member - 1].provenance
        self.layout: list[tuple[str, str]] = [(key, value) for key, value in params.multi_items() if key in PLACES]

    @classmethod
    def find(cls, visit: Visit, entry: str) -> "Shown":
        reading = visit.services.reading
        return cls(visit, reading.release(visit.user, entry), reading.release_view(visit.user, entry))

    def read(self, release: Release) -> Release:
        """A release in the reader's words; in English it has its own."""
        language = self.wording.language
        read = speech.as_read(release, language)
        return read if language == speech.DEFAULT else speech.as_read(_spoken_part(self, read), language)

    def _known(self, name: str) -> DatasetView | None:
        try:
            return self.visit.services.reading.dataset(name)
        except DaleniusError:
            return None

    def _domain(self, dataset: DatasetView) -> Domain:
        return self.visit.services.desk.find(dataset.name).curator.domain

    @property
    def placed(self) -> dict[str, list[str]]:
        return {place: [name for key, name in self.layout if key == place] for place in PLACES}

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.release.table.space.axes if self.release.tables else ()

    @property
    def titles(self) -> list[str]:
        """The titles of the tables that are shown."""
        before = sum(len(part.tables) for part in self.whole.parts[: self.member - 1])
        return speech.titles(self.whole, self.wording.language)[before:][: len(self.release.tables)]

    @property
    def heading(self) -> str:
        return self.release.about.title or self.described

    @property
    def described(self) -> str:
        """What is shown, by what, in the reader's language; beside a title that somebody gave."""
        what = speech.measured(self.release.about, self.wording.language)
        return self.titles[0] if self.release.tables else what

    def spoken_axis(self, axis: Axis) -> Axis:
        labels = (self.wording.translate_label(self.dataset, axis.variable, label) for label in axis.labels)
        return replace(axis, labels=tuple(labels))

    @property
    def universe(self) -> dict[str, str]:
        """Whose records are covered, translated where the declaration still says the same as the release."""
        stored = {"text": self.stored.parts[self.member - 1].about.universe, "language": "en"}
        if not stored["text"] or self.dataset is None or self.wording.language == "en":
            return stored
        try:
            universe = universe_of(load_request(self.document()), self._domain(self.dataset))
        except DaleniusError:
            return stored
        # The sentence names variables in the order in which they were asked for.
        order = [name.partition(".")[0] for name in self.release.about.order]

        def place(name: str) -> int:
            return order.index(name) if name in order else len(order)

        universe = replace(
            universe,
            needs=tuple(sorted(universe.needs, key=place)),
            widened=tuple(sorted(universe.widened, key=place)),
            parts=tuple(sorted(universe.parts, key=lambda part: place(part.variable))),
        )
        if universe.sentence(self.stored.parts[self.member - 1].about.labels) != stored["text"]:
            return stored
        names = {name: self.wording.label(self.dataset, name) for name in universe.named}
        language, say = self.wording.language, partial(self.wording.translate_label, self.dataset)
        return {"text": universe.sentence(names, language, say), "language": language}

    @property
    def notes(self) -> list[dict[str, str]]:
        """What the release warns of; whose records it covers is said in the same words as beside the table."""
        about = self.stored.parts[self.member - 1].about.universe
        return [
            self.universe if sentence == about else self.wording.note(sentence) for sentence in self.provenance.warnings
        ]

    def answer(self, template: str, section: str, **context: Any) -> Response:
        """A section of the table's pages. Published tables may be kept by caches of this reader for a minute."""
        base = f"/r/{quote(self.view.entry)}" if self.view else ""
        frame: dict[str, Any] = {
            "view": self.view,
            "provenance": self.provenance,
            "heading": self.heading,
            "described": "" if self.heading == self.described else self.described,
            "section": section,
            "remarks": self.notes,
            "base_href": base,
            "layout_query": urlencode([*self.layout, *([("member", self.member)] if self.members else [])]),
            "member": self.member,
            "members": [(f"{base}?member={n}", n) for n in range(1, len(self.members) + 1)],
            "is_again": self.visit.request.query_params.get("again") == "1" and self.view is not None,
            "edit_href": self._edit_href(),
            "absolute": self.visit.services.config.public_url + base,
            "axis_label": lambda axis: speech.name_of(self.release.about, axis.name, self.wording.language),
        }
        response = self.visit.render(template, **frame, **context)
        is_public = self.view is None or self.view.status == "published"
        if is_public and self.visit.user.is_anonymous:
            response.headers["Cache-Control"] = "private, max-age=60"
        return response

    def document(self) -> dict[str, Any]:
        variables = self.dataset.variables if self.dataset else ()
        numeric = {variable.name: variable for variable in variables if variable.is_numeric}
        document = request_of(self.release, self.placed, numeric)
        if self.dataset is None:
            return document
        domain = self._domain(self.dataset)
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
        request = state.to_request(self.dataset.name)
        if self.state is None and not self._asks_the_same(request, self._domain(self.dataset), _OF_THE_TABLE):
            return ""
        return f"/d/{quote(self.dataset.name)}/table?{urlencode(state.to_pairs())}"


def listed(visit: Visit, name: str) -> Shown:
    """The table that the address asks of the stored list of a data set."""
    reading = visit.services.reading
    state = read_pairs(visit.request.query_params.multi_items(), reading.dataset(name))
    release = reading.list_answer(name, state.to_request(name), explains=True)
    if release is None:
        raise NotFound("The stored list of this data set does not hold this table.")
    return Shown(visit, release, None, state)


def spoken_release(shown: Shown, release: Release) -> Release:
    """Translate a whole release; what the dataset document does not translate stays."""
    universe = shown.universe["text"]
    spoken = _spoken_part(shown, release)
    return spoken if release.members else spoken.with_(subject=replace(spoken.about, universe=universe))


def _spoken_part(shown: Shown, release: Release) -> Release:
    source, stored = release.provenance, shown.wording.stored
    plain, formal = stored(source.guarantee), stored(source.formal_guarantee)
    whole = release.with_(provenance=replace(source, guarantee=plain, formal_guarantee=formal))
    if release.members:
        return whole.with_members([_spoken_part(shown, member) for member in release.members])

    def spoken(space: CellSpace) -> CellSpace:
        axes = ((axis, shown.spoken_axis(axis)) for axis in space.axes)
        # Two groups that a translation calls alike stay apart under their own words.
        return replace(space, axes=tuple(own if len(set(new.labels)) < len(own) else new for own, new in axes))

    return whole.with_(
        tables=tuple(replace(table, space=spoken(table.space)) for table in release.tables),
        # A table finds what it was measured by through its cells, which must have the same names.
        blocks=tuple(replace(block, space=spoken(block.space)) for block in release.blocks),
        subject=replace(
            shown.wording.spoken(
                shown.dataset, release.about, {axis.name for table in release.tables for axis in table.space.axes}
            ),
            dataset=shown.wording.dataset_title(release.provenance.dataset) or release.about.dataset,
        ),
    )
