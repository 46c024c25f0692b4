"""Takes the pictures of the documentation: `python tests/server/browser/pictures.py docs/images`.

Serves the demo population from a fresh folder, walks through the tutorial, and writes one PNG a step.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from dalenius.server.accounts import Accounts, Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.server.demonstration import prepare
from dalenius.server.store import StateStore

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
ADDRESS = "http://127.0.0.1:8465"
DATASET = "military-2010"
PASSWORD = "picture-password"


def serve(folder: Path) -> uvicorn.Server:
    """The demo server with known passwords and a registered data set."""
    place, _ = prepare(folder)
    config = ServerConfig.load(place)
    store = StateStore(config.store_location)
    accounts = Accounts(store)
    for name in ("custodian", "analyst"):
        accounts.set_password(name, PASSWORD)
    store.close()
    app = create_app(config)
    services = app.state.services
    custodian = User("custodian", Role.CUSTODIAN)
    try:
        services.custody.account(custodian, "us-active-duty")
    except Exception:
        services.custody.register(custodian, DATASET)
    services.custody.set_quota(custodian, "us-active-duty", "analyst", "0.5", "1e-6")
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=8465, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return server


def walk(page: Any, out: Path) -> None:
    """The steps of the tutorial."""

    def picture(name: str, *, whole: bool = False) -> None:
        page.mouse.move(0, 0)
        page.screenshot(path=out / f"{name}.png", full_page=whole)

    page.goto(f"{ADDRESS}/sign-in")
    page.fill("#name", "analyst")
    page.fill("#password", PASSWORD)
    page.click("#sign-in")
    page.click("text=Try it with a guided first table")
    page.click("[name=do][value='rows:grade']")
    page.wait_for_url("**rows=grade**")
    page.click("[name=do][value='columns:branch']")
    page.wait_for_url("**columns=branch**")
    picture("builder")
    page.click("#release")
    page.wait_for_url("**/r/**")
    picture("released", whole=True)
    page.click("text=Test of independence")
    page.click("#run-test")
    page.wait_for_selector("#test-result")
    picture("independence")
    page.goto(
        f"{ADDRESS}/d/{DATASET}/table?rows=race&columns=branch&where.grade=warrant+officer&definition=pure&epsilon=0.04"
    )
    page.click("#release")
    page.wait_for_url("**/r/**")
    picture("unreliable", whole=True)
    page.goto(f"{ADDRESS}/")
    picture("start", whole=True)
    page.goto(f"{ADDRESS}/mine")
    picture("mine")


def govern(page: Any, out: Path) -> None:
    """What the custodian sees."""
    page.goto(f"{ADDRESS}/sign-in")
    page.fill("#name", "custodian")
    page.fill("#password", PASSWORD)
    page.click("#sign-in")
    page.goto(f"{ADDRESS}/custodian/budget/us-active-duty")
    page.screenshot(path=out / "budget.png", full_page=True)
    page.goto(f"{ADDRESS}/ledger?population=us-active-duty")
    page.screenshot(path=out / "ledger.png", full_page=True)


def main(out: Path) -> None:
    """Serve, walk, and stop."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = serve(Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for scheme, steps in (("light", walk), ("dark", govern)):
            context = browser.new_context(
                viewport={"width": 1280, "height": 860}, color_scheme=scheme, locale="en", reduced_motion="reduce"
            )
            steps(context.new_page(), out)
            context.close()
        browser.close()
        server.should_exit = True
        time.sleep(2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
