"""The whole of Pocket, with its weights: it answers, and our runtime says what the library's says, to the bit."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from engine.arena import Arena
from engine.chunk import Chunk
from engine.errors import AskedWrongly, BadWeights
from engine.models import weights
from engine.models.pocket import timelines
from engine.models.pocket.build import build
from engine.models.registry import Built
from engine.step import Event, Outcome, SoFar

pytestmark = [pytest.mark.weights, pytest.mark.slow]

QUESTIONS = Path(__file__).parents[3] / "assets" / "questions"
RATE_HZ = 16_000


def recording(*questions: str) -> NDArray[np.float32]:
    """Questions with eight seconds for each answer, as chunks [seconds, samples]."""
    parts = []
    for question in questions:
        audio, _ = soundfile.read(QUESTIONS / question, dtype="float32")
        parts.append(np.pad(audio, (0, 8 * RATE_HZ)))
    whole = np.concatenate(parts)
    return whole[: len(whole) // RATE_HZ * RATE_HZ].reshape(-1, RATE_HZ)


def hold(built: Built, chunks: NDArray[np.float32]) -> list[Outcome]:
    """Hold the conversation without a clock, each unit's audio played by the next one's end."""
    shapes = {(graph.stage, graph.shape) for graph in built.model.plan.shapes}
    plan, position, outcomes, unplayed = built.model.plan, built.model.plan.start, list[Outcome](), 0
    for index, samples in enumerate(chunks):
        built.arena.commit_needed(plan.ahead(position))
        chunk = Chunk(index, index * RATE_HZ, samples)
        steps, result = built.model.unit(chunk, SoFar(unplayed_samples=unplayed)), None
        try:
            while True:
                step = steps.send(result)
                assert (step.stage, step.shape) in shapes
                result = step.run()
        except StopIteration as end:
            outcome: Outcome = end.value
        unplayed = max(0, unplayed - 24_000) + len(outcome.audio)
        outcomes.append(outcome)
        if outcome.event is Event.FLUSH:
            position = plan.end_turn(position)
    return outcomes


def lines(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for outcome in outcomes for line in outcome.transcript]


def addresses(arena: Arena, built: Built) -> list[int]:
    return [arena.view(state.name).data_ptr() for state in built.model.plan.states]


def test_cadence_says_what_the_library_says_to_the_bit() -> None:
    chunks = recording("capital_of_france.wav", "seven_times_eight.wav", "tell_me_about_rain.wav")
    held = {}
    for runtime in ("cadence", "library"):
        built = build(runtime)
        built.model.prepare()
        before = addresses(built.arena, built)
        held[runtime] = hold(built, chunks)
        assert addresses(built.arena, built) == before
        assert built.arena.resident_bytes == built.arena.committed_bytes  # nothing was touched that was not committed
    ours, theirs = held["cadence"], held["library"]
    assert lines(ours)[:2] == [
        ("heard", "What is the capital of France?"),
        ("said", "The capital of France is Paris."),
    ]
    assert "56" in lines(ours)[3][1]
    assert "water" in lines(ours)[5][1]
    assert lines(ours) == lines(theirs)
    assert [outcome.event for outcome in ours] == [outcome.event for outcome in theirs]
    assert all(np.array_equal(one.audio, other.audio) for one, other in zip(ours, theirs, strict=True))
    assert sum(len(outcome.audio) for outcome in ours) > 5 * 24_000


def test_stock_answers_too() -> None:
    built = build("stock")
    built.model.prepare()
    said = lines(hold(built, recording("capital_of_france.wav")))
    assert said[0] == ("heard", "What is the capital of France?")
    assert "Paris" in said[1][1]


def test_the_plan_without_weights_is_the_plan_with_them() -> None:
    assert build("cadence").model.plan.timelines == timelines.timelines()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("pocket-silero", "model.safetensors"),
        ("pocket-whisper", "tokenizer.json"),
        ("pocket-whisper", "config.json"),
        ("pocket-smollm2", "tokenizer.json"),
        ("pocket-smollm2", "tokenizer_config.json"),
        ("pocket-smollm2", "config.json"),
    ],
)
@pytest.mark.parametrize("told_by_its_time", [True, False])
def test_damaged_weights_are_named_with_their_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str, told_by_its_time: bool
) -> None:
    store = weights.open_store()
    (tmp_path / "weights").mkdir()
    for each in store.manifest.of_model("pocket"):
        place = tmp_path / "weights" / store.locate(each).name
        shutil.copytree(store.locate(each), place, copy_function=shutil.copy2 if each == name else os.symlink)
    monkeypatch.setenv("DUPLEXCADENCE_CACHE", str(tmp_path))
    damaged = weights.locate(name) / file
    then_ns, content = damaged.stat().st_mtime_ns, bytearray(damaged.read_bytes())
    content[:12] = bytes(byte ^ 0xFF for byte in content[:12])
    damaged.write_bytes(content)
    if not told_by_its_time:
        os.utime(damaged, ns=(then_ns, then_ns))
    with pytest.raises(BadWeights, match=rf"^{name}: {file} has sha256 .*; run: duplexcadence models fetch pocket$"):
        build("cadence")


def test_a_sound_cache_is_not_blamed_for_an_odd_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[")
    with pytest.raises(AskedWrongly, match=r"config\.json cannot be read"):
        build("cadence", words=tmp_path)
