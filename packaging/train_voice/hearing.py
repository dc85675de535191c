"""Word error rate of spoken sentences, by a Whisper in a local folder (transformers), and counts of what must not
happen.
"""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import torch
from teacher import read_texts

WINDOW_SECONDS = 12
SPELLINGS = {  # of the held-out sentences; the hearing writes American
    "neighbour": "neighbor", "apologised": "apologized", "humour": "humor", "harbour": "harbor", "programme": "program",
    "practises": "practices", "metres": "meters", "kilometres": "kilometers", "jumper": "jumper", "theatre": "theater",
}  # fmt: skip


def errors(said: list[str], heard: list[str]) -> int:
    """Word edits from one to the other."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(said, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(heard, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def read_archive(path: Path) -> dict[int, np.ndarray]:
    """Row to samples at 24 kHz."""
    import soundfile

    with tarfile.open(path) as archive:
        return {
            int(m.name[:-5]): soundfile.read(io.BytesIO(archive.extractfile(m).read()), dtype="float32")[0]
            for m in archive.getmembers()
        }


@torch.inference_mode()
def transcribe(sounds: list[np.ndarray], whisper: Path, batch: int = 10) -> list[str]:
    """What Whisper hears, its encoder cut to twelve seconds; it may loop there, so five words never come twice."""
    import soxr
    from transformers import WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTokenizerFast

    model = WhisperForConditionalGeneration.from_pretrained(whisper).float().eval()
    tokenizer = WhisperTokenizerFast(tokenizer_file=str(whisper / "tokenizer.json"))
    extract = WhisperFeatureExtractor(feature_size=80, chunk_length=WINDOW_SECONDS)
    encoder, positions = model.model.encoder, 50 * WINDOW_SECONDS
    model.config.max_source_positions = encoder.max_source_positions = positions
    encoder.embed_positions.num_embeddings = positions
    encoder.embed_positions.weight = torch.nn.Parameter(encoder.embed_positions.weight[:positions])
    texts = []
    for begin in range(0, len(sounds), batch):
        part = [soxr.resample(s, 24000, 16000) for s in sounds[begin : begin + batch]]
        features = extract(part, sampling_rate=16000, return_tensors="pt").input_features
        ids = model.generate(features, max_new_tokens=64, num_beams=1, do_sample=False, no_repeat_ngram_size=5)
        texts += [tokenizer.decode(i, skip_special_tokens=True) for i in ids]
    return texts


def report(archives: list[Path], held_out: Path, whisper: Path, out: Path, limit: int) -> None:
    """Word error rates over all sentences, plain and with numbers, times, names; every transcript is kept."""
    from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

    same, texts, summary = EnglishTextNormalizer(SPELLINGS), [t for t, _ in read_texts(held_out)], {}
    for path in archives:
        sounds = read_archive(path)
        rows = sorted(sounds)[:: max(1, len(sounds) // limit)]
        heard = transcribe([sounds[r] for r in rows], whisper)
        found = []
        for row, text in zip(rows, heard, strict=True):
            a, b = same(texts[row]).split(), same(text).split()
            found.append(
                {
                    "row": row,
                    "errors": errors(a, b),
                    "words": len(a),
                    "heard": text,
                    "seconds": round(len(sounds[row]) / 24000, 2),
                }
            )
        wer = {
            name: round(sum(f["errors"] for f in some) / max(1, sum(f["words"] for f in some)), 4)
            for name, some in (
                ("all", found),
                ("plain", [f for f in found if f["row"] < 150]),
                ("numbers", [f for f in found if f["row"] >= 150]),
            )
        }
        summary[path.stem] = {
            "sentences": len(found),
            "wer": wer,
            "seconds": round(sum(f["seconds"] for f in found), 1),
            "found": found,
        }
        print(path.stem, len(found), wer, flush=True)
    out.write_text(json.dumps(summary, indent=1, ensure_ascii=False))
