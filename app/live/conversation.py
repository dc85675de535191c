"""A live conversation: two threads behind a set of commands, told as frozen snapshots.

[engine] fetches, loads and talks (`engine_room`); [control] opens, exchanges and closes devices (`equipment`). Commands
are entered by any thread and return at once; a stop is done within two seconds, whatever the engine is at.
"""

from collections.abc import Callable
from dataclasses import replace

from app.audio.backend import Backend
from app.audio.devices import Devices
from app.live.ears import Ears
from app.live.engine_room import EngineRoom, Makes
from app.live.equipment import Equipment
from app.live.settings import SettingsFile
from app.live.snapshot import Listened, Phase, Snapshot, Track, Trial
from app.live.standing import Standing
from app.live.worker import Worker

STOP_S = 1.5  # after which an engine that is still at work is not waited for
CLOSE_S = 2.0  # that closing may take

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls something after so many seconds; what it returns calls that off."""


class LiveConversation:
    """Implements `snapshot.Conversation` and `snapshot.DeviceTrials`.

    Args:
        settings: What the user chose; read at each start, and at `apply`.
        makes: What it is made of.
        backend: The sound library.
        engine: The thread that talks.
        control: The thread that does device operations.
        later: Calls something later.
    """

    def __init__(
        self,
        settings: SettingsFile,
        makes: Makes,
        *,
        backend: Backend,
        engine: Worker,
        control: Worker,
        later: Later,
    ) -> None:
        self._settings, self._clock, self._calm = settings, makes.clock, makes.calm
        self._engine, self._control, self._later = engine, control, later
        self._standing, self._ears = Standing(settings.remark), Ears()
        self._equipment = Equipment(backend, control, self._standing.say)
        self._room = EngineRoom(makes, self._standing, self._equipment, self._ears)
        self._call_off: Callable[[], None] = lambda: None
        self._equipment.look()

    def snapshot(self) -> Snapshot:
        state, board, talk = self._standing.state, self._room.board, self._room.talk
        now_ns, told, settings = self._clock.now_ns(), board.told, self._settings.settings
        talking = talk is not None and talk.origin_ns is not None
        seen = replace(
            state,
            now_ns=now_ns - talk.origin_ns if talk is not None and talk.origin_ns is not None else 0,
            units=told.units,
            figures=told.figures,
            running=board.running if talking else None,
            lines=told.lines,
            faults=told.faults,
            paths=told.paths,
            muted=self._ears.muted,
            listening=settings.listening,
            echo=settings.sound.echo,
        )
        if state.listened is not None and (playback := self._room.playback) is not None:
            seen = replace(seen, listened=playback.shown(state.listened))
        if (sound := self._equipment.sound) is None:
            return seen
        hears = talk is not None and state.phase is Phase.TALKING
        return replace(
            seen,
            message=state.message or "; ".join(sound.warnings),
            dead_air_ms=talk.session.waiting.dead_air_ms(now_ns) if talk is not None and hears else 0.0,
            sounding=sound.sounding,
            hearing=hears and sound.hearing,
            echo=sound.echo,
            microphone=sound.microphone,
            speaker=sound.speaker,
        )

    def devices(self) -> Devices:
        return self._equipment.devices

    def start(self) -> None:
        self._begin(Phase.IDLE, Phase.FAILED, Phase.STOPPING)

    def restart(self) -> None:
        self.stop_speaking()
        self._begin(*(phase for phase in Phase if phase not in (Phase.FETCHING, Phase.LOADING)))

    def stop(self) -> None:
        wanted = (Phase.FETCHING, Phase.LOADING, Phase.TALKING, Phase.PAUSED)
        if (ticket := self._standing.draw(Phase.STOPPING, *wanted)) is not None:
            self.stop_speaking()
            self._call_off()
            self._call_off = self._later(STOP_S, lambda: self._give_up(ticket))
            self._engine.post(lambda: self._settle(ticket))

    def mute(self, muted: bool) -> None:
        self._ears.mute(muted)

    def hold(self, held: bool) -> None:
        self._ears.hold(held)

    def stop_speaking(self) -> None:
        if (talk := self._room.talk) is not None:
            talk.session.interrupt()

    def apply(self) -> None:
        settings = self._settings.settings
        self._ears.listen(settings.listening)
        self._equipment.apply(settings.sound)

    def rescan(self) -> None:
        self._equipment.rescan()

    def try_sound(self, trying: bool) -> None:
        if not trying and self._standing.state.trial is None:
            return
        trial = Trial() if trying else None
        ticket, settings = self._standing.draw(Phase.IDLE, Phase.IDLE, Phase.FAILED, trial=trial), self._settings
        if trying and ticket is not None:
            self._engine.post(lambda: self._room.rehearse(settings.settings, ticket))

    def play_test(self) -> None:
        if (rehearsal := self._room.rehearsal) is not None:
            rehearsal.play()

    def listen(self, track: Track | None) -> None:
        if track is None and self._standing.state.listened is None:
            return
        listened = None if track is None else Listened(track.name)
        ticket = self._standing.draw(Phase.IDLE, Phase.IDLE, Phase.FAILED, listened=listened)
        if track is not None and ticket is not None:
            settings = self._settings.settings
            self._engine.post(lambda: self._room.listen(track, settings, ticket))

    def close(self) -> None:
        ticket = self._standing.close()
        self._call_off()
        if not self._engine.close(STOP_S):
            self._give_up(ticket)
        self._control.close(CLOSE_S - STOP_S)
        self._calm.close()
        self._standing.publish(ticket, phase=Phase.IDLE)

    def _begin(self, *wanted: Phase) -> None:
        if (ticket := self._standing.draw(Phase.LOADING, *wanted)) is not None:
            settings = self._settings.settings
            self._engine.post(lambda: self._room.converse(settings, ticket))

    def _settle(self, ticket: int) -> None:
        """All that came before the stop is done [engine]."""
        self._call_off()
        self._standing.publish(ticket, phase=Phase.IDLE, progress=None, message="")

    def _give_up(self, ticket: int) -> None:
        """The engine does not come to an end in time: close for it what must be closed, and leave it to its work."""
        if self._standing.state.phase is not Phase.STOPPING:
            return
        message = "the model goes on loading, and will be there when you start again"
        if (opened := self._room.opened) is not None:
            opened.log.close("stopped")
            message = "the last second's work goes on for a while; nothing of it will be heard"
        if (sound := self._equipment.sound) is not None:
            self._equipment.close(sound)
        self._standing.publish(ticket, phase=Phase.IDLE, progress=None, message=message)
