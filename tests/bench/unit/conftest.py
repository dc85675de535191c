"""The released package beside a tiny whole unit."""

from tests.models.conftest import one_thread, released

__all__ = ["one_thread", "released"]
