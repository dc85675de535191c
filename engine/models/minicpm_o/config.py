"""MiniCPM-o's sizes from the `config.json` of a released folder, and what in it this engine cannot run.

Read as a table and nothing more: `auto_map`, which names code to run, is never followed. What the file does not give is
what the released configuration classes have, as it is for the released code; and the tensors are held to it. Any thread
may enter.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadWeights
from engine.models.layers.decoder_stack import StackSizes, unlike_llama
from engine.models.minicpm_o.sizes import EncoderSizes, LanguageSizes, SpeechSizes

MODEL_TYPE, VERSION = "minicpmo", "4.5"
FETCH = "fetch the released one: duplexcadence models fetch minicpm-o-4.5"
_BACKBONE = {  # of transformers' Qwen3Config, which the released one is
    **{"vocab_size": 151_936, "hidden_size": 4096, "intermediate_size": 22_016, "num_hidden_layers": 32},
    **{"num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "rms_norm_eps": 1e-6},
    **{"rope_theta": 10_000.0, "hidden_act": "silu", "attention_bias": False, "tie_word_embeddings": False},
    "audio_pool_step": 5,
}
_AUDIO = {  # of transformers' WhisperConfig
    **{"num_mel_bins": 80, "d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6},
    **{"encoder_ffn_dim": 1536, "max_source_positions": 1500},
    **{"activation_function": "gelu", "scale_embedding": False},
}
_TTS = {  # of the released MiniCPMTTSConfig
    **{"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 20, "num_attention_heads": 12},
    **{"num_key_value_heads": 12, "num_text_tokens": 21_178, "num_audio_tokens": 4097, "llm_dim": 2560},
    **{"audio_bos_token_id": 21_132, "num_vq": 1, "backbone_model": "llama", "projector_type": "mlp"},
    **{"hidden_act": "silu", "condition_type": "llm_hidden", "normalize_projected_hidden": False},
}
_BUILT = {  # what could be otherwise, and is not built
    "": {"hidden_act": "silu", "attention_bias": False, "tie_word_embeddings": False, "audio_pool_step": 5},
    "audio_config": {"activation_function": "gelu", "scale_embedding": False},
    "tts_config": {
        **{"backbone_model": "llama", "projector_type": "mlp", "num_vq": 1, "hidden_act": "silu"},
        **{"condition_type": "hidden_text_merge", "normalize_projected_hidden": True},
    },
}


@dataclass(frozen=True)
class Sizes:
    """Of the three parts that a folder's safetensors hold."""

    encoder: EncoderSizes
    language: LanguageSizes
    speech: SpeechSizes


def read_config(path: Path) -> Sizes:
    """The sizes that a `config.json` tells of.

    Raises:
        BadWeights: It is not MiniCPM-o 4.5's, of a quantised one, or asks for what is not built here.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{path.name} cannot be read: {reason}", "MiniCPM-o 4.5's configuration", FETCH) from error
    if not isinstance(config, dict):
        raise BadWeights(f"{path.name} is no table", "MiniCPM-o 4.5's configuration", FETCH)
    if config.get("model_type") != MODEL_TYPE or str(config.get("version")) != VERSION:
        came = f"{config.get('model_type')!r}, version {config.get('version')!r}"
        raise BadWeights(
            f"{path.name} is of another model ({came})", f"MiniCPM-o 4.5's ({MODEL_TYPE!r}, {VERSION!r})", FETCH
        )
    if config.get("quantization_config"):
        raise quantised(f"{path.name} tells of weights quantised by {_method(config['quantization_config'])}")
    parts: dict[str, dict[str, Any]] = {"": {**_BACKBONE, **config}}
    for name, defaults in (("audio_config", _AUDIO), ("tts_config", _TTS)):
        if not isinstance(config.get(name), dict):
            raise BadWeights(f"{path.name} has no {name}", "the released configuration", FETCH)
        parts[name] = {**defaults, **config[name]}
    for name, built in _BUILT.items():
        for key, value in built.items():
            if (came := parts[name][key]) != value:
                where = f"{name}.{key}" if name else key
                raise BadWeights(f"{path.name} has {where} = {came!r}", f"{value!r}; only that is built", FETCH)
    backbone = {**parts[""], "model_type": "qwen3"}
    if unlike := unlike_llama(backbone):
        raise BadWeights(f"{path.name}: the language model {unlike}", "a Qwen3 as released", FETCH)
    try:
        return _sizes(backbone, parts["audio_config"], parts["tts_config"])
    except _NoSize as wrong:
        raise BadWeights(f"{path.name} has {wrong}, which is no size", "the released configuration", FETCH) from wrong


def quantised(came: str) -> BadWeights:
    """The refusal of weights that were made smaller: this engine's answer is the released weights' own, to the bit."""
    return BadWeights(came, "the released weights, in bfloat16", FETCH)


class _NoSize(Exception):
    """A key and its value."""


def _whole(config: Mapping[str, Any], key: str) -> int:
    value = config[key]
    if type(value) is not int or not 0 < value < 10_000_000:
        raise _NoSize(f"{key} = {value!r}")
    return value


def _sizes(backbone: Mapping[str, Any], audio: Mapping[str, Any], tts: Mapping[str, Any]) -> Sizes:
    for key, default in _BACKBONE.items():
        if type(default) is int:
            _whole(backbone, key)
        elif type(default) is float and not (type(backbone[key]) in (int, float) and 0 < backbone[key] < 1e9):
            raise _NoSize(f"{key} = {backbone[key]!r}")
    stack, released = StackSizes.of(backbone), SpeechSizes().stack
    width, heads = _whole(tts, "hidden_size"), _whole(tts, "num_attention_heads")
    return Sizes(
        EncoderSizes(
            mels=_whole(audio, "num_mel_bins"),
            width=_whole(audio, "d_model"),
            layers=_whole(audio, "encoder_layers"),
            heads=_whole(audio, "encoder_attention_heads"),
            inner=_whole(audio, "encoder_ffn_dim"),
            positions=_whole(audio, "max_source_positions"),
            out=stack.width,
        ),
        LanguageSizes(_whole(backbone, "vocab_size"), stack),
        SpeechSizes(
            StackSizes(
                width=width,
                inner=_whole(tts, "intermediate_size"),
                layers=_whole(tts, "num_hidden_layers"),
                heads=heads,
                kv_heads=_whole(tts, "num_key_value_heads"),
                dim=width // heads,
                eps=released.eps,
                rope_theta=released.rope_theta,
            ),
            texts=_whole(tts, "num_text_tokens"),
            tokens=_whole(tts, "num_audio_tokens"),
            llm=_whole(tts, "llm_dim"),
            begin=_whole(tts, "audio_bos_token_id"),
        ),
    )


def _method(quantisation: Any) -> str:
    if not isinstance(quantisation, dict):
        return "something"
    bits = quantisation.get("bits") or quantisation.get("w_bit") or (4 if quantisation.get("load_in_4bit") else None)
    return f"{quantisation.get('quant_method', 'something')}{f' to {bits} bits' if bits else ''}"
