"""Our Whisper against the library's, on random weights: the same bits, and state that stays where it is."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.errors import BadWeights
from engine.models.layers.mel import MELS
from engine.models.pocket.whisper import TOKEN_EMBEDDING, Whisper, WhisperSizes, load_weights
from engine.models.pocket.whisper_library import LibraryEars
from tests.models.pocket.made_up_whisper import HEADS, TEXT_POSITIONS, VOCABULARY, states, write_whisper

PROMPT = torch.tensor([[1, 2]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("whisper")
    write_whisper(made)
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> LibraryEars:
    return LibraryEars(folder)


def ours(folder: Path, written: Tensor, heard: Tensor) -> Whisper:
    return Whisper(load_weights(folder), folder, written, heard)


def mel(seconds: int, seed: int = 0) -> Tensor:
    return torch.randn(1, MELS, 100 * seconds, generator=torch.Generator().manual_seed(seed))


def tokens(count: int, seed: int = 0) -> list[Tensor]:
    drawn = torch.randint(VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed))
    return [token.view(1, 1) for token in drawn]


@torch.inference_mode()
def told(ears: Whisper | LibraryEars, window: Tensor, count: int = 12) -> list[Tensor]:
    ears.hear(window)
    return [ears.hidden(PROMPT).clone(), *(ears.hidden(token).clone() for token in tokens(count))]


@pytest.mark.parametrize("seconds", [4, 5, 11, 30])
def test_hidden_states_are_the_librarys_to_the_bit(folder: Path, library: LibraryEars, seconds: int) -> None:
    here, there = told(ours(folder, *states()), mel(seconds)), told(library, mel(seconds))

    assert all(torch.isfinite(hidden).all() for hidden in here)
    assert len({hidden.abs().sum().item() for hidden in here}) == len(here)  # they do depend on what was said
    for mine, theirs in zip(here, there, strict=True):
        assert torch.equal(mine, theirs)


def test_a_window_is_heard_as_if_it_were_the_first(folder: Path, library: LibraryEars) -> None:
    for ears in (ours(folder, *states()), library):
        fresh = told(ears, mel(5))
        told(ears, mel(30, seed=1), count=40)
        again = told(ears, mel(5))

        assert all(torch.equal(one, other) for one, other in zip(fresh, again, strict=True))


def test_what_was_heard_matters(folder: Path) -> None:
    ears = ours(folder, *states())

    assert not torch.equal(told(ears, mel(5))[-1], told(ears, mel(5, seed=1))[-1])


def test_state_is_written_in_place_and_no_further_than_it_reaches(folder: Path) -> None:
    written, heard = states()
    addresses = written.data_ptr(), heard.data_ptr()

    told(ours(folder, written, heard), mel(5), count=12)

    assert (written.data_ptr(), heard.data_ptr()) == addresses
    assert torch.isfinite(heard[:250]).all()
    assert heard[250:].isnan().all()
    assert torch.isfinite(written[: 2 + 12]).all()
    assert written[2 + 12 :].isnan().all()


def test_weights_are_widened_but_for_the_vocabulary(folder: Path) -> None:
    weights = load_weights(folder)

    assert {tensor.dtype for name, tensor in weights.items() if name != TOKEN_EMBEDDING} == {torch.float32}
    assert weights[TOKEN_EMBEDDING].dtype is torch.float16


def test_sizes_that_no_released_whisper_has_are_refused() -> None:
    config = {
        "d_model": 24,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS + 1,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "max_source_positions": 1500,
        "max_target_positions": TEXT_POSITIONS,
    }
    with pytest.raises(BadWeights, match="differ in heads"):
        WhisperSizes.of(config)
