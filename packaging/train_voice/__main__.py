"""Train the voice: `python packaging/train_voice STAGE ...`, one command a stage (see README.md)."""

import argparse
import time
from pathlib import Path

import corpus
import evaluate
import hearing
import laws
import pack
import stages
import teacher
import texts
import torch
from loop import Run

TRAINED = ("tokenizer", "flow", "decoder", "vocoder")
ENCODER = ("enter", "encode_mel", "halve", "encode_token", "squeeze")  # the tokenizer without its training heads
STAGES = ("texts", "expose", "speak", "prepare", *TRAINED, "evaluate", "hear", "pack", "check")


def main() -> None:
    """Parse and run one stage."""
    parser = argparse.ArgumentParser(prog="train_voice", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--data", type=Path, default=Path(".voice-data"), help="texts, prepared corpus")
    parser.add_argument("--shards", type=Path, help="folder of the teacher's shards")
    parser.add_argument("--texts", type=Path, help="file of text and phonemes")
    parser.add_argument("--models", type=Path, default=Path(".voice-data/models"), help="checkpoints and logs")
    parser.add_argument("--out", type=Path, default=Path(".voice-data/out"))
    parser.add_argument("--teacher", type=Path, help="folder of teacher.onnx, vocab.json, af_heart.bin")
    parser.add_argument("--skip", type=Path, help="speak: rows that other machines spoke")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to speak or train")
    parser.add_argument("--until", type=float, help="the same as an end, seconds since the epoch")
    parser.add_argument(
        "--progress", type=float, nargs=2, default=(0.0, 1.0), help="part of the stage's schedule that this run covers"
    )
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--levels", type=int, nargs="+", default=[4] * 8)
    parser.add_argument("--compiled", action="store_true", help="vocoder: torch.compile")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--guidance", type=float, default=0.0)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--archives", type=Path, nargs="+", help="hear: WAY.tar files")
    parser.add_argument("--whisper", type=Path, help="hear: folder of a Whisper for transformers")
    parser.add_argument("--bits", type=int, default=5, help="pack: bits a weight; the vocoder takes 8")
    parser.add_argument("--ways", nargs="+", default=["vocoded", "rebuilt", "spoken"])
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--made", type=int, default=2600, help="sentences of the grammar")
    a = parser.parse_args()

    if a.stage == "texts":
        a.data.mkdir(parents=True, exist_ok=True)
        texts.write_phonemes(texts.corpus(a.made, a.seed), a.data / "corpus.tsv")
        texts.write_phonemes(texts.held_out(), a.data / "held_out.tsv")
        return
    if a.stage == "expose":
        teacher.expose_prosody(a.teacher / "kokoro.onnx", a.teacher / "teacher.onnx")
        return
    if a.stage == "speak":
        teacher.speak(a.texts, a.teacher, a.shards, a.workers, a.seconds, a.skip)
        return
    if a.stage == "check":
        found = laws.check(a.levels, a.seed)
        print(found)
        raise SystemExit(int(max(found.values()) > laws.TOLERANCE))
    if a.stage == "hear":
        hearing.report(a.archives, a.texts, a.whisper, a.out, a.limit)
        return
    if a.stage == "pack":
        a.out.mkdir(parents=True, exist_ok=True)
        for name in TRAINED:
            state = pack.load(a.models / f"{name}.safetensors")
            if name == "tokenizer":
                state = {k: v for k, v in state.items() if k.split(".")[0] in ENCODER}
            pack.save(state, a.out / f"{name}.safetensors", 8 if name == "vocoder" else a.bits)
        return
    if a.stage == "prepare":
        utterances = corpus.read(a.shards, a.texts, a.workers)
        a.data.mkdir(parents=True, exist_ok=True)
        corpus.save(utterances, a.data / "corpus.npz")
        minutes = sum(len(u.audio) for u in utterances) / 24000 / 60
        print(f"{len(utterances)} utterances, {minutes:.1f} min after trimming")
        return
    torch.manual_seed(a.seed)
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if a.stage == "evaluate":
        evaluate.speak_held_out(
            a.models,
            a.shards,
            a.texts,
            a.out,
            a.levels,
            device,
            a.steps,
            a.guidance,
            a.temperature,
            a.limit,
            a.ways,
        )
        return
    a.models.mkdir(parents=True, exist_ok=True)
    run = Run(a.stage, a.models, device, a.until or time.time() + a.seconds, tuple(a.progress), a.seed)
    if a.stage == "vocoder":
        stages.train_vocoder(run, a.data, a.batch, a.compiled)
    else:
        {"tokenizer": stages.train_tokenizer, "flow": stages.train_flow, "decoder": stages.train_decoder}[a.stage](
            run, a.data, a.batch, a.levels
        )


if __name__ == "__main__":
    main()
