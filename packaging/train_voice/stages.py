"""The stages of training: what each draws, what it minimises, and what it is measured by."""

from pathlib import Path

import corpus
import torch
from corpus import Corpus
from decoder import Decoder
from discriminators import Judges, judge_loss, maker_losses, spectral_loss
from flow import AHEAD_TOKENS, CHUNK_TOKENS, Flow
from loop import Losses, Run, load_light, optimiser, train
from mel import HOP, RATE_HZ
from tokenizer import SCALE, Tokenizer, normalise
from torch import Tensor, nn
from vocoder import AHEAD_FRAMES, Vocoder

VALID_EVERY, VALID_AT = 40, 7  # rows of the text file kept from training, to watch for over-fitting


def load(folder: Path, device: torch.device) -> tuple[Corpus, Corpus]:
    """The prepared corpus, for training and for validation."""
    utterances = corpus.load(folder / "corpus.npz")
    valid = [u for u in utterances if u.row % VALID_EVERY == VALID_AT]
    if sum(len(u.audio) for u in valid) < 30 * RATE_HZ:
        raise ValueError(
            f"{len(utterances)} utterances leave under 30 s for validation; speak more of the corpus first"
        )
    trained = [u for u in utterances if u.row % VALID_EVERY != VALID_AT]
    return Corpus(trained, device), Corpus(valid, device)


def autocast(device: torch.device) -> torch.autocast:
    """bf16 on a GPU; capture forbids the cast cache."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda", cache_enabled=False)


def windows(starts: Tensor, length: int) -> Tensor:
    """Indices [batch, length] from starts [batch]."""
    return starts[:, None] + torch.arange(length, device=starts.device)


def minimise(made: torch.optim.AdamW, model: nn.Module, loss: Tensor) -> None:
    """One update with clipped gradients."""
    made.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
    made.step()


def scalars(losses: Losses) -> dict[str, float]:
    return {k: float(v) for k, v in losses.items()}


def train_tokenizer(run: Run, folder: Path, batch: int, levels: list[int]) -> None:
    """Mel to tokens and back."""
    corpus, valid = load(folder, run.device)
    model = Tokenizer(levels).to(run.device)
    made = optimiser(list(model.parameters()), 6e-4, (0.9, 0.98), 0.01, run.device)
    length = 100

    def draw(c: Corpus, count: int) -> tuple[Tensor, Tensor]:
        starts = torch.randint(len(c.spoken_symbol) - length, (count,), device=run.device)
        return c.mel[windows(2 * starts, 2 * length)], c.spoken_symbol[windows(starts, length)]

    def step() -> Losses:
        mel, symbols = draw(corpus, batch)
        with autocast(run.device):
            losses = model.losses(mel, symbols)
        minimise(made, model, losses["loss"])
        return losses

    def validate(m: nn.Module) -> dict[str, float]:
        count = len(valid.spoken_symbol) // length
        at = torch.arange(max(1, count), device=run.device) * length
        return scalars(m.losses(valid.mel[windows(2 * at, 2 * length)], valid.spoken_symbol[windows(at, length)]))

    train(run, {"tokenizer": model}, "tokenizer", [made], step, validate, 12.0, "loss")


@torch.no_grad()
def tokens_of(model: Tokenizer, corpus: Corpus) -> Tensor:
    """Tokens of the whole flat mel, [tokens]; two minutes at a time with context at both sides."""
    count, parts, size, around = len(corpus.mel) // 2, [], 3000, 50
    for begin in range(0, count, size):
        low, high = max(0, begin - around), min(count, begin + size + around)
        part = model.tokens(corpus.mel[None, 2 * low : 2 * high])[1][0]
        parts.append(part[begin - low : begin - low + min(size, count - begin)])
    return torch.cat(parts)


def load_tokenizer(path: Path, levels: list[int], device: torch.device) -> Tokenizer:
    """The trained tokenizer, in evaluation mode."""
    model = Tokenizer(levels).to(device)
    load_light(model, path, partial=True)  # a packed one holds the encoder alone
    return model.eval()


def train_flow(run: Run, folder: Path, batch: int, levels: list[int]) -> None:
    """Tokens to mel."""
    corpus, valid = load(folder, run.device)
    tokenizer = load_tokenizer(run.folder / "tokenizer.safetensors", levels, run.device)
    known, known_valid = tokens_of(tokenizer, corpus), tokens_of(tokenizer, valid)
    model = Flow(levels).to(run.device)
    made = optimiser(list(model.parameters()), 6e-4, (0.9, 0.98), 0.01, run.device)
    length = 4 * CHUNK_TOKENS

    def step() -> Losses:
        limit = len(known) - length - AHEAD_TOKENS
        starts = torch.randint(limit, (batch,), device=run.device)
        first = corpus.token_starts[torch.randint(len(corpus.token_starts), (batch,), device=run.device)].clamp(
            max=limit - 1
        )
        starts = torch.where(torch.rand(batch, device=run.device) < 0.3, first, starts)
        tokens, mel = known[windows(starts, length + AHEAD_TOKENS)], corpus.mel[windows(2 * starts, 2 * length)]
        with autocast(run.device):
            losses = model.losses(tokens, mel)
        minimise(made, model, losses["loss"])
        return losses

    def validate(m: nn.Module) -> dict[str, float]:
        count = max(1, min(64, (len(known_valid) - AHEAD_TOKENS) // length))
        at = torch.arange(count, device=run.device) * length
        tokens, mel = known_valid[windows(at, length + AHEAD_TOKENS)], valid.mel[windows(2 * at, 2 * length)]
        noise = torch.randn(mel.shape, device=run.device, generator=torch.Generator(run.device).manual_seed(1))
        found = scalars(m.losses(tokens, mel))
        condition = m.encoder(tokens, last=False)
        for steps, guidance in ((4, 0.0), (4, 0.7), (8, 0.7)):
            error = (m.solve(condition, noise, steps, guidance) - mel).abs().mean()
            found[f"solved_{steps}_{guidance}_l1"] = float(error)
        return found

    train(run, {"flow": model}, "flow", [made], step, validate, 25.0, "solved_4_0.0_l1")


def train_decoder(run: Run, folder: Path, batch: int, levels: list[int]) -> None:
    """Phonemes to tokens."""
    corpus, valid = load(folder, run.device)
    tokenizer = load_tokenizer(run.folder / "tokenizer.safetensors", levels, run.device)
    known, known_valid = tokens_of(tokenizer, corpus), tokens_of(tokenizer, valid)
    model = Decoder(levels).to(run.device)
    made = optimiser(list(model.parameters()), 6e-4, (0.9, 0.95), 0.1, run.device)

    def losses_of(m: nn.Module, c: Corpus, tokens: Tensor, rows: Tensor) -> Losses:
        longest = int(longest_of[id(c)])
        at = (windows(c.token_starts[rows], longest)).clamp(max=len(tokens) - 1)
        return m.losses(c.symbols[rows], c.symbol_counts[rows], c.durations[rows], tokens[at], c.token_counts[rows])

    longest_of = {id(c): int(c.token_counts.max()) for c in (corpus, valid)}

    def step() -> Losses:
        rows = torch.randint(len(corpus.token_starts), (batch,), device=run.device)
        with autocast(run.device):
            losses = losses_of(model, corpus, known, rows)
        minimise(made, model, losses["loss"])
        return losses

    def validate(m: nn.Module) -> dict[str, float]:
        return scalars(
            losses_of(m, valid, known_valid, torch.arange(min(128, len(valid.token_starts)), device=run.device))
        )

    train(run, {"decoder": model}, "decoder", [made], step, validate, 10.0, "loss")


def train_vocoder(run: Run, folder: Path, batch: int, compiled: bool) -> None:
    """Mel to sound, against discriminators; maker and judges are updated from the same pass."""
    corpus, valid = load(folder, run.device)
    model, judges = Vocoder().to(run.device), Judges().to(run.device)
    made = optimiser(list(model.parameters()), 5e-4, (0.8, 0.99), 0.01, run.device)
    judged = optimiser(list(judges.parameters()), 3e-4, (0.8, 0.99), 0.01, run.device)
    before, frames = 6, 32  # the first frames warm the causal layers up and are not judged
    length = before + frames
    sound = torch.compile(model.sound) if compiled else model.sound
    judge = torch.compile(judges) if compiled else judges

    def draw(c: Corpus, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mel = c.mel[windows(starts, length + AHEAD_FRAMES)]
        audio = c.audio[windows(starts * HOP, length * HOP)].float() / 32768
        return normalise(mel).transpose(1, 2), c.pitch[windows(starts, length)], audio

    def make(m: Vocoder, mel: Tensor, pitch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        noise = torch.randn(len(mel), length * HOP, 9, device=run.device)
        phase = torch.rand(len(mel), 1, device=run.device, dtype=torch.float64)
        with torch.autocast(run.device.type, enabled=False):
            source = m.source(pitch, noise, {m.source: phase})
        hz, voiced = m.pitch(mel)
        is_voiced = (pitch > 0).float()
        off = ((hz.log() - pitch.clamp(min=50).log()).abs() * is_voiced).sum() / is_voiced.sum().clamp(min=1)
        pitch_loss = off + 0.2 * nn.functional.binary_cross_entropy_with_logits(voiced, is_voiced)
        return source, pitch_loss, off

    def step() -> Losses:
        starts = torch.randint(len(corpus.mel) - length - AHEAD_FRAMES, (batch,), device=run.device)
        mel, pitch, audio = draw(corpus, starts)
        real = audio[:, before * HOP :]
        with autocast(run.device):
            source, pitch_loss, off = make(model, mel, pitch)
            fake = sound(mel, source)[:, before * HOP :]
            verdicts = judge(judges.look(torch.cat([real[: batch // 2], fake[: batch // 2]])))
        spectral = spectral_loss(fake, real)
        verdict_real, verdict_fake = ([[x.chunk(2)[half] for x in layers] for layers in verdicts] for half in (0, 1))
        passing, inner = maker_losses(verdict_real, verdict_fake)
        loss = 20 * spectral + passing + 2 * inner + 5 * pitch_loss
        doubt = judge_loss(verdict_real, verdict_fake)
        judge_weights, make_weights = list(judges.parameters()), list(model.parameters())
        judge_grads = torch.autograd.grad(doubt, judge_weights, retain_graph=True)
        make_grads = torch.autograd.grad(loss, make_weights)
        for weights, grads, opt in ((judge_weights, judge_grads, judged), (make_weights, make_grads, made)):
            for weight, grad in zip(weights, grads, strict=True):
                weight.grad = grad
            nn.utils.clip_grad_norm_(weights, 20.0, foreach=True)
            opt.step()
        return {
            "spectral": spectral.detach(), "passing": passing.detach(), "inner": inner.detach(),
            "doubt": doubt.detach(), "pitch_off": off.detach(),
        }  # fmt: skip

    def validate(m: nn.Module) -> dict[str, float]:
        starts = torch.arange(24, device=run.device) * ((len(valid.mel) - length - AHEAD_FRAMES) // 24)
        mel, pitch, audio = draw(valid, starts)
        raw = mel.transpose(1, 2) * SCALE - 5.0
        noise = torch.randn(
            len(mel), length * HOP, 9, device=run.device, generator=torch.Generator(run.device).manual_seed(1)
        )
        spoken = m.speak(raw, noise)
        hz, voiced = m.pitch(mel)
        both = (pitch > 0) & (voiced > 0)
        return {
            "spectral": float(spectral_loss(spoken[:, before * HOP :], audio[:, before * HOP :])),
            "pitch_off": float((hz[both].log() - pitch[both].log()).abs().mean()),
            "voiced_error": float(((pitch > 0) != (voiced > 0)).float().mean()),
        }

    train(run, {"vocoder": model, "judges": judges}, "vocoder", [made, judged], step, validate)
