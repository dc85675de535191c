import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.clock import Rate
from engine.errors import BadWeights, MissingWeights
from engine.models.pocket.phonemes import Phonemes
from engine.models.pocket.voice import MODEL, Voice
from engine.models.pocket.voice_timelines import RATE_HZ, voice_timelines
from engine.plan import plan
from engine.step import AUDIBLE_LEVEL

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def voice(weights_dir: Callable[[str], Path]) -> Voice:
    return Voice(weights_dir("pocket-joe"))


@pytest.fixture(scope="module")
def phonemes() -> Phonemes:
    return Phonemes()


def audible(audio: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.abs(audio) >= AUDIBLE_LEVEL)


def test_phonemes_of_words_numbers_and_the_unheard_of(phonemes: Phonemes) -> None:
    assert phonemes.misaki("Hello.") == "h\u0259l\u02c8O."
    assert phonemes.ipa("Hello.") == "h\u0259l\u02c8o\u028a."
    assert phonemes.misaki("3:20") == phonemes.misaki("three twenty")
    assert phonemes.misaki("Zyxgor") not in ("", phonemes.misaki("Z Y X G O R"))
    assert phonemes.misaki("...") == phonemes.ipa("\u65e5\u672c") == ""


@pytest.mark.parametrize("spoiled", ["", "{}", '{"phoneme_id_map": {"a": []}, "audio": {"sample_rate": 1}}'])
def test_a_spoiled_folder_is_refused_in_one_line(spoiled: str, tmp_path: Path) -> None:
    with pytest.raises(MissingWeights, match="duplexcadence models fetch pocket"):
        Voice(tmp_path)
    (tmp_path / f"{MODEL}.json").write_text(spoiled)
    with pytest.raises(BadWeights) as caught:
        Voice(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_model_that_cannot_be_loaded_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / f"{MODEL}.json").write_text('{"phoneme_id_map": {"a": [1]}, "audio": {"sample_rate": 22050}}')
    with pytest.raises(MissingWeights, match=MODEL):
        Voice(tmp_path)
    (tmp_path / MODEL).write_bytes(b"not a model")
    with pytest.raises(BadWeights) as caught:
        Voice(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.weights("pocket-joe")
@pytest.mark.parametrize(
    "clause", ["The capital of France is Paris.", "Rain is a natural phenomenon", "Yes,", "It is 3:20 p.m.!"]
)
def test_a_clause_sounds_at_once_and_ends_in_silence(voice: Voice, clause: str) -> None:
    audio = voice.say(clause)
    assert audio.dtype == np.float32
    assert np.isfinite(audio).all()
    assert np.abs(audio).max() <= 1
    assert 0.04 * len(clause) < len(audio) / RATE_HZ < 0.15 * len(clause) + 0.6
    assert audible(audio)[0] <= 0.01 * RATE_HZ
    rest_s = {".": 0.22, "!": 0.22, ",": 0.1}.get(clause[-1], 0.0)
    assert rest_s <= (len(audio) - audible(audio)[-1]) / RATE_HZ <= rest_s + 0.05
    assert abs(audio[0]) < AUDIBLE_LEVEL
    assert abs(audio[-1]) < AUDIBLE_LEVEL


@pytest.mark.weights("pocket-joe")
@pytest.mark.parametrize("clause", ["", " ", "...", "?!", "\u65e5\u672c"])
def test_nothing_to_say_is_no_sound(voice: Voice, clause: str) -> None:
    assert len(voice.say(clause)) == 0


@pytest.mark.weights("pocket-joe")
def test_a_slower_pace_takes_as_much_longer(voice: Voice) -> None:
    clause = "Rain falls from the clouds when they are heavy."
    own = len(voice.say(clause))
    voice.pace = 0.6
    slow = len(voice.say(clause))
    voice.pace = 1.0
    assert own / slow == pytest.approx(0.6, abs=0.08)


@pytest.mark.weights("pocket-joe")
def test_one_seed_says_the_same_and_another_does_not(weights_dir: Callable[[str], Path]) -> None:
    folder, clauses = weights_dir("pocket-joe"), ("Once more.", "And again,", "Once more.")
    first, same, other = (
        [voice.say(clause) for clause in clauses] for voice in (Voice(folder), Voice(folder), Voice(folder, seed=1))
    )
    assert all(map(np.array_equal, first, same))
    assert not any(map(np.array_equal, first, other))


def test_a_clause_is_a_launch_of_one_shape_without_state() -> None:
    described = plan(voice_timelines(), cadence=Rate(1), script="LSSL")
    assert [shape.shape for shape in described.shapes] == [(1,)]
    assert described.max_bytes == 0


@pytest.mark.weights("pocket-joe")
def test_speaking_leaves_nothing_in_the_users_home(weights_dir: Callable[[str], Path], tmp_path: Path) -> None:
    folder = str(weights_dir("pocket-joe"))
    code = f"from pathlib import Path; from engine.models.pocket.voice import Voice; Voice(Path({folder!r}))"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in str(path).lower()]
