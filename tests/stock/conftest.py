"""The released package and a tiny session beside it."""

from tests.models.conftest import one_thread, released
from tests.models.token2wav.conftest import begin, checkpoint, released_driver, tiny

__all__ = ["begin", "checkpoint", "one_thread", "released", "released_driver", "tiny"]
