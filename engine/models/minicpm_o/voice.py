"""A voice to speak in: from a recording through the checkpoint's two networks, or from a file that holds what they say.

The networks (`speech_tokenizer_v2_25hz.onnx`, `campplus.onnx`) run by onnxruntime, once for a voice, on the host. A
voice's file is a safetensors file of `tokens`, `mel`, `speaker` and `heard`; it needs no onnxruntime. The recording is
also what the language model hears of the voice, in its system prompt. Entered by whoever builds a session.

Differences from the released code: it runs the tokenizer's weights through modules of its own, and not the file; and it
resamples a recording by a sinc filter of torchaudio's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from engine.errors import AskedWrongly, BadWeights, MissingPart
from engine.models.minicpm_o.timelines import INPUT_HZ
from engine.models.minicpm_o.voice_features import PROMPT_HZ, filter_bank, prompt_mel, tokenizer_mel
from engine.models.token2wav.sizes import Token2WavSizes
from engine.models.token2wav.timelines import FRAMES_A_TOKEN, prompt_tokens
from engine.models.token2wav.unit import VoicePrompt

SUFFIX = ".safetensors"
SHORTEST_S, LONGEST_S = 1.0, 20.0
_NEEDED = f"a recording of {SHORTEST_S:.0f} to {LONGEST_S:.0f} s"
Read = Callable[[Path, int], NDArray[np.float32]]  # a recording at a rate, float32 mono `[samples]`


@dataclass(frozen=True)
class Voice:
    """A voice.

    Args:
        name: What to call it; no path.
        prompt: What token2wav goes on from, on the host.
        heard: The recording at 16 kHz, float32 `[samples]`.
    """

    name: str
    prompt: VoicePrompt
    heard: Tensor


def open_voice(path: Path, read: Read, networks: tuple[Path, Path], sizes: Token2WavSizes) -> Voice:
    """The voice of a recording, or of a voice's file.

    Args:
        path: The recording, or a file that ends in `.safetensors`.
        read: Reads a recording.
        networks: The speaker's and the tokenizer's.
        sizes: Of the token2wav that will speak.

    Raises:
        AskedWrongly: There is no such file, or it is too short or too long.
        BadWeights: The file, or a network, is none, or of another token2wav.
        MissingPart: It is a recording, and onnxruntime is not installed.
    """
    if not path.is_file():
        raise AskedWrongly(f"there is no voice {path}", f"{_NEEDED}, or a voice's file ({SUFFIX})")
    if path.suffix == SUFFIX:
        return _fitting(_read_file(path), sizes)
    return _fitting(_of_recording(path, read, networks), sizes)


def save_voice(voice: Voice, path: Path) -> None:
    """Write a voice's file."""
    prompt = voice.prompt
    save_file({"tokens": prompt.tokens, "mel": prompt.mel, "speaker": prompt.speaker, "heard": voice.heard}, path)


def _read_file(path: Path) -> Voice:
    try:
        found = load_file(path)
        parts = {name: found[name] for name in ("tokens", "mel", "speaker", "heard")}
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{path.name} is no voice: {reason}", "tokens, mel, speaker and heard") from error
    if parts["tokens"].dtype != torch.int64 or any(
        parts[name].dtype != torch.float32 for name in ("mel", "speaker", "heard")
    ):
        raise BadWeights(f"{path.name} holds a voice of other types", "tokens in int64, all else in float32")
    return Voice(path.stem, VoicePrompt(parts["tokens"], parts["mel"], parts["speaker"]), parts["heard"])


def _of_recording(path: Path, read: Read, networks: tuple[Path, Path]) -> Voice:
    speaker_network, tokenizer = networks
    heard, wide = (torch.from_numpy(read(path, rate)) for rate in (INPUT_HZ, PROMPT_HZ))
    _refuse_length(path.name, len(heard))
    (found,) = _run(speaker_network, filter_bank(heard).numpy())
    speaker = torch.as_tensor(found).float()
    mel = tokenizer_mel(heard)
    (codes,) = _run(tokenizer, mel.numpy(), np.array([mel.shape[2]], np.int32))
    tokens = torch.as_tensor(codes).to(torch.int64).reshape(1, -1)
    return Voice(path.stem, VoicePrompt(tokens, prompt_mel(wide, FRAMES_A_TOKEN * tokens.shape[1]), speaker), heard)


def _run(network: Path, *inputs: NDArray[Any]) -> list[NDArray[Any]]:
    """A network's first answer, on the host.

    Raises:
        MissingPart: onnxruntime is not installed.
        BadWeights: The network cannot be run.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingPart(
            "a voice is made of a recording by onnxruntime, which is not installed",
            f"onnxruntime, or a voice's file ({SUFFIX})",
            "pip install onnxruntime",
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        found: list[NDArray[Any]] = session.run(None, dict(zip(names, inputs, strict=True)))[:1]
    except Exception as error:  # the library's own have no common base
        reason = str(error).split("\n", 1)[0]
        raise BadWeights(f"{network.name} cannot be run: {reason}", "the released network") from error
    return found


def _refuse_length(name: str, samples: int) -> None:
    if not SHORTEST_S <= samples / INPUT_HZ <= LONGEST_S:
        raise AskedWrongly(f"{name} lasts {samples / INPUT_HZ:.1f} s", _NEEDED, "cut it, or record another")


def _fitting(voice: Voice, sizes: Token2WavSizes) -> Voice:
    """The voice, once it fits a token2wav."""
    prompt, flow = voice.prompt, sizes.flow
    if voice.heard.dim() != 1:
        raise BadWeights(f"{voice.name} was heard as {list(voice.heard.shape)}", "samples alone")
    _refuse_length(voice.name, len(voice.heard))
    count = prompt.tokens.shape[-1]
    came = tuple(list(each.shape) for each in (prompt.tokens, prompt.mel, prompt.speaker))
    needed = [1, count], [1, FRAMES_A_TOKEN * count, sizes.vocoder.mels], [1, flow.speaker]
    if came != needed or count != prompt_tokens(len(voice.heard)):
        raise BadWeights(
            f"{voice.name} is tokens {came[0]}, mel {came[1]}, speaker {came[2]}",
            f"{needed[0]}, {needed[1]} and {needed[2]}, {prompt_tokens(len(voice.heard))} tokens for its length",
        )
    if not bool(((prompt.tokens >= 0) & (prompt.tokens < flow.vocabulary)).all()):
        raise BadWeights(f"{voice.name} holds tokens that are none", f"numbers below {flow.vocabulary}")
    if not all(bool(each.isfinite().all()) for each in (prompt.mel, prompt.speaker, voice.heard)):
        raise BadWeights(f"{voice.name} holds numbers that are not finite", "a voice")
    return voice
