"""Opens a tokenizer in pieces, so that a window beside it stands still for 40 ms at most and not for 90.

`tokenizers` holds Python's lock for as long as a call lasts: the merges, which are most of a file, go by themselves
(two cores, 2026-12-07). Entered by whoever builds a session.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE


def open_tokenizer(file: Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`; a model other than byte-pair encoding is read at once.

    Raises:
        Exception: It is none; `tokenizers` raises no narrower one.
    """
    told = json.loads(file.read_text(encoding="utf-8"))
    model = told["model"]
    if model.get("type") != "BPE":
        return Tokenizer.from_file(str(file))
    vocabulary, merges = model["vocab"], model["merges"]
    added = {each["content"]: each["id"] for each in told.get("added_tokens") or ()}  # these keep their numbers
    model |= {"vocab": added, "merges": []}
    tokenizer = Tokenizer.from_str(json.dumps(told))
    pairs = [(left, right) for left, right in (each.split(" ") if isinstance(each, str) else each for each in merges)]
    settings = {name: value for name, value in model.items() if name not in ("type", "vocab", "merges")}
    tokenizer.model = BPE(vocabulary, pairs, **{name: value for name, value in settings.items() if value is not None})
    return tokenizer
