import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import AskedWrongly
from engine.models.registry import ENTRIES, ModelEntry, entries, find, outside
from tests.laws.toy import ENTRY

PLANNED = [pytest.param(entry, id=entry.name) for entry in ENTRIES]
PLAN_ONLY = [entry for entry in ENTRIES if not entry.runs]


def test_models_are_found_by_name_in_any_case() -> None:
    for entry in ENTRIES:
        assert find(entry.name) is find(entry.name.upper()) is entry


def test_an_unknown_model_is_refused_with_a_guess() -> None:
    with pytest.raises(AskedWrongly, match=r"one of pocket, .*did you mean moshi\?"):
        find("mosh")


@pytest.mark.slow
@pytest.mark.parametrize("entry", PLANNED)
def test_every_model_can_be_planned_without_torch(entry: ModelEntry) -> None:
    code = (
        "import sys; from engine.models.registry import find; "
        f"made = find({entry.name!r}).load_plan(); assert 'torch' not in sys.modules; print(made.max_bytes)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.mark.parametrize("entry", PLAN_ONLY, ids=lambda entry: entry.name)
def test_what_has_a_plan_only_is_not_built(entry: ModelEntry) -> None:
    with pytest.raises(AskedWrongly, match=f"cannot run {entry.name}, only plan it; needed: one of pocket; see"):
        entry.build("cadence")


def test_pocket_runs() -> None:
    assert find("pocket").runs


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a package, as pip would leave it, that registers `name = what`."""

    def install(*points: str) -> None:
        info = tmp_path / "outside-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(["[duplexcadence.models]", *points, ""]))
        (tmp_path / "outside_broken.py").write_text("raise RuntimeError('half\\nfinished')\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def test_a_model_from_outside_is_found_planned_and_tried(install) -> None:
    assert "toy" not in [entry.name for entry in entries()]
    install("toy = tests.laws.toy:ENTRY")
    assert find("Toy") is ENTRY
    assert entries() == (*ENTRIES, ENTRY)
    assert find("toy").load_plan().max_bytes > 0
    assert find("toy").show().timelines == find("toy").load_plan().timelines


@pytest.mark.parametrize(
    ("point", "name", "said"),
    [
        ("toy = outside_broken:ENTRY", "toy", "RuntimeError: half finished"),
        ("toy = nowhere_at_all:ENTRY", "toy", "ModuleNotFoundError"),
        ("toy = tests.laws.toy:missing", "toy", "AttributeError"),
        ("toy = tests.laws.toy:WIDTH", "toy", "tests.laws.toy:WIDTH is no ModelEntry"),
        ("other = tests.laws.toy:ENTRY", "other", "has the name 'toy'; the entry point's own"),
        ("moshi = engine.models.registry:ENTRIES", "moshi", "is no ModelEntry"),
    ],
)
def test_what_is_registered_wrongly_is_told_and_the_others_are_there(install, point: str, name: str, said: str) -> None:
    install(point)
    assert said in outside().broken[name]
    assert entries() == ENTRIES
    assert find("moshi") in ENTRIES
    if name not in [entry.name for entry in ENTRIES]:
        with pytest.raises(AskedWrongly, match="is registered and cannot be had") as raised:
            find(name)
        assert "\n" not in str(raised.value)


def test_a_name_that_is_taken_stays_with_whom_it_is(install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.laws.toy.ENTRY", ENTRIES[0])
    install("pocket = tests.laws.toy:ENTRY")
    assert "has a name that is taken" in outside().broken["pocket"]


def test_an_entry_that_names_nothing_is_told_so() -> None:
    entry = ModelEntry("x", "", "", False, 16_000, timelines="engine.models.registry:nothing", specimen="engine")
    for load in (entry.load_plan, entry.show):
        with pytest.raises(AskedWrongly, match=r"cannot be loaded .*module:function; correct the model's entry"):
            load()
    with pytest.raises(AskedWrongly, match=r"pocket comes without a specimen to try; needed: one of minicpm-o-4\.5"):
        find("pocket").show()
