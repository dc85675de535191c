"""Turns SmolLM2's GGUF file into a folder that transformers reads: model.safetensors, config.json, tokenizer.json.

Runs once, in a process of its own, when the weights are fetched; needs neither torch nor transformers. Serves any GGUF
file of the llama architecture with a byte-level BPE vocabulary. Does not know how the words are used.

Weights are stored as float16, norms as float32: a Q4_1 value is `scale * q + minimum` with float16 scale and minimum,
so float16 rounds it by at most one part in 2048 of itself (bfloat16: 256), far below what four bits had already lost.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, dequantize
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from engine.errors import BadWeights

BLOCK_NAMES = {  # llama.cpp's name of a block's tensor: transformers' name
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
CONTROL_TOKEN = 3  # the token_type of tokens that no text may spell


def convert(source: Path, destination: Path) -> None:
    """Write the folder of a GGUF file.

    Args:
        source: The GGUF file.
        destination: An empty folder.

    Raises:
        BadWeights: The file is no GGUF file, or holds another kind of model.
    """
    try:
        reader = GGUFReader(source)
    except (ValueError, IndexError) as error:
        raise BadWeights(f"{source.name} cannot be read as GGUF ({error})", "a whole GGUF file") from error
    meta = {name: field.contents() for name, field in reader.fields.items()}
    kind = (meta.get("general.architecture"), meta.get("tokenizer.ggml.model"))
    if kind != ("llama", "gpt2"):
        raise BadWeights(
            f"{source.name} holds {kind[0]} with {kind[1]} tokens", "llama with gpt2 (byte-level BPE) tokens"
        )
    tensors = _tensors(reader, meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"])
    save_file(tensors, destination / "model.safetensors", metadata={"format": "pt"})
    config = _config(meta, tied="lm_head.weight" not in tensors)
    (destination / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    _tokenizer(meta).save(str(destination / "tokenizer.json"))
    (destination / "tokenizer_config.json").write_text(
        json.dumps(_tokenizer_config(meta), indent=2) + "\n", encoding="utf-8"
    )


def _tensors(reader: GGUFReader, heads: int, kv_heads: int) -> dict[str, NDArray[Any]]:
    """Every tensor under transformers' name: matrices float16 [out, in], vectors float32."""
    tensors = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        match tensor.name.split("."):
            case ["blk", block, part, "weight"] if part in BLOCK_NAMES:
                name = f"model.layers.{block}.{BLOCK_NAMES[part]}.weight"
                if part in ("attn_q", "attn_k"):
                    values = _halves_apart(values, heads if part == "attn_q" else kv_heads)
            case [part, "weight"] if part in OUTER_NAMES:
                name = f"{OUTER_NAMES[part]}.weight"
            case _:
                raise BadWeights(f"an unknown tensor {tensor.name}", "a plain llama layer stack")
        tensors[name] = np.ascontiguousarray(values, np.float16 if values.ndim == 2 else np.float32)
    return tensors


def _halves_apart(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo llama.cpp's order of a head's rows: it keeps a rotated pair together, transformers half a head apart."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)  # [head, pair, member, in]
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def _config(meta: dict[str, Any], *, tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(meta["tokenizer.ggml.tokens"]),
        "hidden_size": meta["llama.embedding_length"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": meta["llama.attention.head_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "head_dim": meta["llama.rope.dimension_count"],
        "hidden_act": "silu",
        "max_position_embeddings": meta["llama.context_length"],
        "rms_norm_eps": _shortest(meta["llama.attention.layer_norm_rms_epsilon"]),
        "rope_theta": _shortest(meta["llama.rope.freq_base"]),
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
        "dtype": "float16",
    }


def _shortest(value: float) -> float:
    """The shortest decimal that is this float32: 1e-05, where the file's float32 reads 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _tokenizer(meta: dict[str, Any]) -> Tokenizer:
    """SmolLM's tokenizer: digits one by one, GPT-2's pre-tokens, byte-level BPE."""
    if meta["tokenizer.ggml.pre"] != "smollm":
        raise BadWeights(f"a vocabulary cut up the way of {meta['tokenizer.ggml.pre']}", "smollm's pre-tokens")
    tokens: list[str] = meta["tokenizer.ggml.tokens"]
    merges = [(left, right) for left, right in (merge.split(" ") for merge in meta["tokenizer.ggml.merges"])]
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = meta["tokenizer.ggml.token_type"]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def _tokenizer_config(meta: dict[str, Any]) -> dict[str, Any]:
    tokens = meta["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[meta["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[meta["tokenizer.ggml.eos_token_id"]],
        "pad_token": tokens[meta["tokenizer.ggml.padding_token_id"]],
        "unk_token": tokens[meta["tokenizer.ggml.unknown_token_id"]],
        "clean_up_tokenization_spaces": False,
        "model_max_length": meta["llama.context_length"],
        "chat_template": meta["tokenizer.chat_template"],
    }
