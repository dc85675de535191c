"""Being no longer wanted: how a conversation's long work learns that its user has stopped it."""


class Halted(BaseException):
    """The user has stopped it. No error, and nothing that a stage's own handling of errors may catch."""
