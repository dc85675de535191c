"""Any recording is heard or refused in one line; nothing half-written is left behind."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from app.audio_file import ReplyFile, SpeechFile
from engine.errors import BadAudio, CadenceError, NoRoom

RATE = 16000


def tone(seconds: float, rate: int, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 440 * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def write(path: Path, samples: np.ndarray, rate: int, subtype: str | None = "FLOAT") -> Path:
    soundfile.write(path, samples, rate, subtype=subtype)
    return path


def heard(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    speech = SpeechFile(path, RATE)
    samples = np.concatenate(list(speech.blocks()))
    return samples, speech.remarks


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize(("rate", "channels"), [(8000, 1), (16000, 1), (44100, 2), (48000, 1), (96000, 8)])
def test_every_format_is_heard_at_the_models_rate(tmp_path: Path, subtype: str, rate: int, channels: int) -> None:
    source = np.tile(tone(1.3, rate)[:, None], (1, channels))
    samples, remarks = heard(write(tmp_path / "a.wav", source, rate, subtype))
    assert abs(len(samples) - 1.3 * RATE) <= 2
    assert samples.dtype == np.float32
    middle = samples[RATE // 4 : RATE]
    assert np.abs(middle - tone(1.3, RATE)[RATE // 4 : RATE]).max() < 0.02
    assert remarks == ()


def test_blocks_join_as_if_read_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    source = np.clip(rng.normal(0, 0.1, 16000 * 3 + 77), -1, 1).astype(np.float32)
    samples, _ = heard(write(tmp_path / "a.wav", source, RATE))
    assert len(samples) == len(source)
    assert np.abs(samples - source).max() < 0.01  # what the offset's removal may move


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("text.wav", b"this is not audio", "cannot be read as audio"),
        ("empty.wav", b"", "cannot be read as audio"),
        ("cut.wav", b"RIFF\x24\x00\x00\x00WAVE", "cannot be read as audio"),
    ],
)
def test_what_is_no_audio_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadAudio, match=says) as caught:
        SpeechFile(tmp_path / name, RATE)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_folder_or_nothing_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.wav"):
        with pytest.raises(BadAudio, match="is not a file"):
            SpeechFile(path, RATE)


def test_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadAudio, match=r"holds 0\.00 s"):
        SpeechFile(write(tmp_path / "a.wav", np.zeros(0, np.float32), RATE), RATE)


def test_not_a_number_becomes_silence_and_is_said(tmp_path: Path) -> None:
    source = tone(1, RATE)
    source[5000:5010] = np.nan
    source[6000] = np.inf
    samples, remarks = heard(write(tmp_path / "a.wav", source, RATE))
    assert np.isfinite(samples).all()
    assert remarks == ("a.wav: 11 samples were not numbers and became silence",)


def test_zeros_clipping_and_offset_are_said(tmp_path: Path) -> None:
    _, zeros = heard(write(tmp_path / "zeros.wav", np.zeros(RATE, np.float32), RATE))
    assert "only zeros" in zeros[0]
    _, clipped = heard(write(tmp_path / "clipped.wav", np.clip(tone(1, RATE, 4.0), -1, 1), RATE))
    assert "is clipped in" in clipped[0]
    samples, offset = heard(write(tmp_path / "offset.wav", tone(3, RATE, 0.2) + np.float32(0.3), RATE))
    assert "constant offset of +0.30" in offset[0]
    assert abs(float(samples[RATE:].mean())) < 0.01


@pytest.mark.parametrize("hz", [40, 100])
def test_what_sounds_low_stays(tmp_path: Path, hz: int) -> None:
    source = (0.3 * np.sin(2 * np.pi * hz * np.arange(RATE * 5 // 2) / RATE)).astype(np.float32)
    samples, _ = heard(write(tmp_path / "low.wav", source, RATE))
    assert np.abs(samples - source).max() < 0.01


def test_an_offset_that_drifts_is_followed(tmp_path: Path) -> None:
    drift = np.linspace(0.0, 0.5, RATE * 10, dtype=np.float32)
    samples, _ = heard(write(tmp_path / "drift.wav", drift, RATE))
    assert np.abs(samples).max() < 0.1


def damaged(path: Path) -> Path:
    """Ten seconds of noise, spoilt in the middle."""
    whole = write(path, np.random.default_rng(0).normal(0, 0.1, RATE * 10), RATE, None).read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:half] + bytes(4000) + whole[half + 4000 :])
    return path


def test_where_a_file_is_damaged_is_said(tmp_path: Path) -> None:
    speech, blocks = SpeechFile(damaged(tmp_path / "a.flac"), RATE), list[np.ndarray]()
    with pytest.raises(BadAudio, match=r"a\.flac is damaged after [3-6] s \(") as caught:
        blocks.extend(speech.blocks())
    assert "\n" not in str(caught.value)
    assert blocks


def test_what_a_damaged_file_lacks_is_said(tmp_path: Path) -> None:
    samples, remarks = heard(damaged(tmp_path / "a.ogg"))
    lost = re.search(r"damaged: (\d\.\d) s of it could not be read", remarks[0])
    assert lost is not None
    assert abs(float(lost[1]) - (10 - len(samples) / RATE)) <= 0.1


def test_a_rate_without_speech_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadAudio, match="1000 samples a second; needed: at least 4000"):
        SpeechFile(write(tmp_path / "a.wav", tone(1, 1000), 1000), RATE)


def test_channels_that_cancel_each_other_are_said(tmp_path: Path) -> None:
    left = tone(1, RATE)
    _, opposed = heard(write(tmp_path / "a.wav", np.stack([left, -left], axis=1), RATE))
    assert "cancel each other out" in opposed[0]
    _, one_sided = heard(write(tmp_path / "b.wav", np.stack([left, 0 * left], axis=1), RATE))
    assert one_sided == ()


def test_any_name_will_do(tmp_path: Path) -> None:
    name = tmp_path / os.fsdecode(b"what \xff is\nthis.wav")
    reply = ReplyFile(name, RATE)
    reply.write(tone(1, RATE))
    reply.close()
    assert len(heard(name)[0]) == RATE


def test_a_reply_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "reply.wav"
    reply = ReplyFile(path, 24000)
    reply.write(tone(1, 24000))
    assert not path.exists()
    reply.close()
    assert reply.kept
    assert soundfile.info(path).frames == 24000
    again = ReplyFile(path, 24000)
    again.write(tone(0.1, 24000))
    again.discard()
    assert soundfile.info(path).frames == 24000
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("sounded_s", "kept_s"), [(0.5, 0.5), (0.0, 1.0)])
def test_a_session_that_ends_early_keeps_what_sounded(tmp_path: Path, sounded_s: float, kept_s: float) -> None:
    path = write(tmp_path / "reply.wav", tone(1, 24000), 24000)

    def session() -> None:
        with ReplyFile(path, 24000) as reply:
            if sounded_s:
                reply.write(tone(sounded_s, 24000))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session()
    assert soundfile.info(path).duration == kept_s
    assert list(tmp_path.iterdir()) == [path]


def test_a_reply_that_fills_the_disk_is_one_line_and_spares_the_older_one(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system cannot limit a file's size")
    path = write(tmp_path / "reply.wav", tone(1, 24000), 24000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def session() -> None:
        with ReplyFile(path, 24000) as reply:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
            for _ in range(10):
                reply.write(tone(1, 24000))

    try:
        with pytest.raises(NoRoom, match="cannot be written") as caught:
            session()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert soundfile.info(path).frames == 24000
    assert list(tmp_path.iterdir()) == [path]


def test_a_reply_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NoRoom) as caught:
        ReplyFile(tmp_path / "file" / "reply.wav", 24000)
    assert isinstance(caught.value, CadenceError)
    assert "\n" not in str(caught.value)
