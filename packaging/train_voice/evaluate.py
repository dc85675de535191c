"""Speak the held-out sentences three ways: the teacher's mel through the vocoder, its tokens through flow and
vocoder, and phonemes through all.
"""

import io
import json
import tarfile
from pathlib import Path

import corpus as corpora
import torch
from decoder import Decoder
from flow import Flow
from loop import load_light
from mel import BINS, HOP, log_mel
from stages import load_tokenizer
from teacher import opus, read_texts
from torch import Tensor
from vocoder import Vocoder


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _spread(items: list, limit: int) -> list:
    """About `limit` items, evenly spread."""
    return items[:: max(1, len(items) // limit)]


@torch.no_grad()
def speak_held_out(
    models: Path, shards: Path, texts: Path, out: Path, levels: list[int], device: torch.device,
    steps: int, guidance: float,
    temperature: float, limit: int, ways: list[str],
) -> None:  # fmt: skip
    """Write `WAY.tar` of Ogg Opus files named by row, and `distances.json`, log-mel L1 from the teacher."""
    out.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(models / "tokenizer.safetensors", levels, device)
    flow, vocoder = Flow(levels).to(device).eval(), Vocoder().to(device).eval()
    load_light(flow, models / "flow.safetensors")
    load_light(vocoder, models / "vocoder.safetensors")
    decoder = Decoder(levels).to(device).eval()
    if "spoken" in ways:
        load_light(decoder, models / "decoder.safetensors")
    generator = torch.Generator(device).manual_seed(9)
    distances: dict[str, list[float]] = {way: [] for way in ways}
    archives = {way: tarfile.open(out / f"{way}.tar", "w") for way in ways}  # noqa: SIM115 - closed below

    def voice(mel: Tensor) -> Tensor:
        noise = torch.randn(1, mel.shape[1] * HOP, 9, device=device, generator=generator)
        return vocoder.whole(mel, noise)[0]

    def to_mel(tokens: Tensor) -> Tensor:
        noise = torch.randn(1, 2 * tokens.shape[1], BINS, device=device, generator=generator)
        return flow.whole(tokens, noise, steps, guidance)

    def keep(way: str, row: int, audio: Tensor, real: Tensor | None) -> None:
        if real is not None:
            distances[way].append(float((log_mel(audio[None]) - log_mel(real[None])).abs().mean()))
        _add(archives[way], f"{row:03d}.opus", opus(audio.cpu().numpy(), 40))

    if {"vocoded", "rebuilt"} & set(ways):
        for u in _spread(corpora.read(shards, texts, 1), limit):
            real = torch.from_numpy(u.audio).to(device).float() / 32768
            mel = log_mel(real[None])
            if "vocoded" in ways:
                keep("vocoded", u.row, voice(mel), real)
            if "rebuilt" in ways:
                keep("rebuilt", u.row, voice(to_mel(tokenizer.tokens(mel)[1])), real)
    if "spoken" in ways:
        for row, (_, phonemes) in _spread(list(enumerate(read_texts(texts))), limit):
            symbols = torch.tensor([corpora.symbol_ids(phonemes)], device=device)
            tokens, _ = decoder.generate(
                symbols, torch.tensor([symbols.shape[1]], device=device), temperature, generator
            )
            keep("spoken", row, voice(to_mel(tokens)), None)
    for archive in archives.values():
        archive.close()
    summary = {way: round(sum(d) / len(d), 4) for way, d in distances.items() if d}
    (out / "distances.json").write_text(
        json.dumps({"log_mel_l1": summary, "steps": steps, "guidance": guidance, "temperature": temperature})
    )
    print(summary, flush=True)
