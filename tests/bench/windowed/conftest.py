"""Tiny products are over before a second thread has woken."""

from tests.models.conftest import one_thread

__all__ = ["one_thread"]
