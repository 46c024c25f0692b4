"""The table that is released is the one on the screen, however slow the way is, and a page says when it is not sure."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.browser

MILLISECONDS = (0, 120, 1500)
Enter = Callable[..., Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One server for all tests here; each releases a table that no other does."""
    from tests.server.browser.conftest import SITE

    running = SITE.start(tmp_path_factory.mktemp("site"), has_persons=True)
    yield running
    running.stop()


@pytest.fixture
def enter(browser: Any, site: Any) -> Iterator[Enter]:
    """Opens the builder at an address as a signed-in analyst, with or without JavaScript."""
    contexts = []
    complaints: list[str] = []

    def opened(query: str, *, has_script: bool = True, milliseconds: int = 0) -> Any:
        context = browser.new_context(
            locale="en", viewport={"width": 1300, "height": 1000}, java_script_enabled=has_script
        )
        contexts.append(context)
        user = site.services.accounts.find("anna")
        cookie = _cookie(site, site.services.accounts.open_session(user))
        context.add_cookies([{"name": "dalenius_session", "value": cookie, "url": site.address}])
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{site.address}/d/commuters/table?{query}")
        site.distance.seconds = milliseconds / 1000
        return page

    yield opened
    site.distance.seconds = 0.0
    for context in contexts:
        context.close()
    assert complaints == []


def _cookie(site: Any, session: str) -> str:
    from itsdangerous import URLSafeSerializer

    return str(URLSafeSerializer(site.services.key, salt="dalenius_session").dumps(session))


def charges(site: Any) -> int:
    return int(site.services.releasing.quota(site.services.accounts.find("anna"), "commuters").charges)


def released(site: Any, page: Any) -> Any:
    """The release that the page shows."""
    page.wait_for_url(re.compile(r"/r/[0-9a-f]+"))
    entry = re.search(r"/r/([0-9a-f]+)", page.url).group(1)  # type: ignore[union-attr]
    return site.services.reading.release(site.services.accounts.find("anna"), entry)


def press_at(page: Any, box: dict[str, float]) -> None:
    """Press where the button was seen, as a hand does that is already on its way."""
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("milliseconds", MILLISECONDS)
def test_an_amount_typed_and_released_at_once_is_never_released_at_the_old_amount(
    enter: Enter, site: Any, milliseconds: int
) -> None:
    before = charges(site)
    old, new = f"0.01{milliseconds}", f"0.03{milliseconds}"
    page = enter(f"rows=mode&definition=pure&epsilon={old}", milliseconds=milliseconds)
    box = page.locator("#release").bounding_box()
    page.click("#epsilon")
    page.keyboard.press("Control+A")
    page.keyboard.type(new)
    assert page.is_disabled("#release")
    press_at(page, box)
    page.locator("aside.preview", has_text=f"Spends ε = {new.rstrip('0')}").wait_for()
    assert charges(site) == before
    page.click("#release")
    assert released(site, page).provenance.budget["epsilon"] == new.rstrip("0")
    assert charges(site) == before + 1


@pytest.mark.parametrize("milliseconds", MILLISECONDS)
def test_a_measure_chosen_and_released_at_once_is_the_measure_that_is_released(
    enter: Enter, site: Any, milliseconds: int
) -> None:
    before = charges(site)
    page = enter(f"rows=age&definition=pure&epsilon=0.02{milliseconds}", milliseconds=milliseconds)
    box = page.locator("#release").bounding_box()
    page.select_option("#measure", label="Total of Minutes on the way")
    press_at(page, box)
    page.get_by_role("heading", name="Total of Minutes on the way by Age group").wait_for()
    page.locator("#release:enabled").wait_for()
    assert charges(site) == before
    page.click("#release")
    release = released(site, page)
    assert (release.provenance.request["measure"], release.provenance.request["of"]) == ("total", "minutes")


def test_one_number_is_asked_for_by_its_own_fields_and_needs_no_variable_in_rows(enter: Enter, site: Any) -> None:
    page = enter("definition=pure&epsilon=0.043")
    page.select_option("#measure", value="sample_and_aggregate:minutes")
    page.locator("aside.preview", has_text="From 40 blocks of the records").wait_for()
    page.select_option("#key-model", label="median")
    page.locator('[name="key.clip"]').last.fill("60")
    page.fill("#key-blocks", "50")
    page.press("#key-blocks", "Enter")
    page.locator("aside.preview", has_text="From 50 blocks of the records").wait_for()
    page.locator("#release:enabled").wait_for()
    page.click("#release")
    request = released(site, page).provenance.request
    assert request["measure"] == "sample_and_aggregate"
    assert {"model": "median", "clip": ["0", "60"], "blocks": 50}.items() <= request["keys"].items()


def test_what_a_person_adds_is_bounded_by_a_field_and_the_bound_may_be_learned(enter: Enter, site: Any) -> None:
    page = enter("rows=mode&definition=pure&epsilon=0.044")
    page.select_option("#measure", label="Number of records, clipped for each person")
    page.locator("aside.preview", has_text="beside what is clipped").wait_for()
    assert page.input_value("#key-clip") == "1"
    page.fill("#key-clip", "1; 2")
    page.press("#key-clip", "Enter")
    page.get_by_role("alert").get_by_text("Of a list of bounds one must be chosen").wait_for()
    page.fill("#key-learn", "0.2")
    page.press("#key-learn", "Enter")
    page.locator("aside.preview", has_text="beside what is clipped").wait_for()
    page.select_option("#key-norm", label="root of squares")
    page.wait_for_url(re.compile("key.norm=l2"))
    page.locator("#release:enabled").wait_for()
    page.click("#release")
    request = released(site, page).provenance.request
    assert request["measure"] == "clipped_count"
    options = [request["keys"][key] for key in ("clip", "learn", "norm")]
    assert options == [["1", "2"], "0.2", "l2"]


def test_without_javascript_a_changed_form_is_shown_again_and_not_released(enter: Enter, site: Any) -> None:
    before = charges(site)
    page = enter("rows=mode&definition=pure&epsilon=0.041", has_script=False)
    page.fill("#epsilon", "0.042")
    page.click("#release")
    page.get_by_text("The table on the screen is not the one that was previewed.").wait_for()
    assert page.input_value("#epsilon") == "0.042"
    assert "ε = 0.042" in page.inner_text("aside.preview")
    assert charges(site) == before
    page.click("#release")
    assert released(site, page).provenance.budget["epsilon"] == "0.042"


def test_nothing_that_was_pressed_or_typed_while_an_answer_was_on_its_way_is_lost(enter: Enter, site: Any) -> None:
    page = enter("rows=mode&definition=pure&epsilon=0.05", milliseconds=700)
    page.click("[name=do][value='columns:age']")
    page.locator("#builder[data-state=busy]").wait_for()
    assert page.get_by_text("The preview is being updated").is_visible()
    page.click("[name=do][value='layers:district']")
    page.fill("#epsilon", "0.06")
    page.keyboard.press("Tab")
    page.wait_for_url(re.compile(r"rows=mode&columns=age&layers=district&definition=pure&epsilon=0\.06$"))
    page.locator("aside.preview", has_text="ε = 0.06").wait_for()
    assert page.is_enabled("#release")


def test_an_amount_that_is_typed_back_needs_no_new_preview(enter: Enter, site: Any) -> None:
    page = enter("rows=mode&definition=pure&epsilon=0.05")
    page.click("#epsilon")
    page.keyboard.type("1")
    assert page.is_disabled("#release")
    page.keyboard.press("Backspace")
    assert page.is_enabled("#release")


def test_without_a_connection_the_page_says_so_and_goes_on_when_it_is_back(enter: Enter, site: Any) -> None:
    before = charges(site)
    page = enter("rows=district&definition=pure&epsilon=0.051")
    page.context.set_offline(True)
    page.fill("#epsilon", "0.052")
    page.keyboard.press("Tab")
    page.get_by_text("There is no connection to the server").wait_for()
    assert page.is_disabled("#release") and page.input_value("#epsilon") == "0.052"
    page.context.set_offline(False)
    page.locator("aside.preview", has_text="ε = 0.052").wait_for()
    page.context.set_offline(True)
    page.click("#release", force=True)
    page.get_by_text("There is no connection to the server").wait_for()
    assert charges(site) == before
    page.context.set_offline(False)
    page.locator("#release:enabled").wait_for()
    page.click("#release")
    assert released(site, page).provenance.budget["epsilon"] == "0.052"
    assert charges(site) == before + 1


def test_a_server_that_does_not_answer_is_asked_again_by_a_button(enter: Enter, site: Any) -> None:
    page = enter("rows=mode&definition=pure&epsilon=0.055")
    page.route("**/*", lambda route: route.abort())
    page.click("[name=do][value='columns:age']")
    page.get_by_text("There is no connection to the server").wait_for()
    assert page.is_disabled("#release")
    page.unroute("**/*")
    page.click("#try-again")
    page.wait_for_url(re.compile(r"rows=mode&columns=age&"))
    assert page.is_enabled("#release")


def test_while_a_table_is_released_the_page_says_so_and_takes_nothing_else(enter: Enter, site: Any) -> None:
    before = charges(site)
    page = enter("rows=district&definition=pure&epsilon=0.053", milliseconds=700)
    page.dblclick("#release")
    page.get_by_text("Your table is being released").wait_for()
    assert page.evaluate("document.getElementById('builder').inert")
    assert released(site, page).provenance.budget["epsilon"] == "0.053"
    assert charges(site) == before + 1


@pytest.mark.parametrize("has_script", [True, False])
def test_a_session_that_ended_is_said_and_the_table_is_kept(enter: Enter, site: Any, has_script: bool) -> None:
    before = charges(site)
    page = enter("rows=district&columns=age&definition=pure&epsilon=0.054", has_script=has_script)
    site.services.store.write("UPDATE sessions SET expires = 0 WHERE name = ?", "anna")
    page.click("#release")
    page.get_by_text("Your session has ended").wait_for()
    assert charges(site) == before
    page.click("#sign-in-again")
    page.fill("#name", "anna")
    page.fill("#password", site.passwords["anna"])
    page.click("#sign-in")
    page.wait_for_url(re.compile(r"rows=district&columns=age&definition=pure&epsilon=0\.054$"))
    assert page.is_enabled("#release")


def test_a_progress_page_asks_to_sign_in_again_instead_of_going_blank(enter: Enter, site: Any) -> None:
    carla = site.services.accounts.find("carla")
    site.services.custody.set_approval(carla, "ridgeford", "0.3")
    page = enter("rows=mode&columns=district&definition=pure&epsilon=0.9")
    page.click("#release")
    page.get_by_text("Your table awaits approval").wait_for()
    site.services.store.write("UPDATE sessions SET expires = 0 WHERE name = ?", "anna")
    page.wait_for_url(re.compile(r"/sign-in\?next=/jobs/"))
