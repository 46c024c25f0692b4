"""What all tests of the server share: passwords that are quick to check."""

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from dalenius.server import accounts

AS_SERVED = accounts._hasher
# A hash carries its own settings. Those that users have are checked by test_passwords_are_hashed_as_slowly_as_argon2_advises.
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="module", autouse=True)
def quick_passwords() -> Iterator[None]:
    """argon2 is slow on purpose, a fifth of a second for each password and sign-in: in tests of other things it need not be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "_hasher", lambda: QUICK)
        accounts._decoy.cache_clear()
        yield
    accounts._decoy.cache_clear()
