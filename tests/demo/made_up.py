"""A demo that never ran: three runtimes' logs over three rounds, replies, and the conversation."""

from pathlib import Path

import numpy as np
import soundfile

from app.demo.course import Held
from app.demo.files import CONVERSATION, log_path, reply_path
from engine.timing import AudioRecord, AudioSetup, Record, SessionHeader, Transcript
from tests.fakes import tone
from tests.made_up_sessions import header, unit, write

WORK_MS = {"stock": 2600.0, "library": 560.0, "cadence": 480.0}
VOICE = {"stock": b"whole", "library": b"clause", "cadence": b"clause"}


def head(runtime: str, *, realtime: bool) -> SessionHeader:
    made = header(runtime=runtime, device="cpu x86_64, 2 cores <b>")
    settings = {"torch_threads": 2 if runtime == "stock" else 1}
    audio = AudioSetup(input_rate_hz=16_000, output_rate_hz=24_000, source=CONVERSATION, realtime=realtime)
    return SessionHeader(
        model=made.model,
        runtime=runtime,
        device=made.device,
        wall_clock=made.wall_clock,
        versions=made.versions,
        audio=audio,
        plan=made.plan,
        settings=settings,
    )


def records(runtime: str, extra_ms: float = 0.0) -> list[Record]:
    """A question, an answer of two seconds, its end."""
    work = [("hearing", 60.0), ("words", WORK_MS[runtime] + extra_ms), ("voice", 90.0)]
    first = unit(2, "SPEAK", work)
    late_ms = max(0.0, -first.slack_ms)
    begins = unit(
        2,
        "SPEAK",
        work,
        response_delay_ms=1100.0 + late_ms,
        voice=VOICE[runtime],
        rss=(1700 if runtime != "cadence" else 900) << 20,
        audio=AudioRecord(playout_ms=1000.0, gap_ms=late_ms, underflows=int(late_ms > 0)),
    )
    ends_ns = max(begins.deadline_ns, begins.finish_ns) + 1_000_000_000
    going_on = unit(3, "SPEAK", late_ms=late_ms, voice=b"on")
    left_ms = max(0, ends_ns - going_on.finish_ns) / 1e6
    going_on = unit(3, "SPEAK", late_ms=late_ms, voice=b"on", audio=AudioRecord(playout_ms=left_ms + 1000.0))
    said = Transcript(index=2, who="agent", text="Paris & <i>rain</i>.", kind="said", source="model")
    return [unit(0), unit(1), begins, going_on, said, unit(7, "FLUSH")]


def made_demo(folder: Path, rounds: int = 3) -> list[Held]:
    """Its files, and what the course would have said of them."""
    soundfile.write(folder / CONVERSATION, 0.2 * tone(2.5, 16_000), 16_000)
    held = []
    for runtime in WORK_MS:
        logs = tuple(log_path(folder, runtime, number) for number in range(1, rounds + 1))
        for number, log in enumerate(logs):
            write(log, records(runtime, 20.0 * number), head(runtime, realtime=number == 0), transcript=True)
        reply = np.concatenate([np.zeros(72_000, np.float32), tone(2.0)])
        soundfile.write(reply_path(folder, runtime), reply, 24_000)
        held.append(Held(runtime, logs, reply_path(folder, runtime), (0.02,) * rounds))
    return held
