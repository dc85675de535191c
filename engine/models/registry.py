"""The models that this program knows: name, room, licence, and what each can do here.

Importing it imports no model and no torch: a room is loaded when its plan is asked for, its stages and weights when it
is built. A package from outside registers a model by an entry point of the group `duplexcadence.models`, which names
its `ModelEntry`; see README.md beside this file. Any thread may enter.
"""

import difflib
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import AskedWrongly, BadWeights
from engine.plan import Plan, plan

if TYPE_CHECKING:
    from engine.arena import Arena
    from engine.models.specimen import Specimen
    from engine.models.weights.survey import Survey
    from engine.stage import Timeline
    from engine.step import Model


@dataclass(frozen=True)
class Built:
    """A model with everything that it stands on, not yet prepared.

    Args:
        model: What a session runs.
        arena: The memory that its state lives in.
        runtime: "cadence", "library" or "stock": whose stages it was built from.
        settings: What changes bits or time, for the log's header.
        remarks: Lines that whoever waits should read.
    """

    model: "Model"
    arena: "Arena"
    runtime: str
    settings: Mapping[str, bool | int | float | str | None]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelEntry:
    """One model.

    Args:
        name: As commands take it.
        description: One line.
        licence: Of its released weights.
        duplex: Whether it listens while it speaks, or takes turns.
        input_rate_hz: Of what it hears.
        timelines: `module:function` of its room; called without arguments, it declares the stages.
        script: Units of the default session's plan, as `engine.plan.plan` takes them.
        session_s: Where the default session ends, in seconds; None where nothing needs an end.
        builder: `module:function` of its room, called as `build` is; empty where this version has its plan only.
        survey: `module:function` of its room, called with a folder, tells what it holds of a release without loading
            it (`engine.models.weights.survey.Survey`); empty where no folder can be named.
        config_type: What `model_type` such a folder's `config.json` has.
        trial: `module:function` that tries such a folder's weights on this machine beside the released code; called as
            `engine.bench.unit.trial.try_folder` is.
        specimen: `module:function` of its room, called without arguments: itself at a size that is tried in a second
            (`engine.models.specimen.Specimen`); empty where it has none.
    """

    name: str
    description: str
    licence: str
    duplex: bool
    input_rate_hz: int
    timelines: str
    script: str = "LLSSSF"
    session_s: int | None = None
    builder: str = ""
    survey: str = ""
    config_type: str = ""
    trial: str = ""
    specimen: str = ""

    @property
    def runs(self) -> bool:
        """Whether this version can run it."""
        return bool(self.builder)

    def load_plan(self) -> Plan:
        """Work out the default session's plan; loads the room's declarations, neither torch nor weights."""
        declare: Callable[[], tuple[Timeline, ...]] = _load(self.timelines)
        return plan(declare(), script=self.script, session_s=self.session_s)

    def require_runs(self) -> None:
        """Refuse where this version has its plan only.

        Raises:
            AskedWrongly: It has.
        """
        if not self.runs:
            raise AskedWrongly(
                f"this version cannot run {self.name}, only plan it",
                f"one of {', '.join(entry.name for entry in entries() if entry.runs)}",
                f"see its plan with: duplexcadence plan {self.name}",
            )

    def build(self, runtime: str, **options: Any) -> Built:
        """Build the model on one runtime's stages: its plan, arena and weights.

        Args:
            runtime: "cadence", "library" or "stock".
            options: Of the model's own.

        Raises:
            AskedWrongly: This version has the model's plan only.
            MissingWeights, BadWeights: As `engine.models.weights.locate`.
        """
        self.require_runs()
        builder: Callable[..., Built] = _load(self.builder)
        return builder(runtime, **options)

    def show(self) -> "Specimen":
        """Itself at a size for the laws; loads torch.

        Raises:
            AskedWrongly: It has none.
        """
        if not self.specimen:
            raise AskedWrongly(
                f"{self.name} comes without a specimen to try",
                f"one of {', '.join(entry.name for entry in entries() if entry.specimen)}",
            )
        make: Callable[[], Specimen] = _load(self.specimen)
        return make()

    def try_folder(self, folder: Path, **options: Any) -> Any:
        """A folder's weights beside the released code on this machine; see `trial`.

        Raises:
            AskedWrongly: There is no trial of this model.
            CadenceError: It cannot be held, and why.
        """
        if not self.trial:
            raise AskedWrongly(f"there is no trial of {self.name}", "a model that comes with one")
        return _load(self.trial)(folder, **options)

    def look_over(self, folder: Path) -> "Survey":
        """What a folder holds of this model's release; loads torch, and none of the weights.

        Raises:
            AskedWrongly, MissingWeights, BadWeights: The folder will not do, and why.
        """
        survey: Callable[[Path], Survey] = _load(self.survey)
        return survey(folder)


ENTRIES = (
    ModelEntry(
        name="pocket",
        description="Whisper tiny.en, SmolLM2-135M and a small voice: talks on two CPU cores",
        licence="MIT, Apache-2.0; see each of its weights",
        duplex=True,
        input_rate_hz=16_000,
        timelines="engine.models.pocket.timelines:timelines",
        builder="engine.models.pocket.build:build",
    ),
    ModelEntry(
        name="minicpm-o-4.5",
        description="Qwen3-8B with Whisper-medium, a flow-matching decoder and HiFT",
        licence="Apache-2.0",
        duplex=True,
        input_rate_hz=16_000,
        timelines="engine.models.minicpm_o.timelines:timelines",
        session_s=600,
        survey="engine.models.minicpm_o.surveying:survey",
        config_type="minicpmo",
        trial="engine.bench.unit.trial:try_folder",
        specimen="engine.models.minicpm_o.specimen:specimen",
    ),
    ModelEntry(
        name="step-audio-2-mini",
        description="a language model that emits audio tokens, the same flow-matching decoder and HiFT",
        licence="Apache-2.0",
        duplex=False,
        input_rate_hz=16_000,
        timelines="engine.models.step_audio2.timelines:timelines",
        session_s=600,
    ),
    ModelEntry(
        name="qwen2.5-omni-7b",
        description="a thinker and a talker, block-wise flow matching window by window, and BigVGAN",
        licence="Apache-2.0",
        duplex=False,
        input_rate_hz=16_000,
        timelines="engine.models.qwen2_5_omni.timelines:timelines",
        session_s=600,
        specimen="engine.models.qwen2_5_omni.specimen:specimen",
    ),
    ModelEntry(
        name="qwen3-omni-30b-a3b",
        description="a thinker and a talker of experts, a predictor of 16 codebooks, and a causal decoder",
        licence="Apache-2.0",
        duplex=False,
        input_rate_hz=16_000,
        timelines="engine.models.qwen3_omni.timelines:timelines",
        session_s=600,
        specimen="engine.models.qwen3_omni.specimen:specimen",
    ),
    ModelEntry(
        name="moshi",
        description="Moshi 7B with Mimi, in steps of 80 ms",
        licence="CC-BY-4.0",
        duplex=True,
        input_rate_hz=24_000,
        timelines="engine.models.moshi.timelines:timelines",
        script="S",
    ),
)


GROUP = "duplexcadence.models"


@dataclass(frozen=True)
class Outside:
    """What packages from outside registered.

    Args:
        entries: Their models.
        broken: Why others could not be had, by the name that they were registered under.
    """

    entries: tuple[ModelEntry, ...]
    broken: Mapping[str, str]


def outside() -> Outside:
    """What is registered by entry points; imports the modules that they name, and no others of those packages."""
    found: dict[str, ModelEntry] = {}
    broken: dict[str, str] = {}
    own = {entry.name for entry in ENTRIES}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            entry = point.load()
        except Exception as error:  # noqa: BLE001  a package from outside may raise anything; the others go on
            broken[point.name] = f"{point.value}: {type(error).__name__}: {' '.join(str(error).split())}"
            continue
        if not isinstance(entry, ModelEntry):
            broken[point.name] = f"{point.value} is no ModelEntry"
        elif entry.name != point.name or entry.name != entry.name.lower():
            broken[point.name] = f"{point.value} has the name {entry.name!r}; the entry point's own, in small letters"
        elif entry.name in own or entry.name in found:
            broken[point.name] = f"{point.value} has a name that is taken"
        else:
            found[entry.name] = entry
    return Outside(tuple(found.values()), broken)


def entries() -> tuple[ModelEntry, ...]:
    """Every model: this program's own, then those from outside."""
    return ENTRIES + outside().entries


def find(name: str) -> ModelEntry:
    """The model of that name.

    Raises:
        AskedWrongly: There is none, or what was registered under that name cannot be had.
    """
    for entry in ENTRIES:
        if entry.name == name.lower():
            return entry
    registered = outside()
    for entry in registered.entries:
        if entry.name == name.lower():
            return entry
    if reason := registered.broken.get(name.lower()):
        raise AskedWrongly(f"{name} is registered and cannot be had: {reason}", "", "mend or remove its package")
    names = [entry.name for entry in (*ENTRIES, *registered.entries)]
    near = difflib.get_close_matches(name.lower(), names, 1)
    raise AskedWrongly(
        f"there is no model named {name!r}", f"one of {', '.join(names)}", f"did you mean {near[0]}?" if near else ""
    )


def of_folder(folder: Path) -> ModelEntry:
    """The model whose release a folder seems to hold, by its `config.json`.

    Where that does not tell, it is the first model whose folders can be read: its own survey says what is wrong.

    Raises:
        BadWeights: The folder is of a model that is not known.
    """
    readable = [entry for entry in entries() if entry.survey]
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kind = config["model_type"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return readable[0]
    for entry in readable:
        if entry.config_type == kind:
            return entry
    known = ", ".join(f"{entry.config_type} ({entry.name})" for entry in readable)
    raise BadWeights(f"{folder.name} is of another model: {kind!r}", f"one of {known}")


def _load(name: str) -> Any:
    """What `module:function` names.

    Raises:
        AskedWrongly: There is no such thing: the entry is wrong.
    """
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise AskedWrongly(f"{name} cannot be loaded ({error})", "a module and a function in it, module:function",
                           "correct the model's entry") from error  # fmt: skip
