"""Three ways of using a page: by mouse, by keyboard alone, and by mouse without JavaScript."""

import re
from typing import Any

_PATIENCE = 15_000
_MOST_TABS = 250


class Visitor:
    """Somebody with a mouse."""

    has_script = True

    def __init__(self, browser: Any, address: str) -> None:
        self.address = address
        self.context = browser.new_context(
            java_script_enabled=self.has_script, locale="en", viewport={"width": 1300, "height": 1000}
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._note)

    def _note(self, line: Any) -> None:
        if line.type in ("error", "warning") and "status of 40" not in line.text:
            self.complaints.append(line.text)

    def close(self) -> None:
        """Leave."""
        self.context.close()

    # -- doing -----------------------------------------------------------------------------------------------------

    def open(self, path: str) -> None:
        """Type an address."""
        self.page.goto(self.address + path)

    def press(self, selector: str) -> None:
        """Press a button or follow a link."""
        self.page.click(selector)

    def write(self, selector: str, text: str) -> None:
        """Replace what a field holds."""
        self.page.click(selector)
        self.page.fill(selector, text)

    def choose(self, selector: str, label: str) -> None:
        """Choose from a list."""
        self.page.select_option(selector, label=label)

    def sign_in(self, name: str, password: str) -> None:
        """Sign in from the start page."""
        self.open("/")
        self.press("a:text-is('Sign in')")
        self.write("#name", name)
        self.write("#password", password)
        self.press("#sign-in")
        self.sees("Sign out")

    # -- seeing ----------------------------------------------------------------------------------------------------

    def sees(self, text: str | re.Pattern[str]) -> None:
        """Wait until a text is on the page."""
        self.page.get_by_text(text).first.wait_for()

    def arrives(self, pattern: str) -> None:
        """Wait until the address fits."""
        self.page.wait_for_url(re.compile(pattern))

    def text(self, selector: str) -> str:
        """What an element says."""
        return str(self.page.inner_text(selector))

    def has(self, selector: str) -> bool:
        """Whether an element is there."""
        return bool(self.page.locator(selector).count())

    def download(self, selector: str) -> str:
        """Press a link to a file and read the file."""
        with self.page.expect_download() as waiting:
            self.press(selector)
        return str(waiting.value.path().read_text(encoding="utf-8"))


class Keyboard(Visitor):
    """Somebody without a mouse: Tab to an element, then Enter, or type."""

    def _reach(self, selector: str) -> None:
        target = self.page.locator(selector).first
        target.wait_for()
        for _ in range(_MOST_TABS):
            if target.evaluate("element => element === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"{selector} cannot be reached with the Tab key")
        shown = target.evaluate(
            "element => { const s = getComputedStyle(element); return s.outlineStyle !== 'none' && s.outlineWidth !== '0px' }"
        )
        assert shown, f"{selector} does not show that it has the focus"

    def press(self, selector: str) -> None:
        """Reach it, then Enter."""
        self._reach(selector)
        self.page.keyboard.press("Enter")

    def write(self, selector: str, text: str) -> None:
        """Reach it, select everything, type."""
        self._reach(selector)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def choose(self, selector: str, label: str) -> None:
        """Reach it, then type the beginning of the label."""
        self._reach(selector)
        self.page.keyboard.type(label)
        chosen = self.page.eval_on_selector(selector, "e => e.selectedOptions[0].textContent")
        assert str(chosen).strip() == label


class WithoutScript(Visitor):
    """Somebody whose browser runs no JavaScript."""

    has_script = False


def visitor(way: str, browser: Any, address: str) -> Visitor:
    """A visitor of the kind named."""
    kinds = {"mouse": Visitor, "keyboard": Keyboard, "without JavaScript": WithoutScript}
    return kinds[way](browser, address)
