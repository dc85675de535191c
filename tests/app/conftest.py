from tests.app.told_model import stage

__all__ = ["stage"]
