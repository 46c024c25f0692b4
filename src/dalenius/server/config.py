"""What the custodian tells the server: data sets, ledger, store, limits, languages, sign-on.

One TOML file. Relative paths are read from the file's own directory. Nothing in it is a secret: keys are made on first
start and kept in the state directory, readable by the server's user alone.
"""

import os
import secrets
import time
import tomllib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dalenius.errors import DocumentError
from dalenius.spec.load import toml_complaint
from dalenius.spec.request import definition_of

Mode = Literal["interactive", "list"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Section):
    body_bytes: int = Field(default=1_000_000, ge=1_000)
    requests_per_minute: int = Field(default=1200, ge=1)
    anonymous_per_minute: int = Field(default=600, ge=1)
    previews_per_minute: int = Field(default=60, ge=1, description="Of an address that has not signed in.")
    releases_per_minute: int = Field(default=120, ge=1)
    sign_ins_per_minute: int = Field(default=10, ge=1)
    waiting_per_user: int = Field(default=20, ge=1)
    direct_cells: int = Field(default=20_000, ge=1)
    most_cells: int = Field(default=1_000_000, ge=1)
    wait_seconds: float = Field(default=20.0, gt=0, le=120)
    session_hours: float = Field(default=12.0, gt=0, le=24 * 31)


class Proxy(_Section):
    """Sign-on by a reverse proxy: its header names the user, believed from a listed peer that knows the secret.

    An address alone is not enough: any process on the proxy's machine can speak from it.
    """

    header: str = "X-Remote-User"
    secret_header: str = "X-Proxy-Secret"
    trusted: tuple[str, ...] = ()
    create_as: Literal["", "analyst", "auditor"] = ""


class Defaults(_Section):
    """What the builder proposes; without a definition, the one of the amounts."""

    definition: str = ""
    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_definition(cls, amounts: Any) -> Any:
        is_named = not isinstance(amounts, dict) or amounts.get("definition")
        return amounts if is_named else {**amounts, "definition": definition_of(amounts)}


class DatasetEntry(_Section):
    document: str
    policy: str | None = None
    mode: Mode = "interactive"
    list: str | None = Field(default=None, description="Request document of the list, released once.")
    description: str = ""
    # Costs as much as epsilon = 0.1 and has 30 % less noise.
    defaults: Defaults = Defaults(rho="0.005")


class ServerConfig(_Section):
    title: str = "Dalenius"
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[A-Za-z0-9.:\[\]-]+)?$",
        description="Where readers find the server, for links; without it links are paths. The Host header is never "
        "believed.",
    )
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8400
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    runners: Annotated[int, Field(ge=1, le=16)] = 1
    state: str = "state"
    store: str | None = Field(default=None, description="SQLite path or postgresql:// address of accounts and jobs.")
    ledger: str = "ledger.sqlite"
    anchor: str | None = Field(default=None, description="File for the ledger's signed heads, best on another disk.")
    keys: str | None = Field(default=None, description="Private folder for the populations' secrets.")
    policy: str | None = None
    languages: tuple[str, ...] = ("en", "de")
    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    tick_milliseconds: Annotated[int, Field(ge=1, le=60_000)] = 250
    secure_cookies: bool = True
    open_metrics: bool = False
    register_on_start: bool = Field(
        default=False,
        description="Whether to register data sets that are new, instead of leaving that to the custodian.",
    )
    pages: bool = Field(default=True, description="Whether to serve web pages beside the HTTP interface.")
    limits: Limits = Limits()
    proxy: Proxy | None = None
    datasets: tuple[DatasetEntry, ...] = ()
    base: Path = Field(default=Path(), exclude=True)

    @classmethod
    def load(cls, path: str | Path) -> "ServerConfig":
        """Read the file; a mistake is refused with the place where it is."""
        place = Path(path)
        try:
            document = tomllib.loads(place.read_text())
        except (OSError, ValueError) as error:
            why = toml_complaint(error) if isinstance(error, tomllib.TOMLDecodeError) else type(error).__name__
            raise DocumentError(f"{place.name} cannot be read as a server configuration: {why}.") from None
        return cls.of(document, place.resolve().parent)

    @classmethod
    def of(cls, document: dict[str, Any], base: Path) -> "ServerConfig":
        """From plain values, with the directory that relative paths start from."""
        try:
            return cls.model_validate({**document, "base": base})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise DocumentError(f"The server configuration is wrong at {where!r}: {first['msg']}.") from error

    def path(self, name: str) -> Path:
        return self.base / name

    @property
    def state_directory(self) -> Path:
        """Where keys and the store live; private to the server's user."""
        place = self.path(self.state)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        return place

    @property
    def store_location(self) -> str:
        if self.store is None:
            return str(self.state_directory / "server.sqlite")
        return self.store if "://" in self.store else str(self.path(self.store))

    @property
    def ledger_location(self) -> str:
        return self.ledger if "://" in self.ledger else str(self.path(self.ledger))

    @property
    def tick(self) -> float:
        return self.tick_milliseconds / 1000

    def key(self) -> bytes:
        """The key under which cookies and form tokens are signed; made once, shared by all workers."""
        return _read_or_create(self.state_directory / "session.key", secrets.token_bytes(32))

    def proxy_secret(self) -> str:
        """What the sign-on proxy sends along to be believed; made once, for its operator to copy."""
        return _read_or_create(self.state_directory / "proxy.secret", secrets.token_hex(32).encode()).decode()


def _read_or_create(path: Path, content: bytes) -> bytes:
    """Return the content of a private file, which the first worker writes."""
    with suppress(FileExistsError), open(path, "xb", opener=partial(os.open, mode=0o600)) as file:
        file.write(content)
    # Another worker may be writing it at this moment. What is text may have got a line end from an editor.
    for _ in range(200):
        stored = path.read_bytes().strip() if content.isalnum() else path.read_bytes()
        if len(stored) == len(content):
            return stored
        time.sleep(0.01)
    raise DocumentError(f"{path.name} in the state directory is damaged: it must hold {len(content)} bytes.")
