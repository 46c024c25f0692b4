"""Who may do what: refusals that follow from a user's role alone."""

from dalenius.server.accounts import Role, User
from dalenius.server.errors import Forbidden, NotSignedIn

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
