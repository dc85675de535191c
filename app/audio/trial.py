"""Tries a microphone, a speaker, and whether one hears the other, before anyone talks: what a set-up page shows.

Each trial takes an open Sound that no session uses, pumps it itself, and returns what it found with a line for people.
Levels can be watched meanwhile, in the Sound's states. Entered by one thread, [control] and [engine] at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.audio import echo
from app.audio.sound import Sound
from app.audio.state import EchoMode
from engine.clock import NS, Clock
from engine.errors import CadenceError
from engine.ring import Samples

Going = Callable[[], bool]
"""Asked every 10 ms whether to go on; a trial that is given up returns what it has."""

ROUND_NS = 10_000_000
PATIENCE_S = 3.0  # beyond what is listened for: a microphone's clock is known after a second
QUIET_LEVEL = 0.003  # -50 dB: less is a room without a voice
NOTES_HZ = (523.25, 659.25, 783.99)  # a chord, note by note
NOTE_S = 0.35
SWEEP_S, SWEEP_HZ = 1.0, (300.0, 3000.0)  # what a small speaker sounds and a voice needs
SWEEPS = 2
TEST_LEVEL = 0.25
LONGEST_ECHO_S = 0.6
HEARD_ALIKE = 0.1  # correlation from which a sweep is told from a room's noise: chance gives a twentieth
FAINT_DB = -45.0  # less of what was sounded is not taken for a voice


def go_on() -> bool:
    """Nobody gives up."""
    return True


@dataclass(frozen=True)
class MicrophoneTrial:
    """What a microphone heard.

    Args:
        peak: 0 to 1.
        rms: 0 to 1.
        good: Whether a voice of that level can be understood.
        line: For people.
    """

    peak: float
    rms: float
    good: bool
    line: str


@dataclass(frozen=True)
class EchoTrial:
    """What of the speaker the microphone heard.

    Args:
        heard: Whether anything.
        loudness_db: Of what came back, against what was sounded.
        delay_ms: How much later it came back than the drivers' latencies say.
        recommended: What keeps the agent from hearing itself here.
        line: For people.
    """

    heard: bool
    loudness_db: float
    delay_ms: float
    recommended: EchoMode
    line: str


def try_microphone(sound: Sound, clock: Clock, seconds: float = 4.0, going: Going = go_on) -> MicrophoneTrial:
    """Listen while someone speaks."""
    name = sound.microphone.device
    user, _ = _listen(sound, clock, seconds, going)
    peak, rms = float(np.max(np.abs(user), initial=0.0)), float(np.sqrt(np.mean(user**2))) if len(user) else 0.0
    if not len(user) or sound.microphone.lost:
        return MicrophoneTrial(peak, rms, False, f"'{name}' does not deliver any sound; choose another, or look again")
    if not user.any():
        line = f"'{name}' gives nothing but zeros; see whether it is muted, and whether this program may use it"
        return MicrophoneTrial(peak, rms, False, line)
    if peak < QUIET_LEVEL:
        return MicrophoneTrial(peak, rms, False, f"'{name}' hears next to nothing; speak, come closer, or turn it up")
    if sound.microphone.clipped or peak > 0.99:
        return MicrophoneTrial(peak, rms, False, f"'{name}' is too loud and distorts; turn it down")
    return MicrophoneTrial(peak, rms, True, f"'{name}' hears you well")


def try_speaker(sound: Sound, clock: Clock, going: Going = go_on) -> str:
    """Sound three notes; returns a line that asks whether they were heard."""
    at = np.arange(round(NOTE_S * sound.voice.rate_hz)) / sound.voice.rate_hz
    fade = np.minimum(1.0, np.minimum(at, at[::-1]) / 0.02)
    notes = [TEST_LEVEL * fade * np.sin(2 * np.pi * hz * at) for hz in NOTES_HZ]
    _sound_out(sound, clock, np.concatenate(notes).astype(np.float32), going)
    name = sound.speaker.device
    if sound.speaker.lost:
        return f"'{name}' is gone; choose another, or look again"
    return f"three notes were sounded on '{name}'; where you heard none, choose another or turn it up"


def try_echo(sound: Sound, clock: Clock, going: Going = go_on) -> EchoTrial:
    """Sound two sweeps and look for them in what the microphone hears; the echo mode is set aside meanwhile."""
    mode = sound.echo
    sound.set_echo(EchoMode.HEADPHONES)
    try:
        sound.pump()
        length_s = SWEEPS * SWEEP_S + LONGEST_ECHO_S + sound.voice.lead_ns / NS
        sound.voice.push(_sweeps(sound.voice.rate_hz), clock.now_ns() + sound.voice.lead_ns)
        user, agent = _listen(sound, clock, length_s, going)
    finally:
        sound.voice.flush(clock.now_ns())
        sound.set_echo(mode)
    return _judge(user, agent, sound.input_rate_hz)


def _judge(user: Samples, agent: Samples, rate_hz: int) -> EchoTrial:
    alike, delay, loudness_db = _compare(user, agent, round(LONGEST_ECHO_S * rate_hz))
    delay_ms = 1e3 * delay / rate_hz
    if not agent.any():
        line = "nothing was sounded, so nothing can be said of the echo; test the speaker first"
        return EchoTrial(False, loudness_db, delay_ms, EchoMode.HALF_DUPLEX, line)
    if alike < HEARD_ALIKE or loudness_db < FAINT_DB:
        line = "the microphone does not hear the speaker: headphones it is, and you can talk over the agent"
        return EchoTrial(False, loudness_db, delay_ms, EchoMode.HEADPHONES, line)
    came_back = f"the microphone hears the speaker ({loudness_db:.0f} dB, {delay_ms:.0f} ms later)"
    try:
        echo.check()
    except CadenceError:
        line = f"{came_back}: use headphones; else the microphone is closed while the agent speaks (half-duplex)"
        return EchoTrial(True, loudness_db, delay_ms, EchoMode.HALF_DUPLEX, line)
    line = f"{came_back}: the canceller takes it away; headphones are better still"
    return EchoTrial(True, loudness_db, delay_ms, EchoMode.CANCELLER, line)


def _compare(user: Samples, agent: Samples, longest: int) -> tuple[float, int, float]:
    """How alike both sides are at the delay where they are most, that delay, and the echo's loudness in dB."""
    size = len(agent)
    if not size or not agent.any() or not user.any():
        return 0.0, 0, -120.0
    spectra = np.fft.rfft(user, 2 * size) * np.conj(np.fft.rfft(agent, 2 * size))
    alike = np.fft.irfft(spectra)[: min(longest, size)]  # [delays]
    delay = int(np.argmax(np.abs(alike)))
    agent_energy, user_energy = float(np.dot(agent, agent)), float(np.dot(user, user))
    likeness = abs(float(alike[delay])) / np.sqrt(agent_energy * user_energy)
    return likeness, delay, 10 * float(np.log10(max(likeness**2 * user_energy / agent_energy, 1e-12)))


def _sweeps(rate_hz: int) -> Samples:
    at = np.arange(round(SWEEP_S * rate_hz)) / rate_hz
    low, high = SWEEP_HZ
    phase = 2 * np.pi * (low * at + (high - low) * at**2 / (2 * SWEEP_S))
    fade = np.minimum(1.0, np.minimum(at, at[::-1]) / 0.05)
    sweep: Samples = (TEST_LEVEL * fade * np.sin(phase)).astype(np.float32)
    return np.tile(sweep, SWEEPS)


def _sound_out(sound: Sound, clock: Clock, samples: Samples, going: Going) -> None:
    sound.pump()
    sound.voice.push(samples, clock.now_ns() + sound.voice.lead_ns)
    end_ns = clock.now_ns() + sound.voice.lead_ns + len(samples) * NS // sound.voice.rate_hz + NS // 5
    while clock.now_ns() < end_ns and going():
        sound.pump()
        clock.sleep_until_ns(clock.now_ns() + ROUND_NS)
    sound.voice.flush(clock.now_ns())


def _listen(sound: Sound, clock: Clock, seconds: float, going: Going) -> tuple[Samples, Samples]:
    """Both sides of the next seconds, beside each other."""
    sides: list[tuple[Samples, Samples]] = []
    sound.begin(sound.input_rate_hz)
    sound.tap = lambda user, agent: sides.append((user.copy(), agent.copy()))
    needed, end_ns = round(seconds * sound.input_rate_hz), clock.now_ns() + round((seconds + PATIENCE_S) * NS)
    try:
        while sum(len(user) for user, _ in sides) < needed and clock.now_ns() < end_ns and going():
            clock.sleep_until_ns(clock.now_ns() + ROUND_NS)
            sound.pump()
            sound.skip()
    finally:
        sound.tap = None
    none: Samples = np.zeros(0, np.float32)
    user, agent = (np.concatenate([none, *(side[which] for side in sides)])[:needed] for which in (0, 1))
    return user, agent
