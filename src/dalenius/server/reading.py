"""Reading what was released: views, documents, downloads, anchored views, tables from lists.

Nothing here reads data, except `Lists.release`, which the custodian's list pays for once like any other request. What a
list answers, and what is refused there as here: docs/decisions/0005-rules-hold-for-tables-from-lists.md.
"""

import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import takewhile
from typing import Any

from dalenius.core import registry
from dalenius.core.contracts import Adjustment
from dalenius.core.domain import Domain
from dalenius.core.release import Release, Status
from dalenius.errors import DaleniusError, NotPublic, NotRegistered, OtherRows, PolicyError, RequestError, Unsupported
from dalenius.lists.rules import check, check_keys, refused
from dalenius.lists.tables import answer_from_list
from dalenius.postprocess import adjusted
from dalenius.server import downloads, presentation
from dalenius.server.accounts import Role, User, require
from dalenius.server.errors import NotFound
from dalenius.server.operations import Document, RequestService, Served, outages
from dalenius.server.views import DatasetView, Download, ReleaseView
from dalenius.spec.axis import COMPLETE, OWN
from dalenius.spec.batch import BatchDocument
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.spec.method import counts_records
from dalenius.spec.request import RequestDocument
from dalenius.spec.subject import subject_of
from dalenius.spec.universe import with_universe

# Nobody's account can have this name; a policy with quotas may give it one of its own: [analysts."(list)"].
LIST_QUOTA = "(list)"


@dataclass(frozen=True)
class _Asked:
    """The request of a list under the rules of today: its digest, its key, or why it would be refused now."""

    digest: str
    key: str = ""
    refusal: PolicyError | RequestError | None = None


class Lists:
    def __init__(self, desk: RequestService) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._requests: dict[str, _Asked] = {}
        self._stored = cache(self._read)

    def document(self, served: Served) -> RequestDocument | None:
        if served.entry.list is None:
            return None
        asked = load_request(self._desk.config.path(served.entry.list))
        return with_universe(asked, served.curator.domain)

    def view(self, served: Served) -> ReleaseView | None:
        """The published list of a data set: under the rules of today or, without one, under earlier ones."""
        asked = self._asked(served)
        if asked is None:
            return None
        own = self._desk.catalogue.by_key(asked.key)
        views = [*self._desk.catalogue.by_request(asked.digest), *([own] if own else [])]
        return next((view for view in reversed(views) if view.status == Status.PUBLISHED), None)

    def _asked(self, served: Served) -> _Asked | None:
        """None where there is no list, or the data set is not registered yet."""
        document = None if served.name in self._requests else self.document(served)
        if document is None:
            return self._requests.get(served.name)
        digest = canonical(document, served.curator.domain).digest
        try:
            asked = _Asked(digest, self._desk.quote(served, document, "", is_stored=True).charge.key)
        except NotRegistered:
            return None
        except (PolicyError, RequestError) as error:
            asked = _Asked(digest, refusal=error)
        with self._lock:
            self._requests[served.name] = asked
        return asked

    def release(self, served: Served) -> str | None:
        """Release the list, if the data set has one; charged once, whoever asks and however often.

        A list that was released under earlier rules stays the list until the custodian withdraws it.
        """
        document, asked = self.document(served), self._asked(served)
        if document is None:
            return None
        if asked is not None:
            for view in reversed(self._desk.catalogue.by_request(asked.digest)):
                if view.status != Status.WITHDRAWN:
                    return view.entry
        return self._desk.release(served, document, analyst=LIST_QUOTA, approved_by="", stage=lambda _: None)

    def answer(self, served: Served, request: RequestDocument) -> Release | None:
        """The table from the list; None if there is no published list, or it does not hold the table.

        A table that it holds and that a rule of the policy does not let be shown is refused.
        """
        with suppress(Unsupported):
            return self.find(served, request)
        return None

    def find(self, served: Served, request: RequestDocument) -> Release | None:
        """The table and its margins from the list; a refusal that says what to change where only the records differ."""
        if served.entry.list is None or not counts_records(request.method) or request.table.weight is not None:
            return None
        view, domain = self.view(served), served.curator.domain
        if view is None:
            return None
        stored = self._stored(view.entry)
        answer = _sums(stored, request, domain)
        if answer is None:
            _refuse_widened(stored, request, domain)
            return None
        self._check(served, request, answer, stored)
        return answer.with_(subject=subject_of(request, domain, served.curator.document.dataset.title))

    def _check(self, served: Served, request: RequestDocument, answer: Release, stored: Release) -> None:
        """Refuse a table that is not shown under the rules of today, or that leaves aside what the request names."""
        asked, curator = self._asked(served), served.curator
        assert asked is not None
        curator.planner.check(request, canonical(request, curator.domain))
        check_keys(request, stored)
        if asked.refusal is not None:
            reason = f"the list was released before it. {asked.refusal.message}"
            raise refused(stored, str(asked.refusal.detail.get("rule", "policy")), reason)
        own = self._desk.catalogue.by_key(asked.key)
        is_current = own is not None and own.entry == stored.provenance.ledger_entry
        check(answer, stored, curator.policy, is_current=is_current)

    def _read(self, entry: str) -> Release:
        with outages():
            return downloads.read(self._desk.ledger.reader.release(entry))


def _sums(stored: Release, request: RequestDocument, domain: Domain) -> Release | None:
    return answer_from_list(stored, request.space(domain), request.filters(domain), domain, request.margins(domain))


def _refuse_widened(stored: Release, request: RequestDocument, domain: Domain) -> None:
    """Raise `OtherRows` where the list holds the margins but for a label of those without a shown value."""
    if request.table.universe != OWN:
        return
    table = request.table.model_copy(update={"universe": COMPLETE})
    if _sums(stored, request.model_copy(update={"table": table}), domain) is not None:
        raise OtherRows(
            "The stored list counts the records with a declared value on all axes alone, and these margins would count "
            'all. Set `universe` to "complete" to read them from the list.',
            key="universe",
        )


_CACHED = 256
_RECENT_SECONDS = 0.05
_MOST_CACHED_CELLS = 50_000
_MOST_CACHED_BYTES = 1_000_000


@dataclass(frozen=True)
class Reading:
    """For everybody, as far as a release is published; drafts and embargoed ones for who asked, and the custodian."""

    desk: RequestService
    lists: Lists
    _datasets: dict[str, DatasetView] = field(default_factory=dict)
    _searched: dict[str, str] = field(default_factory=dict)
    _cache: OrderedDict[str, Release] = field(default_factory=OrderedDict)
    _files: OrderedDict[tuple[str, str], Download] = field(default_factory=OrderedDict)
    _cache_lock: threading.Lock = field(default_factory=threading.Lock)

    def datasets(self) -> tuple[DatasetView, ...]:
        return tuple(self.dataset(name) for name in self.desk.served)

    def dataset(self, name: str) -> DatasetView:
        # Declaration, policy and limits are read when the server starts, and nothing here depends on who asks.
        if name not in self._datasets:
            most_cells = self.desk.config.limits.most_cells
            self._datasets[name] = presentation.dataset_view(self.desk.find(name), most_cells)
        return self._datasets[name]

    def releases(
        self, user: User, dataset: str = "", query: str = "", status: str = "", offset: int = 0, limit: int = 50
    ) -> tuple[int, tuple[ReleaseView, ...]]:
        """How many there are and one page of them, newest first."""
        every = self.desk.catalogue.refreshed().values()
        words = query.casefold().split()
        views = [
            view
            for view in reversed(list(every))
            if self._may_list(user, view)
            and (not dataset or view.dataset == dataset)
            and (not status or view.status == status)
            and (not words or self._is_found(view, words))
        ]
        page = views[max(offset, 0) : max(offset, 0) + min(max(limit, 1), 500)]
        return len(views), tuple(self._hidden(user, view) for view in page)

    def _is_found(self, view: ReleaseView, words: list[str]) -> bool:
        """Whether every word stands somewhere in the table's labels, in any language; the same for every reader."""
        if view.entry not in self._searched:
            declared = self.dataset(view.dataset) if view.dataset in self.desk.served else None
            self._searched[view.entry] = presentation.search_text(view, declared)
        return all(word in self._searched[view.entry] for word in words)

    def release_view(self, user: User, entry: str) -> ReleaseView:
        view = self.desk.catalogue.refreshed().get(entry)
        shown = self.shown(user, view)
        if shown is None:
            raise NotFound("There is no such release.")
        if shown.status == Status.WITHDRAWN and not user.may_read_ledger:
            raise NotPublic("This release was withdrawn.", status="withdrawn", entry=entry)
        return shown

    def release(self, user: User, entry: str) -> Release:
        view = self.release_view(user, entry)
        release = self._cache.get(entry)
        if release is None:
            with outages():
                release = downloads.read(self.desk.ledger.reader.release(entry))
            if view.cells <= _MOST_CACHED_CELLS:
                self._keep(self._cache, entry, release)
        return release.with_(status=Status(view.status))

    def download(self, user: User, entry: str, format: str) -> Download:
        view = self.release_view(user, entry)
        place = (entry, f"{format}/{view.status}")
        file = self._files.get(place)
        if file is None:
            file = downloads.render(self.release(user, entry), format, is_public=view.status == Status.PUBLISHED)
            if len(file.content) <= _MOST_CACHED_BYTES:
                self._keep(self._files, place, file)
        return file

    def _keep(self, cache: OrderedDict[Any, Any], key: object, value: object) -> None:
        with self._cache_lock:
            cache[key] = value
            while len(cache) > _CACHED:
                cache.popitem(last=False)

    def ready_download(self, entry: str, format: str) -> Download | None:
        """A published document that needs neither ledger nor rendering now; a change of status counts 50 ms later."""
        views = self.desk.catalogue.recent(_RECENT_SECONDS)
        view = views.get(entry) if views is not None else None
        if view is None or view.status != Status.PUBLISHED:
            return None
        return self._files.get((entry, f"{format}/{view.status}"))

    def anchored(self, user: User, entry: str) -> Release:
        """The release tied to the first publication on the same rows that shares a margin; measured values stay."""
        view, release = self.release_view(user, entry), self.release(user, entry)
        every = tuple(self.desk.catalogue.refreshed().values())
        for earlier in takewhile(lambda other: other.entry != entry, every):
            if earlier.status == Status.PUBLISHED and presentation.may_anchor(earlier, view):
                published = self.release(user, earlier.entry)
                # Releases that cannot be reconciled are left as they are.
                with suppress(DaleniusError):
                    return registry.get("postprocess", "anchor")(published)(release)  # type: ignore[no-any-return]
        return release

    def _may_list(self, user: User, view: ReleaseView) -> bool:
        if view.status == Status.PUBLISHED or user.may_read_ledger:
            return True
        return view.status in (Status.DRAFT, Status.EMBARGOED) and bool(user.name) and view.analyst == user.name

    def shown(self, user: User, view: ReleaseView | None) -> ReleaseView | None:
        """The view, unless the user may not know of it. That something public was withdrawn is public."""
        if view is None:
            return None
        was_seen = view.entry in self.desk.catalogue.were_public or self._knows_analyst(user, view)
        is_known = self._may_list(user, view) or (view.status == Status.WITHDRAWN and was_seen)
        return self._hidden(user, view) if is_known else None

    def _hidden(self, user: User, view: ReleaseView) -> ReleaseView:
        return view if self._knows_analyst(user, view) else replace(view, analyst="")

    @staticmethod
    def _knows_analyst(user: User, view: ReleaseView) -> bool:
        return user.may_read_ledger or (bool(user.name) and view.analyst == user.name)

    def list_answer(self, dataset: str, document: Document, *, explains: bool = False) -> Release | None:
        """A table from the stored list; None if the list does not hold it, and for a batch.

        With `explains`, a table that would count other records is refused, and the refusal says what helps.
        """
        served, request = self.desk.find(dataset), self.desk.read_asked(dataset, document)
        if isinstance(request, BatchDocument):
            return None
        answer = self.lists.find(served, request) if explains else self.lists.answer(served, request)
        return None if answer is None else adjusted(answer, self.desk.adjustments(served, request))

    def adjustments(self, dataset: str, document: Document) -> list[Adjustment]:
        """What [show] of a request asks for, or a refusal; nothing for numbers as they were measured."""
        return self.desk.adjustments(self.desk.find(dataset), self.desk.read_asked(dataset, document))

    def list_view(self, dataset: str) -> ReleaseView | None:
        view = self.lists.view(self.desk.find(dataset))
        return None if view is None else replace(view, analyst="")

    def release_list(self, user: User, dataset: str) -> None:
        require(user, Role.CUSTODIAN)
        self.lists.release(self.desk.find(dataset))
