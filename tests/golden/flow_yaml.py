"""`flow.yaml` as its reader needs it: the released tags, keys and values, written anew; and at a size for tests."""

RELEASED = """
flow: !new:cosyvoice2.flow.flow.CausalMaskedDiffWithXvec
  input_size: 512
  output_size: 80
  spk_embed_dim: 192
  output_type: "mel"
  vocab_size: 6561
  encoder: !new:cosyvoice2.transformer.upsample_encoder_v2.UpsampleConformerEncoderV2
    input_size: 512
    output_size: 512
    input_layer: "linear"
    pre_lookahead_len: 3
    num_blocks: 6
    num_up_blocks: 4
    up_stride: 2
    up_scale_factor: 2
    attention_heads: 8
    pos_enc_layer_type: "rel_pos_espnet"
    selfattention_layer_type: "rel_selfattn"
    key_bias: true
    linear_units: 2048
    dropout_rate: 0.1
    positional_dropout_rate: 0.1
    attention_dropout_rate: 0.1
    normalize_before: true
  decoder: !new:cosyvoice2.flow.flow_matching.CausalConditionalCFM
    inference_cfg_rate: 0.7
    estimator: !new:cosyvoice2.flow.decoder_dit.DiT
      in_channels: 320
      out_channels: 80
      mlp_ratio: 4.0
      depth: 16
      num_heads: 8
      head_dim: 64
      hidden_size: 512
"""


def with_values(**values: object) -> str:
    """The released text with other values, by `key` or `outer__key` where a key is there twice."""
    lines, outer = [], ""
    for line in RELEASED.strip().splitlines():
        key, _, rest = line.strip().partition(":")
        if rest.startswith(" !new:"):
            outer = key
        for name in (key, f"{outer}__{key}"):
            if name in values and not rest.startswith(" !new:"):
                line = f"{line[: len(line) - len(line.lstrip())]}{key}: {values[name]}"
        lines.append(line)
    return "\n".join(lines) + "\n"


TINY_YAML = with_values(
    **{"flow__input_size": 32, "flow__output_size": 16, "encoder__input_size": 32, "encoder__output_size": 32},
    spk_embed_dim=24, vocab_size=4300, num_blocks=2, num_up_blocks=2, attention_heads=2, linear_units=48,
    in_channels=64, out_channels=16, mlp_ratio=2.0, depth=2, num_heads=3, head_dim=16, hidden_size=48,
)  # fmt: skip
