import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.errors import AskedWrongly
from engine.models.layers.linear import Precision
from engine.models.pocket.chat import Chat
from engine.models.pocket.language import CadenceLanguage, Language, LibraryLanguage, load_weights
from engine.models.pocket.stock_words import StockWords
from engine.models.pocket.words import Words
from engine.models.pocket.words_timelines import WordsSizes, read_config
from tests.models.pocket import made_up_language

TURNS = [[5, 6, 7, 8, 9, 10], [30, 31], [40]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_language.save(tmp_path_factory.mktemp("words"), tie_word_embeddings=True)


def cadence(folder: Path, precision: Precision = Precision.INT4) -> CadenceLanguage:
    sizes = WordsSizes.of(read_config(folder), kept=0)
    return CadenceLanguage(folder, torch.zeros(300, *sizes.tick_shape), precision)


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("tied", [True, False])
def test_cadence_equals_library_to_the_bit_over_turns(tmp_path: Path, precision: Precision, tied: bool) -> None:
    made_up_language.save(tmp_path, tie_word_embeddings=tied)
    ours, theirs = cadence(tmp_path, precision), LibraryLanguage(tmp_path, precision)
    assert torch.equal(ours.read(range(20)), theirs.read(range(20)))
    ours.keep()
    theirs.keep()
    for turn in (TURNS, TURNS[::-1], TURNS):
        for tokens in turn:
            assert torch.equal(ours.read(tokens), theirs.read(tokens))
        ours.forget()
        theirs.forget()


@pytest.mark.parametrize("kind", ["cadence", "library", "smollm3", "gemma3_text", "gpt2"])
def test_a_turn_forgotten_leaves_no_trace(tmp_path: Path, folder: Path, kind: str) -> None:
    """Models that our layers cannot run, one of them with a window over its past, go through the library."""
    language: Language
    if kind in ("cadence", "library"):
        language = cadence(folder) if kind == "cadence" else LibraryLanguage(folder, Precision.INT4)
    else:
        made_up_language.save(tmp_path, kind)
        assert WordsSizes.of(read_config(tmp_path), kept=0).layers == 2
        language = LibraryLanguage(tmp_path, Precision.INT4)
    language.read(range(20))
    language.keep()
    first = [language.read(tokens) for tokens in TURNS]
    language.forget()
    language.read(range(100, 140))
    language.forget()
    assert all(torch.equal(language.read(tokens), logits) for tokens, logits in zip(TURNS, first, strict=True))


def test_the_three_runtimes_give_one_answer(folder: Path) -> None:
    """In float32 and without a loop to break, what differs between them is not what is said."""
    chat = Chat(folder, "a", [])
    made = [
        Words(cadence(folder, Precision.FLOAT32), chat),
        Words(LibraryLanguage(folder, Precision.FLOAT32), chat),
        StockWords(folder, chat),
    ]
    for question in ("the cat", "Tell me about rain."):
        answers = []
        for words in made:
            words.prepare()
            words.start_turn(words.question(question))
            told: list[int] = []
            while len(told) < 4 and not words.finished:
                told += words.decode(4)
            answers.append(told[:4])
            words.reset_turn()
        assert answers[0] == answers[1] == answers[2]
        assert answers[0]


def test_stock_hands_out_its_answer_at_once(folder: Path) -> None:
    words = StockWords(folder, Chat(folder, "a", []))
    words.prepare()
    assert words.finished
    words.start_turn(words.question("the cat"))
    assert not words.finished
    assert words.decode(1)
    assert words.finished
    assert words.decode(1) == []


def test_weights_may_lie_in_several_files(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    names = sorted(weights)
    for index, part in enumerate((names[::2], names[1::2]), 1):
        save_file({name: weights[name] for name in part}, tmp_path / f"model-0000{index}-of-00002.safetensors")
    assert {name: tensor.shape for name, tensor in load_weights(tmp_path).items()} == {
        name: tensor.shape for name, tensor in weights.items()
    }


def damaged(folder: Path, tmp_path: Path, how: str) -> Path:
    made_up_language.save_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    whole = (folder / "model.safetensors").read_bytes()
    match how:
        case "pickle":
            torch.save({}, tmp_path / "pytorch_model.bin")
        case "cut short":
            (tmp_path / "model.safetensors").write_bytes(whole[: len(whole) // 2])
        case "noise":
            (tmp_path / "model.safetensors").write_bytes(b"\xff" * 4000)
        case "another model":
            save_file({"some.weight": torch.zeros(2, 2)}, tmp_path / "model.safetensors")
    return tmp_path


@pytest.mark.parametrize("how", ["pickle", "cut short", "noise", "another model"])
def test_weights_that_cannot_be_used_are_told_of(folder: Path, tmp_path: Path, how: str) -> None:
    with pytest.raises(AskedWrongly) as told:
        cadence(damaged(folder, tmp_path, how))
    assert "\n" not in str(told.value)
    assert tmp_path.name in str(told.value)


@pytest.mark.parametrize("how", ["pickle", "cut short", "noise"])
def test_the_library_says_so_too(folder: Path, tmp_path: Path, how: str) -> None:
    with pytest.raises(AskedWrongly) as told:
        LibraryLanguage(damaged(folder, tmp_path, how), Precision.FLOAT32)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "odd",
    [
        {"hidden_size": 65},
        {"num_hidden_layers": "thirty"},
        {"num_key_value_heads": "two"},
        {"num_attention_heads": 0},
        {"head_dim": 2.5},
        {"intermediate_size": None},
        {"rms_norm_eps": "small"},
    ],
)
@pytest.mark.parametrize("ours", [True, False])
def test_odd_settings_are_told_of(folder: Path, tmp_path: Path, odd: dict[str, object], ours: bool) -> None:
    damaged(folder, tmp_path, "")
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **odd}))
    with pytest.raises(AskedWrongly) as told:
        _ = cadence(tmp_path) if ours else LibraryLanguage(tmp_path, Precision.FLOAT32)
    assert "\n" not in str(told.value)


def test_a_model_without_keys_and_values_is_told_of(tmp_path: Path) -> None:
    made_up_language.save(tmp_path, "openai-gpt")
    with pytest.raises(AskedWrongly, match="keeps no keys and values"):
        LibraryLanguage(tmp_path, Precision.FLOAT32)


def test_code_in_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    damaged(folder, tmp_path, "")
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\n")
    config = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(AskedWrongly, match="transformers cannot load"):
        LibraryLanguage(tmp_path, Precision.FLOAT32)
    assert not ran.exists()
