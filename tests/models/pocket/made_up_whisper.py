"""A Whisper of random weights in the released shape of files, small enough for a test."""

import json
from pathlib import Path

import torch
from torch import Tensor
from transformers import WhisperConfig, WhisperForConditionalGeneration

LAYERS, HEADS, DIM = 2, 3, 8
POSITIONS, TEXT_POSITIONS = 1500, 64
VOCABULARY = 200


def write_whisper(folder: Path, seed: int = 0) -> None:
    """Write `model.safetensors` (float16, as fetched) and `config.json`."""
    torch.manual_seed(seed)
    config = WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=HEADS * DIM,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_target_positions=TEXT_POSITIONS,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
        decoder_start_token_id=1,
        init_std=0.3,
    )
    WhisperForConditionalGeneration(config).half().save_pretrained(folder)
    saved = json.loads((folder / "config.json").read_text())
    assert saved["d_model"] == HEADS * DIM


def states(ticks: int = POSITIONS) -> tuple[Tensor, Tensor]:
    """Where a decoder keeps what was written and heard: views in the middle of something larger, full of rubbish."""
    shape = (LAYERS, 2, HEADS, DIM)
    row = LAYERS * 2 * HEADS * DIM
    whole = torch.full((ticks, 3 * row), torch.nan)
    return whole[:TEXT_POSITIONS, :row].view(-1, *shape), whole[:, row : 2 * row].view(-1, *shape)
