"""Word errors: how many words of a transcript would have to change. Pure text."""

from collections.abc import Iterable


def word_errors(reference: str, heard: str) -> int:
    """The fewest words to change, add or drop that make `heard` into `reference`; both normalised."""
    wanted, got = reference.split(), heard.split()
    row = list(range(len(got) + 1))  # errors of the reference's words so far against each beginning of `got`
    for at, word in enumerate(wanted, 1):
        diagonal, row[0] = row[0], at
        for column, other in enumerate(got, 1):
            best = min(diagonal + (word != other), row[column] + 1, row[column - 1] + 1)
            diagonal, row[column] = row[column], best
    return row[-1]


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Errors of all pairs (reference, heard) over all words of the references.

    Raises:
        ValueError: The references hold no word.
    """
    errors = words = 0
    for reference, heard in pairs:
        errors += word_errors(reference, heard)
        words += len(reference.split())
    if not words:
        raise ValueError("no reference holds a word; needed: at least one")
    return errors / words
