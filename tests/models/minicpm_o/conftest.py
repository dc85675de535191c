"""The released package, for a whole unit beside it."""

from tests.models.conftest import one_thread, released

__all__ = ["one_thread", "released"]
