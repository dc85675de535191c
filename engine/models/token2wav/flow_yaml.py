"""Reads `flow.yaml` for its sizes, inertly: a HyperPyYAML file whose tags, loaded as released, would run Python.

Only the document's nodes are looked at; nothing is constructed, nothing is called, and a tag, key or value that the
layers here cannot honour is refused by name. No torch. Entered by the engine thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import yaml

from engine.errors import BadWeights
from engine.models.token2wav.sizes import FlowSizes, conformer_sizes, dit_sizes

_FLOW = "cosyvoice2.flow.flow.CausalMaskedDiffWithXvec"
_ENCODER = "cosyvoice2.transformer.upsample_encoder_v2.UpsampleConformerEncoderV2"
_DECODER = "cosyvoice2.flow.flow_matching.CausalConditionalCFM"
_ESTIMATOR = "cosyvoice2.flow.decoder_dit.DiT"
_FRACTIONS = {"inference_cfg_rate", "mlp_ratio", "up_scale_factor"}  # numbers that need not be whole
_DEEPEST = 8


@dataclass(frozen=True)
class _Made:
    """What a tag would have made: a class by its full name, and its arguments."""

    name: str
    arguments: Mapping[str, Any]


def read_flow_yaml(path: Path) -> FlowSizes:
    """The flow's sizes.

    Raises:
        BadWeights: The file is not there, is no such file, or asks for what is not built here.
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise BadWeights(f"{path.name} cannot be read: {reason}", "the released flow.yaml") from error
    try:
        return _sizes(_value(root, _DEEPEST))
    except _Refused as refused:
        raise BadWeights(f"{path.name} {refused}", "the released flow.yaml of Step-Audio 2's token2wav") from refused


class _Refused(Exception):
    """What is wrong, in words that follow the file's name."""


def _value(node: Any, depth: int) -> Any:
    if depth == 0:
        raise _Refused("nests too deep, or into itself")
    if isinstance(node, yaml.MappingNode):
        keys = [str(key.value) for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise _Refused(f"gives {', '.join(sorted(twice))} twice")
        pairs = {key: _value(value, depth - 1) for key, (_, value) in zip(keys, node.value, strict=True)}
        if node.tag == "tag:yaml.org,2002:map":
            return pairs
        if node.tag.startswith("!new:"):
            return _Made(node.tag.removeprefix("!new:"), pairs)
    if isinstance(node, yaml.ScalarNode):
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "str":
            return node.value
        if kind == "bool":
            return node.value.lower() in ("true", "yes", "on")
        if kind in ("int", "float"):
            try:
                return int(node.value) if kind == "int" else float(node.value)
            except ValueError:
                pass
    tag = getattr(node, "tag", "nothing")
    raise _Refused(f"holds {tag} on line {node.start_mark.line + 1}" if node is not None else "is empty")


def _sizes(root: Any) -> FlowSizes:
    if not isinstance(root, dict) or set(root) != {"flow"}:
        raise _Refused(f"has the keys {', '.join(root) if isinstance(root, dict) else 'of no mapping'}, not flow alone")
    flow = _made(root["flow"], "flow", _FLOW, {"input_size", "output_size", "spk_embed_dim", "vocab_size"},
                 {"output_type": "mel"}, {"encoder", "decoder"})  # fmt: skip
    encoder = _made(
        flow["encoder"],
        "encoder",
        _ENCODER,
        {"input_size", "output_size", "pre_lookahead_len", "num_blocks", "num_up_blocks", "up_stride",
         "up_scale_factor", "attention_heads", "linear_units"},
        {"input_layer": "linear", "pos_enc_layer_type": "rel_pos_espnet", "selfattention_layer_type": "rel_selfattn",
         "key_bias": True, "normalize_before": True, "activation_type": "swish"},
        {"dropout_rate", "positional_dropout_rate", "attention_dropout_rate"},  # of training alone
    )  # fmt: skip
    decoder = _made(flow["decoder"], "decoder", _DECODER, {"inference_cfg_rate"}, {}, {"estimator"})
    numbers = {"in_channels", "out_channels", "mlp_ratio", "depth", "num_heads", "head_dim", "hidden_size"}
    estimator = _made(decoder["estimator"], "estimator", _ESTIMATOR, numbers, {}, set())
    sizes = FlowSizes(
        vocabulary=flow["vocab_size"],
        speaker=flow["spk_embed_dim"],
        guidance=float(decoder["inference_cfg_rate"]),
        encoder=conformer_sizes(encoder),
        estimator=dit_sizes(estimator),
    )
    fits = {
        "flow.input_size": (flow["input_size"], sizes.encoder.width),
        "flow.output_size": (flow["output_size"], sizes.estimator.channels),
        "encoder.input_size": (encoder["input_size"], sizes.encoder.width),
        "encoder.up_scale_factor": (encoder["up_scale_factor"], sizes.encoder.stride),
        "encoder.attention_heads": (encoder["attention_heads"], gcd(sizes.encoder.heads, sizes.encoder.width)),
        "estimator.in_channels": (estimator["in_channels"], 4 * sizes.estimator.channels),
    }
    for name, (came, needed) in fits.items():
        if came != needed:
            raise _Refused(f"has {name} = {came}, where the rest of it needs {needed}")
    return sizes


def _made(
    made: Any, where: str, name: str, numbers: set[str], fixed: Mapping[str, Any], others: set[str]
) -> Mapping[str, Any]:
    """The arguments of what is made at `where`, once they are those that can be honoured."""
    if not isinstance(made, _Made) or made.name != name:
        raise _Refused(f"makes {getattr(made, 'name', 'nothing')} as its {where}, not {name}")
    arguments = made.arguments
    if unknown := set(arguments) - numbers - set(fixed) - others:
        raise _Refused(f"gives {where} {', '.join(sorted(unknown))}, which is unknown")
    if missing := numbers - set(arguments):
        raise _Refused(f"gives {where} no {', '.join(sorted(missing))}")
    for key in numbers:
        value = arguments[key]
        kinds = int | float if key in _FRACTIONS else int
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 1_000_000:
            raise _Refused(f"has {where}.{key} = {value!r}, which is no size")
    for key, value in fixed.items():
        if arguments.get(key, value) != value:
            raise _Refused(f"has {where}.{key} = {arguments[key]!r}; only {value!r} is built")
    return arguments
