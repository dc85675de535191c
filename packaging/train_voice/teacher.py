"""Speak the corpus with the teacher (Kokoro-82M, int8 ONNX, CPU), many processes of one thread each.

Beside the audio the teacher tells what it decided: frames of 25 ms a symbol, and pitch at 80 Hz. A shard (`.npz`)
holds some utterances: Ogg Opus bytes, row in the text file, samples, durations and pitch. Shards are written
atomically and rows already spoken are skipped, so that speaking can stop and go on.
"""

import io
import json
import os
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np

RATE_HZ = 24000
FRAME_SAMPLES = 600  # the teacher's duration unit
DURATION_OUTPUT, PITCH_OUTPUT = "/encoder/Clip_output_0", "/decoder/decoder/Unsqueeze_output_0"


def expose_prosody(source: Path, destination: Path) -> None:
    """Copy the teacher's ONNX file with durations and pitch as further outputs (needs the `onnx` package)."""
    import onnx

    model = onnx.load(str(source))
    producers = {output: node for node in model.graph.node for output in node.output}
    for name in (DURATION_OUTPUT, producers[PITCH_OUTPUT].input[0]):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    onnx.save(model, str(destination))


def read_texts(path: Path) -> list[tuple[str, str]]:
    """Rows of (text, phonemes)."""
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def opus(audio: np.ndarray, kilobits: float) -> bytes:
    """Encode float32 mono at 24 kHz as Ogg Opus."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, audio, RATE_HZ, format="OGG", subtype="OPUS", compression_level=(256 - kilobits) / 250)
    return buffer.getvalue()


def _speak(job: tuple[int, list[int], list[str], Path, Path, float, int]) -> float:
    """One worker: speak `rows` until the deadline, a shard every `batch` utterances. Returns seconds of speech."""
    worker, rows, phonemes, teacher_dir, out, deadline, batch = job
    os.environ["OMP_NUM_THREADS"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(teacher_dir / "teacher.onnx"), options, providers=["CPUExecutionProvider"]
    )
    vocabulary = json.loads((teacher_dir / "vocab.json").read_text())["vocab"]
    styles = np.fromfile(teacher_dir / "af_heart.bin", np.float32).reshape(-1, 1, 256)  # by number of symbols
    done, spoken = [], 0.0

    def flush() -> None:
        if not done:
            return
        name = f"{worker:02d}-{done[0][0]:05d}"
        arrays = {
            "rows": np.array([d[0] for d in done], np.int32),
            "samples": np.array([d[1] for d in done], np.int32),
            "opus": np.frombuffer(b"".join(d[2] for d in done), np.uint8),
            "opus_sizes": np.array([len(d[2]) for d in done], np.int32),
            "durations": np.concatenate([d[3] for d in done]),
            "duration_sizes": np.array([len(d[3]) for d in done], np.int32),
            "pitch": np.concatenate([d[4] for d in done]),
            "pitch_sizes": np.array([len(d[4]) for d in done], np.int32),
        }
        with open(out / f".{name}.tmp", "wb") as file:
            np.savez(file, **arrays)
        os.replace(out / f".{name}.tmp", out / f"{name}.npz")
        done.clear()

    for row in rows:
        if time.time() > deadline:
            break
        ids = [vocabulary[c] for c in phonemes[row]]
        audio, durations, pitch = session.run(
            None,
            {"tokens": np.array([[0, *ids, 0]], np.int64), "style": styles[len(ids)], "speed": np.ones(1, np.float32)},
        )
        audio = audio.reshape(-1)
        spoken += len(audio) / RATE_HZ
        done.append(
            (
                row,
                len(audio),
                opus(audio, 48),
                durations.reshape(-1).astype(np.uint8),
                pitch.reshape(-1).astype(np.float16),
            )
        )
        if len(done) >= batch:
            flush()
    flush()
    return spoken


def speak(texts: Path, teacher_dir: Path, out: Path, workers: int, seconds: float, skip: Path | None = None) -> None:
    """Speak what no shard in `out` holds and `skip` (a row a line) does not name, for `seconds` at most."""
    out.mkdir(parents=True, exist_ok=True)
    started = time.time()
    phonemes = [p for _, p in read_texts(texts)]
    held = {int(line) for line in skip.read_text().split()} if skip else set()
    held |= {int(r) for shard in out.glob("*.npz") for r in np.load(shard)["rows"]}
    todo = [row for row in range(len(phonemes)) if row not in held]
    jobs = [(w, todo[w::workers], phonemes, teacher_dir, out, started + seconds, 8) for w in range(workers)]
    with get_context("spawn").Pool(workers) as pool:
        spoken = sum(pool.map(_speak, jobs))
    print(
        f"spoke {spoken / 60:.1f} min in {time.time() - started:.0f} s, {workers} workers, {len(todo)} rows were open"
    )
