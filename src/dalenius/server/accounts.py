"""Who may sign in: local accounts, sessions and API tokens (docs/explanation/threat-model-server.md)."""

import hashlib
import hmac
import re
import secrets
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from dalenius.errors import Conflict, ParameterError, UnknownName
from dalenius.server.errors import Forbidden, NotSignedIn
from dalenius.server.store import Run, StateStore

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_SHORTEST = 12
TOKEN_PREFIX = "dln"
# argon2 takes 64 MB for each password on purpose; more than two at a time would let guessing fill the memory.
_HASHING = threading.BoundedSemaphore(2)


class Role(StrEnum):
    ANONYMOUS = "anonymous"
    ANALYST = "analyst"
    CUSTODIAN = "custodian"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class User:
    name: str = ""
    role: Role = Role.ANONYMOUS

    @property
    def is_anonymous(self) -> bool:
        return self.role is Role.ANONYMOUS

    @property
    def may_release(self) -> bool:
        return self.role in (Role.ANALYST, Role.CUSTODIAN)

    @property
    def may_read_ledger(self) -> bool:
        return self.role in (Role.CUSTODIAN, Role.AUDITOR)

    @property
    def is_custodian(self) -> bool:
        return self.role is Role.CUSTODIAN


ANONYMOUS = User()
RELEASERS = (Role.ANALYST, Role.CUSTODIAN)
READERS = (Role.CUSTODIAN, Role.AUDITOR)


def named(user: User) -> str:
    require(user, Role.ANALYST, Role.CUSTODIAN, Role.AUDITOR)
    return user.name


def require(user: User, *roles: Role) -> None:
    """Refuse other roles; who has not signed in is asked to."""
    if user.role in roles:
        return
    if user.is_anonymous:
        raise NotSignedIn
    raise Forbidden(f"This needs the role {' or '.join(roles)}; you are signed in as {user.role}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """An API token as its owner sees it in a list: never the secret."""

    id: str
    label: str
    created: float
    expires: float


@cache
def _hasher() -> Any:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _decoy() -> str:
    """A hash to verify against where there is no user, so that both refusals take the same work."""
    return str(_hasher().hash(secrets.token_hex(16)))


def _note_issuer(run: Run, name: str, by: str) -> None:
    run(
        "INSERT INTO issued (name, by_whom) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET by_whom = excluded.by_whom",
        (name, by),
    )


def _sign_out(run: Run, name: str) -> None:
    run("DELETE FROM sessions WHERE name = ?", (name,))
    run("DELETE FROM tokens WHERE name = ?", (name,))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Accounts:
    def __init__(self, store: StateStore, session_hours: float = 12.0) -> None:
        self._store = store
        self._session_seconds = session_hours * 3600

    def create(self, name: str, role: str, password: str | None, by: str = "") -> User:
        """A new user; without a password only the proxy or a token signs them in. `by` is the custodian who saw it."""
        if not _NAME.fullmatch(name):
            raise ParameterError(
                "A user name has 1 to 64 letters, digits or . _ @ - and starts with a letter or digit."
            )
        roles = [r for r in Role if r is not Role.ANONYMOUS]
        UnknownName.check("role", role, roles)
        hashed = "" if password is None else self._hashed(password)
        with self._store.transaction() as run:
            added = run(
                "INSERT INTO users (name, role, password, is_active, created) VALUES (?, ?, ?, 1, ?)"
                " ON CONFLICT (name) DO NOTHING RETURNING name",
                (name, role, hashed, time.time()),
            )
            if added:
                _note_issuer(run, name, by)
        if not added:
            raise Conflict(f"There is a user named {name!r} already.", received=name)
        return User(name, Role(role))

    def set_password(self, name: str, password: str, by: str | None = None) -> None:
        """A new password ends every session and every token of the user.

        `by` says who else saw it: a custodian, or "" for the command line; None if its owner chose it, which does not
        change who issued the account.
        """
        hashed = self._hashed(password)
        with self._store.transaction() as run:
            if by is not None:
                _note_issuer(run, name, by)
            run("UPDATE users SET password = ? WHERE name = ?", (hashed, name))
            _sign_out(run, name)

    def deactivate(self, name: str) -> None:
        with self._store.transaction() as run:
            run("UPDATE users SET is_active = 0 WHERE name = ?", (name,))
            _sign_out(run, name)

    def issuer(self, name: str) -> str:
        """The custodian who last saw a password of this user; empty if that was done on the server machine."""
        rows = self._store.read("SELECT by_whom FROM issued WHERE name = ?", name)
        return str(rows[0][0]) if rows else ""

    def find(self, name: str) -> User | None:
        return self._user("FROM users u WHERE u.name = ? AND u.is_active = 1", name)

    def users(self) -> tuple[User, ...]:
        rows = self._store.read("SELECT name, role FROM users WHERE is_active = 1 ORDER BY name")
        return tuple(User(name, Role(role)) for name, role in rows)

    def _user(self, source: str, *values: object) -> User | None:
        rows = self._store.read(f"SELECT u.name, u.role {source}", *values)
        return User(rows[0][0], Role(rows[0][1])) if rows else None

    def _hashed(self, password: str) -> str:
        if not _SHORTEST <= len(password) <= 1024:
            raise ParameterError(f"A password has {_SHORTEST} to 1024 characters.")
        with _HASHING:
            return str(_hasher().hash(password))

    def verify(self, name: str, password: str) -> User | None:
        """The user, if the password is theirs. Takes the same work whether or not there is such a user."""
        from argon2.exceptions import Argon2Error, InvalidHashError

        rows = self._store.read("SELECT role, password FROM users WHERE name = ? AND is_active = 1", name[:64])
        stored = rows[0][1] if rows and rows[0][1] else _decoy()
        try:
            with _HASHING:
                _hasher().verify(stored, password[:1024])
        except (Argon2Error, InvalidHashError):
            return None
        return User(name, Role(rows[0][0])) if rows and rows[0][1] else None

    def open_session(self, user: User) -> str:
        """A fresh session id; the store keeps its digest."""
        session = secrets.token_urlsafe(32)
        now = time.time()
        with self._store.transaction() as run:
            run("DELETE FROM sessions WHERE expires < ?", (now,))
            run(
                "INSERT INTO sessions (id, name, expires) VALUES (?, ?, ?)",
                (_digest(session), user.name, now + self._session_seconds),
            )
        return session

    def session_user(self, session: str) -> User | None:
        return self._user(
            "FROM sessions s JOIN users u ON u.name = s.name WHERE s.id = ? AND s.expires > ? AND u.is_active = 1",
            _digest(session), time.time(),
        )  # fmt: skip

    def close_session(self, session: str) -> None:
        self._store.write("DELETE FROM sessions WHERE id = ?", _digest(session))

    def create_token(self, user: User, label: str, days: float = 90.0) -> str:
        """The token, shown this once."""
        if not 0 < days <= 366 or not label or len(label) > 100:
            raise ParameterError("A token needs a label of 1 to 100 characters and a life of at most 366 days.")
        identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = time.time()
        self._store.write(
            "INSERT INTO tokens (id, name, secret, label, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
            identity, user.name, _digest(secret), label, now, now + days * 86_400,
        )  # fmt: skip
        return f"{TOKEN_PREFIX}_{identity}_{secret}"

    def token_user(self, token: str) -> User | None:
        prefix, _, rest = token.partition("_")
        identity, _, secret = rest.partition("_")
        if prefix != TOKEN_PREFIX or not secret or len(token) > 200:
            return None
        rows = self._store.read(
            "SELECT u.name, u.role, t.secret FROM tokens t JOIN users u ON u.name = t.name"
            " WHERE t.id = ? AND t.expires > ? AND u.is_active = 1",
            identity, time.time(),
        )  # fmt: skip
        is_known = bool(rows) and hmac.compare_digest(rows[0][2], _digest(secret))
        return User(rows[0][0], Role(rows[0][1])) if is_known else None

    def tokens(self, user: User) -> tuple[Token, ...]:
        rows = self._store.read(
            "SELECT id, label, created, expires FROM tokens WHERE name = ? ORDER BY created DESC", user.name
        )
        return tuple(Token(id=i, label=label, created=c, expires=e) for i, label, c, e in rows)

    def revoke_token(self, user: User, identity: str) -> None:
        self._store.write("DELETE FROM tokens WHERE id = ? AND name = ?", identity, user.name)
