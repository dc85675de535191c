"""A model's tokenizer and chat template, read from its folder without transformers, whose import takes seconds.

Templates are programs of strangers: they run in jinja2's sandbox, with what transformers offers them. Knows no
conversation. Entered by whoever builds a session.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from engine.errors import AskedWrongly
from engine.models.pocket.tokenizer_file import open_tokenizer
from engine.models.pocket.words_timelines import one_line, read_config

Message = Mapping[str, str]
_NEEDED = "a folder as transformers saves a model"


class _Generation(Extension):
    """`{% generation %}` marks what a model is trained on; here it is its content."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 wants an attribute of the class

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder; control tokens in a text are text to it.

    Raises:
        AskedWrongly: There is no `tokenizer.json`, or it cannot be read.
    """
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise AskedWrongly(f"{folder.name} has no tokenizer.json", _NEEDED)
    try:
        return open_tokenizer(file)
    except Exception as error:  # tokenizers raises no narrower one
        raise AskedWrongly(f"{folder.name}/{file.name} cannot be read ({one_line(error)})", _NEEDED) from error


class Template:
    """What a folder's chat template makes of messages.

    Args:
        folder: A folder that transformers saved.

    Raises:
        AskedWrongly: The template or the tokenizer's settings cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        named = "tokenizer_config.json"
        settings = read_config(folder, named) if (folder / named).exists() else {}
        self.special = {
            name: text for name, value in settings.items() if name.endswith("_token") and (text := _text(value))
        }
        self._name, source = f"{folder.name}/{named}", settings.get("chat_template")
        if (file := folder / "chat_template.jinja").exists():
            self._name = f"{folder.name}/{file.name}"
            try:
                source = file.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise AskedWrongly(f"{self._name} cannot be read ({one_line(error)})", _NEEDED) from error
        if isinstance(source, list):  # several, by name
            source = next((each["template"] for each in source if each.get("name") == "default"), None)
        self.exists = source is not None
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _raise, "strftime_now": datetime.now().astimezone().strftime}
        try:
            self._template = environment.from_string(source or "")
        except Exception as error:  # a settings file may hold anything in a template's place
            raise self.refused(f"cannot be used ({one_line(error)})") from error

    def render(self, messages: Sequence[Message]) -> str:
        """The text that asks for an answer to `messages`.

        Raises:
            TemplateError: The template refuses such messages.
            AskedWrongly: It fails otherwise.
        """
        try:
            # A model that can think aloud is asked not to: the template of one that cannot ignores the name.
            told = {"messages": messages, "add_generation_prompt": True, "enable_thinking": False}
            return self._template.render(**self.special, tools=None, documents=None, **told)
        except TemplateError:
            raise
        except Exception as error:  # a template is a program
            raise self.refused(f"cannot be used ({one_line(error)})") from error

    def refused(self, what: str) -> AskedWrongly:
        """An error that names the template's file and says `what` it does."""
        return AskedWrongly(f"the chat template in {self._name} {what}", "one that puts each message once")


def _text(token: Any) -> str | None:
    """A special token as settings have it: its text, or an object around that."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise TemplateError(message)
