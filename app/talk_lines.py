"""A live conversation as lines: what changes, what is heard and said, a row of the meter a second, what goes wrong.

Knows no thread and no device: it is shown snapshots, and says of each what is new. Entered by the main thread.
"""

from collections.abc import Callable

from app.live.snapshot import Phase, Snapshot
from engine.cadence import MeterStyle, letters, meter_line, summary
from engine.phrases import printable

SAY_EVERY_S = 5.0  # how often a long wait says how far it is
WHO = {"heard": "you", "said": "agent", "unsaid": "(unsaid)"}


class TalkLines:
    """Tells a conversation.

    Args:
        say: Takes a line of the conversation.
        tell: Takes a line about it.
        style: How the meter's rows are drawn.
        now_s: The clock.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        style: MeterStyle,
        now_s: Callable[[], float],
    ) -> None:
        self._say, self._tell, self._style, self._now_s = say, tell, style, now_s
        self._before = Snapshot()
        self._waiting_for, self._said_s = "", 0.0
        self._units_shown = self._lines_shown = -1
        self._faults = 0
        self._devices = ""
        self._recorded = Snapshot()  # while it was recorded, which may end before the session

    def show(self, now: Snapshot) -> None:
        """Say what is new since the snapshot before."""
        before, self._before = self._before, now
        if now.log != before.log:  # another session
            self._units_shown = self._lines_shown = -1
            self._faults = 0
            self._recorded = now
        if now.recording is not None:
            self._recorded = now
        self._wait(now)
        if now.phase is not before.phase or now.message != before.message:
            self._tell_state(now, before)
        if now.speaker.device and (devices := _devices(now)) != self._devices:
            self._devices = devices
            self._tell(printable(devices))
        self._show_units(now)
        self._show_faults(now)

    def conclude(self) -> None:
        """Say what it came to."""
        last = self._before
        if last.figures is not None:
            self._say("\n" + summary(last.figures) + "\n")
        for name, path in (("log", last.log), ("recording", self._recorded.recording)):
            if path is not None:
                self._say(f"{name:9s} {printable(str(path))}")

    def _wait(self, now: Snapshot) -> None:
        if now.progress is None:
            self._waiting_for = ""
            return
        if now.progress.what != self._waiting_for:
            self._tell(now.progress.what)
        elif self._now_s() - self._said_s >= SAY_EVERY_S:
            share = "" if now.progress.done is None else f"{now.progress.done:.0%}"
            self._tell(", ".join(filter(None, [now.progress.what, share, now.progress.detail])))
        else:
            return
        self._waiting_for, self._said_s = now.progress.what, self._now_s()

    def _tell_state(self, now: Snapshot, before: Snapshot) -> None:
        if now.phase is Phase.TALKING and before.phase is not Phase.TALKING:
            self._tell("talking; Ctrl-C stops")
        elif now.phase is Phase.PAUSED and before.phase is not Phase.PAUSED:
            self._tell("paused; devices are looked for again every few seconds")
        if now.message and now.message != before.message:
            self._tell(printable(now.message))

    def _show_units(self, now: Snapshot) -> None:
        stage_letters = letters(stage.name for stage in now.figures.stages) if now.figures else {}
        for unit in now.units:
            if unit.index <= self._units_shown:
                continue
            self._units_shown = unit.index
            self._say(meter_line(unit, stage_letters, self._style))
            for line in now.lines:
                if self._lines_shown < line.number and line.unit <= unit.index:
                    self._lines_shown = line.number
                    self._say(f"{unit.arrival_ns / 1e9:6.0f} s  {WHO[line.kind]:9s} {printable(line.text)}")

    def _show_faults(self, now: Snapshot) -> None:
        total = now.figures.faults if now.figures else len(now.faults)
        for fault in now.faults[max(0, len(now.faults) - (total - self._faults)) :] if total > self._faults else ():
            place = f" in second {fault.index}" if fault.index is not None else ""
            self._tell(printable(f"fault{place}: {fault.message}"))
        self._faults = max(self._faults, total)


def _devices(now: Snapshot) -> str:
    """What is open, at its own rate and at the model's; empty until the model's are known."""
    if now.header is None:
        return ""
    audio = now.header.audio
    sides = (
        ("microphone", now.microphone, "hears", audio.input_rate_hz),
        ("speaker", now.speaker, "speaks", audio.output_rate_hz),
    )
    return "; ".join(
        f"{side}: {stream.device} at {stream.rate_hz} Hz, the model {does} {rate_hz} Hz"
        if stream.device
        else f"{side}: none"
        for side, stream, does, rate_hz in sides
    )
