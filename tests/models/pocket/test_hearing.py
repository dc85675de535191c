"""Hearing with ears that say what a test tells them to, and with the released ones."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models
from torch import Tensor

from engine.errors import MissingWeights
from engine.models.pocket.decoding import Rules
from engine.models.pocket.hearing import Hearing, StockHearing, Vocabulary, load_hearing
from engine.models.pocket.hearing_timelines import hearing_timelines
from engine.models.pocket.windows import SAMPLE_RATE_HZ, max_tokens, window_s
from engine.plan import plan

WORDS = ("a", "b", "c", "d", "e", "<end>", "<start>", "<nobody>", "<plain>")
END, START, NOBODY, PLAIN = 5, 6, 7, 8
RULES = Rules(prompt=(START, PLAIN), end=END, no_speech=NOBODY, said=START, never=(4,), never_first=(END,))
QUESTIONS = Path(__file__).parents[3] / "assets" / "questions"


class ScriptedEars:
    """Says the tokens it was given, one script a window; what it was asked is kept."""

    def __init__(self, *scripts: Sequence[int], nobody: float = 0.0) -> None:
        self._scripts, self._nobody = list(scripts), nobody
        self.windows: list[int] = []
        self.taken: list[list[int]] = []

    def hear(self, mel: Tensor) -> None:
        self.windows.append(mel.shape[-1])
        self.taken.append([])

    def hidden(self, tokens: Tensor) -> Tensor:
        self.taken[-1] += tokens[0].tolist()
        states = torch.zeros(1, tokens.shape[1], len(WORDS))
        script = self._scripts[len(self.windows) - 1]
        said = len(self.taken[-1]) - len(RULES.prompt)
        states[0, -1, script[said] if said < len(script) else END] = 30.0
        if said == 0:
            states[0, 0, NOBODY if self._nobody else START] = 30.0
        return states


def hearing(ears: ScriptedEars) -> Hearing:
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    return Hearing(ears, Vocabulary(torch.eye(len(WORDS)).half()), RULES, Tokenizer(models.WordLevel(vocabulary)))


def speech(seconds: float) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(int(seconds * SAMPLE_RATE_HZ)).astype(np.float32) * 0.1


def test_an_utterance_becomes_the_words_that_the_ears_say() -> None:
    ears = ScriptedEars([0, 1, 2])

    heard = hearing(ears).transcribe(speech(2.5))

    assert heard.text == "a b c"
    assert heard.tokens == (0, 1, 2)
    assert heard.windows_s == (window_s(len(speech(2.5))),)
    assert ears.windows == [100 * heard.windows_s[0]]
    assert ears.taken == [[START, PLAIN, 0, 1, 2]]
    assert heard.speech_s == 2.5


def test_listening_tells_the_ticks_that_the_plan_knows() -> None:
    hears, planned = hearing(ScriptedEars([0])), hearing_timelines()[1]

    assert hears.listen(speech(7.1)) in planned.drive.sizes


def test_a_loop_ends_the_transcription_and_is_cut() -> None:
    ears = ScriptedEars([0, 1, 2] + [1, 2] * 50)

    heard = hearing(ears).transcribe(speech(20))

    assert heard.text == "a b c"
    assert len(ears.taken[0]) < 15


def test_tokens_are_bounded_by_the_window() -> None:
    endless = [int(token) for token in np.random.default_rng(1).integers(0, 4, 400)]

    heard = hearing(ScriptedEars(endless)).transcribe(speech(1))

    assert len(heard.tokens) == max_tokens(window_s(SAMPLE_RATE_HZ))


def test_where_nobody_spoke_there_are_no_words() -> None:
    heard = hearing(ScriptedEars([0, 1], nobody=1.0)).transcribe(speech(1))

    assert heard.text == ""
    assert heard.tokens == (0, 1)
    assert heard.no_speech == pytest.approx(1.0)


def test_a_long_utterance_is_heard_in_pieces_in_order() -> None:
    ears = ScriptedEars([0], [1], [2])

    heard = hearing(ears).transcribe(speech(70))

    assert heard.text == "a b c"
    assert len(ears.windows) == 3
    assert sum(heard.windows_s) >= 70


def test_no_sound_is_no_words() -> None:
    heard = hearing(ScriptedEars()).transcribe(np.zeros(0, np.float32))

    assert (heard.text, heard.tokens, heard.no_speech) == ("", (), None)


def test_the_vocabulary_product_keeps_to_the_released_sixteen_bits() -> None:
    generator = torch.Generator().manual_seed(0)
    embedding = torch.randn(300, 64, generator=generator).half()
    hidden = torch.randn(1, 1, 64, generator=generator)

    logits = Vocabulary(embedding)(hidden)

    assert torch.allclose(logits, (embedding.double() @ hidden.double().view(-1)).float(), atol=0.03)
    assert torch.equal(Vocabulary(embedding)(hidden, 100), logits[:100])


def test_missing_weights_are_named_with_their_remedy(tmp_path: Path) -> None:
    with pytest.raises(MissingWeights, match="models fetch pocket"):
        load_hearing(tmp_path / "pocket-whisper", "cadence", torch.zeros(0), torch.zeros(0))


# With the released weights --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(weights_dir: Callable[[str], Path]) -> Callable[[str], Hearing | StockHearing]:
    states = {state.name: torch.zeros(state.max_ticks, *state.item_shape) for state in plan(hearing_timelines()).states}

    def load(runtime: str) -> Hearing | StockHearing:
        folder = weights_dir("pocket-whisper")
        return load_hearing(folder, runtime, states["transcript.written"], states["hearing.heard"])

    return load


def question(name: str) -> NDArray[np.float32]:
    samples, rate_hz = soundfile.read(QUESTIONS / f"{name}.wav", dtype="float32")
    return np.ascontiguousarray(soxr.resample(samples, rate_hz, SAMPLE_RATE_HZ), dtype=np.float32)


@pytest.mark.weights("pocket-whisper")
@pytest.mark.slow
def test_the_runtimes_hear_the_same_words_and_two_of_them_the_same_bits(
    released: Callable[[str], Hearing | StockHearing],
) -> None:
    cadence, library, stock = (released(runtime) for runtime in ("cadence", "library", "stock"))
    for name, words in (("capital_of_france", "capital of france"), ("tell_me_about_rain", "something about rain")):
        heard, beside, alone = (hears.transcribe(question(name)) for hears in (cadence, library, stock))

        assert words in heard.text.lower()
        assert heard == beside  # text, tokens, and the floats of every step's logits
        assert words in alone.text.lower()
        assert alone.windows_s == (30,)


@pytest.mark.weights("pocket-whisper")
@pytest.mark.slow
def test_noise_and_silence_are_not_words(released: Callable[[str], Hearing | StockHearing]) -> None:
    cadence, generator = released("cadence"), np.random.default_rng(2)
    time = np.arange(2 * SAMPLE_RATE_HZ) / SAMPLE_RATE_HZ
    for sound in (
        np.zeros(2 * SAMPLE_RATE_HZ),
        generator.standard_normal(2 * SAMPLE_RATE_HZ) * 0.01,
        0.1 * np.sin(2 * np.pi * 100 * time),
    ):
        assert cadence.transcribe(sound.astype(np.float32)).text == ""


@pytest.mark.weights("pocket-whisper")
def test_the_released_model_is_the_one_that_was_planned_for(weights_dir: Callable[[str], Path]) -> None:
    from engine.models.pocket.whisper import load_weights

    weights = load_weights(weights_dir("pocket-whisper"))
    layers = {name.split(".")[3] for name in weights if name.startswith("model.decoder.layers.")}
    _, heard, written = plan(hearing_timelines()).states

    assert heard.item_shape == written.item_shape
    assert heard.item_shape[0] == len(layers)
    assert heard.item_shape[2] * heard.item_shape[3] == weights["model.decoder.layer_norm.weight"].shape[0]
    assert heard.max_ticks == weights["model.encoder.embed_positions.weight"].shape[0]
