"""A released folder: told from its headers, loaded with nothing missing, refused in a line wherever it will not do."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import WhisperConfig

from engine.errors import AskedWrongly, BadWeights, CadenceError, MissingWeights, NoRoom
from engine.models.minicpm_o.config import read_config
from engine.models.minicpm_o.loading import load
from engine.models.minicpm_o.made_up import TINY_ENCODER, TINY_SPEECH, make_up
from engine.models.minicpm_o.protocol import Marks
from engine.models.minicpm_o.sizes import EncoderSizes, LanguageSizes, SpeechSizes
from engine.models.minicpm_o.surveying import survey
from engine.models.token2wav.made_up import TINY as TINY_TOKEN2WAV
from engine.models.weights.safetensors_header import read_header
from tests.golden.minicpm_o import CONFIG, released_shapes, tiny_config
from tests.golden.released_folder import TINY_IDS, write_released, write_sparse, write_tensors, write_tiny

pytestmark = pytest.mark.usefixtures("one_thread")
CPU, META = torch.device("cpu"), torch.device("meta")
SHARD = "model-00001-of-00004.safetensors"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("released") / "MiniCPM-o-4_5")


@pytest.fixture
def tiny(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "MiniCPM-o-4_5")


def reconfigure(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_the_full_release_loads_with_nothing_missing_and_nothing_unexpected(tmp_path):
    folder = write_released(tmp_path / "full")
    assert sum(path.stat().st_blocks * 512 for path in folder.rglob("*")) < 8 << 20, "the files are sparse"

    told = survey(folder)
    loaded = load(folder, META)

    assert [part.wrong for part in told.parts] == [[]] * 6
    assert loaded.sizes.encoder == EncoderSizes()
    assert loaded.sizes.language == LanguageSizes(151_748)
    assert loaded.sizes.speech == SpeechSizes()
    assert loaded.tokens.marks == Marks()
    kinds = {each.dtype for part in (loaded.encoder, loaded.language, loaded.speech) for each in part.tensors.values()}
    assert kinds == {torch.bfloat16}
    assert {what: count for what, count, _ in told.skipped} == {
        "vision tensors": 434,
        "speech tensors that no conversation uses": 5,
        "never opened, the released code among them": 2,
    }
    assert 17e9 < told.weight_bytes < 19e9


def test_what_a_configuration_leaves_out_is_as_the_released_classes_have_it(tmp_path):
    usual = {"hidden_size", "num_attention_heads", "head_dim", "rms_norm_eps", "rope_scaling", "attention_bias"}
    config = {key: value for key, value in CONFIG.items() if key not in usual}
    config["audio_config"] = {**CONFIG["audio_config"]}
    del config["audio_config"]["num_mel_bins"], config["audio_config"]["max_source_positions"]
    (tmp_path / "config.json").write_text(json.dumps(config))

    told = read_config(tmp_path / "config.json")

    assert (told.encoder, told.language, told.speech) == (EncoderSizes(), LanguageSizes(151_748), SpeechSizes())
    config["audio_config"] = {}
    (tmp_path / "config.json").write_text(json.dumps(config))
    usual = WhisperConfig()
    found = read_config(tmp_path / "config.json").encoder
    assert (found.width, found.layers, found.inner) == (usual.d_model, usual.encoder_layers, usual.encoder_ffn_dim)


def test_the_weights_are_the_files(tiny):
    heard: list[str] = []

    class Watch:
        def say(self, line: str) -> None: ...
        def begin(self, what: str, total_bytes: int | None = None) -> None:
            heard.append(f"{what} {total_bytes}")

        def at(self, done_bytes: int) -> None:
            heard.append(str(done_bytes))

        def end(self) -> None:
            heard.append("end")

    loaded = load(tiny, CPU, progress=Watch())

    written = make_up(released_shapes(tiny_config()), torch.bfloat16)
    for part in (loaded.encoder, loaded.language, loaded.speech):
        assert all(torch.equal(each, written[name]) for name, each in part.tensors.items())
        size = sum(each.nbytes for each in part.tensors.values())
        assert heard.count(str(size)) == 1
        assert any(line.endswith(f" {size}") for line in heard)
    assert (loaded.sizes.encoder, loaded.sizes.speech) == (TINY_ENCODER, TINY_SPEECH)
    assert loaded.token2wav.sizes == TINY_TOKEN2WAV
    assert loaded.tokens.marks.listen == TINY_IDS["<|listen|>"]
    assert loaded.tokens.encode("hello<|listen|>") == [0, TINY_IDS["<|listen|>"]]
    assert loaded.tokens.characters([0, TINY_IDS["<|listen|>"]]) == len("hello")


def test_weights_held_wider_or_askew_are_brought_to_one_type(tiny):
    shard = tiny / SHARD
    wide = {name: torch.ones(each.shape) for name, each in read_header(shard).items()}
    write_tensors(shard, wide)
    (length,) = (int.from_bytes(shard.read_bytes()[:8], "little"),)
    whole = shard.read_bytes()
    shard.write_bytes((length + 1).to_bytes(8, "little") + whole[8 : 8 + length] + b" " + whole[8 + length :])

    loaded = load(tiny, CPU)

    tensors = {**loaded.encoder.tensors, **loaded.language.tensors, **loaded.speech.tensors}
    assert {each.dtype for each in tensors.values()} == {torch.bfloat16}
    assert all((tensors[name] == 1).all() for name in wide if name in tensors)


def test_a_hugging_face_cache_of_links_is_a_valid_folder(tiny, tmp_path):
    cache = tmp_path / "models--openbmb--MiniCPM-o-4_5"
    snapshot = cache / "snapshots" / "0123abc"
    (cache / "blobs").mkdir(parents=True)
    for index, path in enumerate(sorted(path for path in tiny.rglob("*") if path.is_file())):
        link = snapshot / path.relative_to(tiny)
        link.parent.mkdir(parents=True, exist_ok=True)
        blob = cache / "blobs" / str(index)
        path.rename(blob)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (tmp_path / "mine").symlink_to(snapshot)

    assert load(tmp_path / "mine", CPU).sizes.encoder == TINY_ENCODER

    (snapshot / "config.json").resolve().unlink()  # its download was not finished
    with pytest.raises(
        MissingWeights, match=r"config\.json is not in mine \(a download was not finished\); needed: .*run the"
    ):
        load(tmp_path / "mine", CPU)


def test_one_file_without_an_index_will_do(tiny):
    written = make_up(released_shapes(tiny_config()), torch.bfloat16)
    for path in tiny.glob("model*"):
        path.unlink()
    write_tensors(tiny / "model.safetensors", written)

    assert not any(part.wrong for part in survey(tiny).parts)


def _truncate(folder: Path) -> None:
    whole = (folder / SHARD).read_bytes()
    (folder / SHARD).write_bytes(whole[: len(whole) // 2])


def _link_out(folder: Path) -> None:
    outside = folder.parent / "elsewhere.safetensors"
    (folder / SHARD).rename(outside)
    (folder / SHARD).symlink_to(outside)


def _index(folder: Path, change: Callable[[dict], object]) -> None:
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    change(index["weight_map"])
    path.write_text(json.dumps(index))


class _Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def _hostile_pt(folder: Path) -> None:
    torch.save({"weight": _Runs(folder.parent / "ran")}, folder / "assets/token2wav/flow.pt")


def _hostile_yaml(folder: Path) -> None:
    text = f"flow: !!python/object/apply:os.mkdir [{folder.parent / 'ran'}]\n"
    (folder / "assets/token2wav/flow.yaml").write_text(text)


def _hostile_config(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)


def _gguf(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "Model-8.2B-Q4_K_M.gguf").write_bytes(b"GGUF")


def _packed(folder: Path) -> None:
    headers = read_header(folder / SHARD)
    name = next(name for name in headers if name.endswith("proj.weight"))
    tensors = {each: ("BF16", stored.shape) for each, stored in headers.items()}
    write_sparse(folder / SHARD, tensors | {name: ("F32", headers[name].shape)})
    text = (folder / SHARD).read_bytes().replace(b'"F32"', b'"I32"')
    (folder / SHARD).write_bytes(text)


REFUSED: dict[str, tuple[Callable[[Path], object], type[CadenceError], str]] = {
    "a folder that is none": (shutil.rmtree, AskedWrongly, "is no folder"),
    "a shard that is not there": (
        lambda folder: (folder / SHARD).unlink(),
        MissingWeights,
        f"{SHARD} is not in MiniCPM-o-4_5; needed: every file of the release; run the download again",
    ),
    "a download at work": (
        lambda folder: [(folder / SHARD).unlink(), (folder / ".cache.incomplete").touch()],
        MissingWeights,
        r"\(a download was not finished\)",
    ),
    "neither shards nor index": (
        lambda folder: [path.unlink() for path in folder.glob("model*")],
        MissingWeights,
        "model.safetensors.index.json is not in",
    ),
    "a truncated shard": (_truncate, BadWeights, rf"{SHARD} ends after .*as its header tells; download it again"),
    "a pointer in place of a file": (
        lambda folder: (folder / SHARD).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        MissingWeights,
        "is a Git LFS pointer.*git lfs pull",
    ),
    "a link out of the folder": (_link_out, BadWeights, "leads out of the folder, to .*elsewhere"),
    "an index that leads out": (
        lambda folder: _index(folder, lambda names: names.update(x="../elsewhere.safetensors")),
        BadWeights,
        "leads out of the folder",
    ),
    "an index of other files": (
        lambda folder: _index(folder, lambda names: names.update(x="flow.pt")),
        BadWeights,
        "lists 'flow.pt'; needed: safetensors files alone",
    ),
    "an index of another release": (
        lambda folder: _index(folder, lambda names: names.update(x=SHARD)),
        BadWeights,
        "does not hold x, which .* has there",
    ),
    "an index that is none": (
        lambda folder: (folder / "model.safetensors.index.json").write_text("[1]"),
        BadWeights,
        "index.json cannot be read",
    ),
    "another model's folder": (
        lambda folder: reconfigure(folder, model_type="qwen3_omni_moe"),
        BadWeights,
        "is of another model .*qwen3_omni_moe.*models fetch minicpm-o-4.5",
    ),
    "an older MiniCPM-o": (
        lambda folder: reconfigure(folder, version="2.6"),
        BadWeights,
        "another model .*version '2.6'",
    ),
    "GPTQ": (
        lambda folder: reconfigure(folder, quantization_config={"quant_method": "gptq", "bits": 4}),
        BadWeights,
        "quantised by gptq to 4 bits; needed: the released weights, in bfloat16",
    ),
    "AWQ": (
        lambda folder: reconfigure(folder, quantization_config={"quant_method": "awq", "w_bit": 4}),
        BadWeights,
        "quantised by awq to 4 bits",
    ),
    "int4": (
        lambda folder: reconfigure(folder, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}),
        BadWeights,
        "quantised by bitsandbytes to 4 bits",
    ),
    "GGUF": (_gguf, BadWeights, "a GGUF conversion"),
    "whole numbers for weights": (_packed, BadWeights, "as I32: quantised weights"),
    "a model that cannot be built": (
        lambda folder: reconfigure(folder, rope_scaling={"rope_type": "yarn"}),
        BadWeights,
        "scales its positions",
    ),
    "a size that is none": (
        lambda folder: reconfigure(folder, vocab_size=-1),
        BadWeights,
        "vocab_size = -1, which is no size",
    ),
    "a speech decoder of another kind": (
        lambda folder: reconfigure(folder, tts_config={"num_vq": 4}),
        BadWeights,
        "tts_config.num_vq = 4; needed: 1; only that is built",
    ),
    "a speech decoder that is not told of": (
        lambda folder: reconfigure(folder, tts_config={}),
        BadWeights,
        "tts_config.condition_type = 'llm_hidden'; needed: 'hidden_text_merge'",
    ),
    "no speech decoder at all": (
        lambda folder: reconfigure(folder, tts_config=None),
        BadWeights,
        "has no tts_config",
    ),
    "a hostile configuration": (_hostile_config, BadWeights, "config.json cannot be read"),
    "a hostile flow.yaml": (_hostile_yaml, BadWeights, "flow.yaml holds tag:yaml.org,2002:python"),
    "a pickle with code in it": (_hostile_pt, BadWeights, "flow.pt cannot be read"),
    "a bare pickle": (
        lambda folder: (folder / "assets/token2wav/hift.pt").write_bytes(pickle.dumps(_Runs(folder.parent / "ran"), 2)),
        BadWeights,
        "hift.pt cannot be read",
    ),
    "a tokenizer of another model": (
        lambda folder: (folder / "tokenizer.json").write_text(
            (folder / "tokenizer.json").read_text().replace("<|listen|>", "<|other|>")
        ),
        BadWeights,
        r"tokenizer.json has no <\|listen\|>",
    ),
    "a tokenizer that is none": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        BadWeights,
        "tokenizer.json cannot be read",
    ),
    "no voice's networks": (
        lambda folder: (folder / "assets/token2wav/campplus.onnx").unlink(),
        MissingWeights,
        "campplus.onnx is not in",
    ),
}


@pytest.mark.parametrize(("change", "kind", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_will_not_do_is_refused_in_a_line_and_nothing_runs(tiny, change, kind, said):
    change(tiny)

    with pytest.raises(kind, match=said) as raised:
        load(tiny, CPU)

    assert "\n" not in str(raised.value)
    assert not (tiny.parent / "ran").exists()


def test_what_is_missing_misshapen_or_unknown_is_listed_and_then_refused(tiny):
    headers = {name: ("BF16", stored.shape) for name, stored in read_header(tiny / SHARD).items()}
    gone, odd = list(headers)[:2]
    headers[odd] = ("BF16", (3,))
    headers["tts.extra"] = headers["somewhere.else"] = ("BF16", (1,))
    del headers[gone]
    write_sparse(tiny / SHARD, headers)
    _index(tiny, lambda names: names.pop(gone))

    told = survey(tiny)
    lines = "\n".join(told.lines())

    assert f"no {gone}" in lines
    assert f"{odd} of shape [3] for" in lines
    assert "speech decoder: tts.extra, which is unknown" in lines
    assert "of no part: somewhere.else, which is unknown" in lines
    with pytest.raises(BadWeights, match=r"MiniCPM-o-4_5, .*; needed: the \d+ tensors"):
        load(tiny, CPU)


def test_too_little_memory_is_told_before_anything_is_loaded(tiny):
    needed = survey(tiny).needed_bytes

    with pytest.raises(NoRoom, match=r"this machine has .* to spare; needed: .* and the state of 10 minutes"):
        load(tiny, CPU, available_bytes=lambda: needed - 1)
    assert load(tiny, CPU, available_bytes=lambda: needed)
