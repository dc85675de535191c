"""MiniCPM-o 4.5's released layout, made apart from the engine's own tables: modules built as the released code does.

Follows `MiniCPMO.__init__` of OpenBMB/MiniCPM-o-Demo at 28b60cf over transformers' own modules, on the meta device, so
that names and shapes are those that the released code would save. Vision's are listed by hand, as that code has them.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from transformers import LlamaConfig, LlamaModel, Qwen3Config, Qwen3ForCausalLM, WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder

CONFIG: dict[str, Any] = {
    "architectures": ["MiniCPMO"],
    "auto_map": {"AutoModel": "modeling_minicpmo.MiniCPMO"},
    "model_type": "minicpmo",
    "version": "4.5",
    "torch_dtype": "bfloat16",
    "vocab_size": 151748,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "rope_scaling": None,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "sliding_window": None,
    "use_sliding_window": False,
    "audio_pool_step": 5,
    "audio_config": {
        "d_model": 1024,
        "encoder_layers": 24,
        "encoder_attention_heads": 16,
        "encoder_ffn_dim": 4096,
        "num_mel_bins": 80,
        "max_source_positions": 1500,
        "activation_function": "gelu",
    },
    "tts_config": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 20,
        "num_attention_heads": 12,
        "num_key_value_heads": 12,
        "num_text_tokens": 152064,
        "num_audio_tokens": 6562,
        "num_vq": 1,
        "llm_dim": 4096,
        "audio_bos_token_id": 151687,
        "projector_type": "mlp",
        "backbone_model": "llama",
        "condition_type": "hidden_text_merge",
        "normalize_projected_hidden": True,
    },
}


def tiny_config() -> dict[str, Any]:
    """The same of a model for tests, of the sizes that `engine.models.minicpm_o.made_up` calls tiny."""
    return {
        **CONFIG,
        **{"vocab_size": 128, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16},
        "audio_config": {
            **CONFIG["audio_config"],
            **{"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 128},
            **{"num_mel_bins": 8, "max_source_positions": 240},
        },
        "tts_config": {
            **CONFIG["tts_config"],
            **{"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2},
            **{"num_key_value_heads": 2, "num_text_tokens": 128, "num_audio_tokens": 4301, "llm_dim": 48},
            "audio_bos_token_id": 120,
        },
    }


class _Projector(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(inputs, outputs), nn.Linear(outputs, outputs)


class _Speech(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, tokens = config["hidden_size"], config["num_audio_tokens"]
        self.projector_spk = _Projector(config["llm_dim"], width)
        self.projector_semantic = _Projector(config["llm_dim"], width)
        self.emb_text = nn.Embedding(config["num_text_tokens"], width)
        self.emb_code = nn.ModuleList([nn.Embedding(tokens, width)])
        self.head_code = nn.ModuleList([weight_norm(nn.Linear(width, tokens, bias=False), name="weight")])
        self.model = LlamaModel(
            LlamaConfig(
                hidden_size=width,
                intermediate_size=config["intermediate_size"],
                num_attention_heads=config["num_attention_heads"],
                num_hidden_layers=config["num_hidden_layers"],
                num_key_value_heads=config["num_key_value_heads"],
                max_position_embeddings=4096,
            )
        )


class _Released(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        own = {key: value for key, value in config.items() if key not in ("model_type", "auto_map", "architectures")}
        self.llm = Qwen3ForCausalLM(Qwen3Config(**own))
        self.apm = WhisperEncoder(WhisperConfig(**config["audio_config"]))
        width = config["hidden_size"]
        self.audio_projection_layer = _Projector(config["audio_config"]["encoder_ffn_dim"] // 4, width)
        self.tts = _Speech(config["tts_config"])


def released_shapes(config: dict[str, Any] = CONFIG) -> dict[str, tuple[int, ...]]:
    """Every tensor of a released folder's safetensors, by name."""
    with torch.device("meta"):
        model = _Released(config)
    shapes = {name: tuple(each.shape) for name, each in model.state_dict().items()}
    return shapes | dict(_vision(config["hidden_size"]))


def _vision(width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """SigLIP without its last layer, 1152 wide, and the resampler."""
    own, inner = (1152, 4304) if width == CONFIG["hidden_size"] else (16, 24)
    yield "vpm.embeddings.patch_embedding.weight", (own, 3, 14, 14)
    yield "vpm.embeddings.patch_embedding.bias", (own,)
    yield "vpm.embeddings.position_embedding.weight", (70 * 70, own)
    for layer, kind in itertools.product(range(26), ("weight", "bias")):
        name = f"vpm.encoder.layers.{layer}"
        second = (own,) if kind == "weight" else ()
        for part in ("k", "v", "q", "out"):
            yield f"{name}.self_attn.{part}_proj.{kind}", (own, *second)
        yield f"{name}.layer_norm1.{kind}", (own,)
        yield f"{name}.layer_norm2.{kind}", (own,)
        yield f"{name}.mlp.fc1.{kind}", (inner, *second)
        yield f"{name}.mlp.fc2.{kind}", (own, inner) if second else (own,)
    yield "vpm.post_layernorm.weight", (own,)
    yield "vpm.post_layernorm.bias", (own,)
    yield "resampler.query", (64, width)
    yield "resampler.proj", (width, width)
    yield "resampler.kv_proj.weight", (width, own)
    yield "resampler.attn.in_proj_weight", (3 * width, width)
    yield "resampler.attn.in_proj_bias", (3 * width,)
    yield "resampler.attn.out_proj.weight", (width, width)
    yield "resampler.attn.out_proj.bias", (width,)
    for norm, kind in itertools.product(("ln_q", "ln_kv", "ln_post"), ("weight", "bias")):
        yield f"resampler.{norm}.{kind}", (width,)
