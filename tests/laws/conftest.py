"""Shared with the models' own tests."""

from tests.models.conftest import one_thread

__all__ = ["one_thread"]
