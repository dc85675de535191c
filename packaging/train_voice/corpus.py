"""The corpus on the training device, as flat arrays on three clocks: samples (24 kHz), mel frames (50 Hz), tokens
(25 Hz).

Utterances are trimmed to 160 ms before the first and 160 ms after the last spoken symbol, and cut to whole tokens,
then laid end to end: a random window over the flat arrays may cross from one utterance into the next, which is what
a turn of several sentences does.
"""

import io
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from mel import BINS, HOP, log_mel
from teacher import FRAME_SAMPLES, read_texts
from torch import Tensor

TOKEN_SAMPLES = 2 * HOP
LEAD_SAMPLES, TAIL_SAMPLES = 3840, 3840  # the teacher begins about 75 ms before its own durations say
SYMBOLS = " !,.:;?AIOTWYbdfhijklmnpstuvwzæðŋɐɑɔəɛɜɡɪɹʃʊʌʒʤʧˈˌθᵊᵻ"  # noqa: RUF001
EDGE = 0  # the symbol before the first and after the last; SYMBOLS follow from 1
MUTE = frozenset(" !,.:;?ˈˌ")  # symbols that are not themselves spoken


def symbol_ids(phonemes: str) -> list[int]:
    """Ids with an edge at both ends. Raises ValueError for a symbol the voice does not know."""
    return [EDGE, *(SYMBOLS.index(c) + 1 for c in phonemes), EDGE]


@dataclass
class Utterance:
    """One trimmed utterance, a multiple of 960 samples; `starts` count from its first sample; symbols and end."""

    row: int
    text: str
    symbols: list[int]
    starts: np.ndarray  # [symbols + 1]
    audio: np.ndarray  # int16 [samples]
    pitch: np.ndarray  # float32 [frames], Hz, 0 where unvoiced


def _read_shard(job: tuple[Path, list[tuple[str, str]]]) -> list[Utterance]:
    import soundfile

    path, texts = job
    shard, found = np.load(path), []
    data = shard["opus"].tobytes()
    opus_at, duration_at, pitch_at = (
        np.concatenate([[0], np.cumsum(shard[k])]) for k in ("opus_sizes", "duration_sizes", "pitch_sizes")
    )
    for i, row in enumerate(shard["rows"]):
        text, phonemes = texts[row]
        audio, _ = soundfile.read(io.BytesIO(data[opus_at[i] : opus_at[i + 1]]), dtype="int16")
        durations = shard["durations"][duration_at[i] : duration_at[i + 1]].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(durations)]) * FRAME_SAMPLES
        spoken = [k for k, c in enumerate(phonemes, start=1) if c not in MUTE]
        first = max(0, int(starts[spoken[0]]) - LEAD_SAMPLES)
        last = min(len(audio), int(starts[spoken[-1] + 1]) + TAIL_SAMPLES)
        last = first + (last - first) // TOKEN_SAMPLES * TOKEN_SAMPLES
        centres = np.arange(first + HOP // 2, last, HOP) / (FRAME_SAMPLES / 2) - 0.5
        raw = shard["pitch"][pitch_at[i] : pitch_at[i + 1]].astype(np.float32)
        near = np.clip(np.round(centres).astype(int), 0, len(raw) - 1)
        smooth = np.interp(centres, np.arange(len(raw)), raw)
        pitch = np.where(raw[near] > 50, np.where(smooth > 50, smooth, raw[near]), 0).astype(np.float32)
        found.append(
            Utterance(
                int(row), text, symbol_ids(phonemes), np.clip(starts, first, last) - first, audio[first:last], pitch
            )
        )
    return found


def read(shards: Path, texts: Path, workers: int, limit: int | None = None) -> list[Utterance]:
    """All utterances in `shards`, in the order of the text file."""
    rows, paths = read_texts(texts), sorted(shards.glob("*.npz"))[:limit]
    if workers < 2:
        found = [u for path in paths for u in _read_shard((path, rows))]
    else:
        with ProcessPoolExecutor(workers) as pool:
            found = [u for us in pool.map(_read_shard, [(path, rows) for path in paths]) for u in us]
    return sorted(found, key=lambda u: u.row)


def save(utterances: list[Utterance], path: Path) -> None:
    """Write utterances as flat arrays, which nothing can hide code in."""
    ragged = {
        "symbols": [np.array(u.symbols, np.int64) for u in utterances],
        "starts": [u.starts for u in utterances],
        "audio": [u.audio for u in utterances],
        "pitch": [u.pitch for u in utterances],
    }
    flat = {name: np.concatenate(parts) for name, parts in ragged.items()}
    sizes = {f"{name}_sizes": np.array([len(part) for part in parts]) for name, parts in ragged.items()}
    rows, texts = np.array([u.row for u in utterances]), np.array([u.text for u in utterances])
    np.savez(path, rows=rows, texts=texts, **flat, **sizes)


def load(path: Path) -> list[Utterance]:
    """Utterances as `save` wrote them."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    parts = {
        name: np.split(arrays[name], np.cumsum(arrays[f"{name}_sizes"])[:-1])
        for name in ("symbols", "starts", "audio", "pitch")
    }
    return [
        Utterance(int(row), str(text), symbols.tolist(), starts, audio, pitch)
        for row, text, symbols, starts, audio, pitch in zip(
            arrays["rows"],
            arrays["texts"],
            parts["symbols"],
            parts["starts"],
            parts["audio"],
            parts["pitch"],
            strict=True,
        )
    ]


def symbol_at_tokens(u: Utterance) -> np.ndarray:
    """Index of the symbol being spoken at each token's centre, [tokens]."""
    centres = np.arange(TOKEN_SAMPLES // 2, len(u.audio), TOKEN_SAMPLES)
    return np.clip(np.searchsorted(u.starts, centres, side="right") - 1, 0, len(u.symbols) - 1)


class Corpus:
    """Flat arrays on the device, and a padded table of the utterances' symbols."""

    def __init__(self, utterances: list[Utterance], device: torch.device):
        self.utterances = utterances
        self.audio = torch.from_numpy(np.concatenate([u.audio for u in utterances])).to(device)  # int16
        self.pitch = torch.from_numpy(np.concatenate([u.pitch for u in utterances])).to(device)
        tokens = [symbol_at_tokens(u) for u in utterances]
        spoken = np.concatenate([np.array(u.symbols)[t] for u, t in zip(utterances, tokens, strict=True)])
        self.spoken_symbol = torch.from_numpy(spoken).to(device)  # [tokens]
        self.symbol_index = torch.from_numpy(np.concatenate(tokens)).to(device)  # [tokens], within the utterance
        lengths = torch.tensor([len(t) for t in tokens])
        self.token_counts = lengths.to(device)
        self.token_starts = (lengths.cumsum(0) - lengths).to(device)
        self.symbol_counts = torch.tensor([len(u.symbols) for u in utterances], device=device)
        width = int(self.symbol_counts.max())
        self.symbols = torch.zeros(len(utterances), width, dtype=torch.long)
        self.durations = torch.zeros(len(utterances), width)  # in tokens, fractions kept
        for i, u in enumerate(utterances):
            self.symbols[i, : len(u.symbols)] = torch.tensor(u.symbols)
            self.durations[i, : len(u.symbols)] = torch.from_numpy(np.diff(u.starts) / TOKEN_SAMPLES)
        self.symbols, self.durations = self.symbols.to(device), self.durations.to(device)
        self.mel = self._mel()  # [frames, 80], log
        self.minutes = len(self.audio) / 24000 / 60

    def _mel(self) -> Tensor:
        """Log-mel of the whole flat audio, a minute at a time, with the samples around each part."""
        frames, parts, step, around = len(self.audio) // HOP, [], 3000, 4
        for begin in range(0, frames, step):
            low, high = max(0, begin - around), min(frames, begin + step + around)
            part = log_mel(self.audio[low * HOP : high * HOP][None].float() / 32768)[0]
            parts.append(part[begin - low : begin - low + min(step, frames - begin)])
        mel = torch.cat(parts)
        assert mel.shape == (frames, BINS)
        return mel
