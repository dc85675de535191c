"""Puts the figures of `assets/bench/*.json` into README: `python -m engine.bench.readme`, in a checkout.

Nobody edits them by hand; a test holds README to the files.
"""

import json
from pathlib import Path
from typing import Any

from engine.bench.report import with_figures

ROOT = Path(__file__).parents[2]


def records() -> list[dict[str, Any]]:
    """Those that are kept in the checkout, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "assets" / "bench").glob("*.json"))]


def main() -> None:
    """Rewrite README."""
    path = ROOT / "README.md"
    path.write_text(with_figures(path.read_text(encoding="utf-8"), records()), encoding="utf-8")


if __name__ == "__main__":
    main()
