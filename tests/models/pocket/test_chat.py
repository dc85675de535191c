import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from engine.errors import AskedWrongly
from engine.models.pocket.chat import EXAMPLES as EXAMPLES_OF_OURS
from engine.models.pocket.chat import INSTRUCTIONS, Chat
from engine.models.pocket.words_timelines import MAX_QUESTION_TOKENS
from tests.models.pocket import made_up_language

NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + (
    made_up_language.CHAT_TEMPLATE
)
EXAMPLES = [("What is the mat?", "the mat is a cat.")]
TEMPLATES = {"chat": made_up_language.CHAT_TEMPLATE, "no system": NO_SYSTEM, "none": None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, template in TEMPLATES.items():
        made[name] = tmp_path_factory.mktemp("chat")
        (made[name] / "config.json").write_text(json.dumps({"eos_token_id": 2, "model_type": "llama"}))
        made_up_language.save_tokenizer(made[name], template)
    return made


@pytest.fixture(scope="module")
def chats(folders: dict[str, Path]) -> dict[str, Chat]:
    return {name: Chat(folder, "Be brief.", EXAMPLES) for name, folder in folders.items()}


TURNS = (
    "What is the mat?<|im_end|>\n<|im_start|>assistant\nthe mat is a cat.<|im_end|>\n"
    "<|im_start|>user\nTell me about rain.<|im_end|>\n<|im_start|>assistant\n"
)
ASKED = {
    "chat": f"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n{TURNS}",
    "no system": f"<|im_start|>user\nBe brief.\n\n{TURNS}",
    "none": "Be brief.\n\nQuestion: What is the mat?\nAnswer: the mat is a cat.\n\n"
    "Question: Tell me about rain.\nAnswer:",
}


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_what_is_kept_and_the_question_make_the_whole_prompt(chats: dict[str, Chat], template: str) -> None:
    chat = chats[template]
    whole = made_up_language.tokenizer().encode(ASKED[template]).ids
    assert [*chat.kept, *chat.question(" Tell me about rain. ")] == whole
    assert len(chat.kept) > len(whole) // 2


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=400))
def test_of_a_long_speech_the_end_is_asked(chats: dict[str, Chat], text: str) -> None:
    for chat in chats.values():
        question = chat.question(text)
        assert len(question) <= MAX_QUESTION_TOKENS
        after = chat.question("")[1 if chat is chats["none"] else 0 :]
        assert question[len(question) - len(after) :] == after
        space = " " if chat is chats["none"] else ""
        asked = made_up_language.tokenizer().encode(space + text.strip(), add_special_tokens=False).ids
        assert asked[len(asked) - (len(question) - len(after)) :] == question[: len(question) - len(after)]


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=60), st.integers(0, 60))
def test_tokens_said_piece_by_piece_are_the_text(chats: dict[str, Chat], text: str, cut: int) -> None:
    chat, tokens = chats["chat"], made_up_language.tokenizer().encode(text, add_special_tokens=False).ids
    assert chat.text(tokens[:cut]) + chat.text(tokens[cut:]) == chat.text(tokens)


def test_text_keeps_the_space_before_it_and_no_control_token(chats: dict[str, Chat]) -> None:
    encode = made_up_language.tokenizer().encode
    assert chats["chat"].text(encode(" the cat").ids) == " the cat"
    assert chats["chat"].text(encode("cat<|im_end|>").ids) == "cat"


def test_what_a_user_says_holds_no_control_token(chats: dict[str, Chat]) -> None:
    chat = chats["chat"]
    spoken, after = chat.question("the<|im_end|>cat"), chat.question("")
    assert not set(spoken[: len(spoken) - len(after)]) & {0, 1, 2}
    assert chat.text(spoken[: len(spoken) - len(after)]) == "the<|im_end|>cat"


def test_ends_are_those_of_every_settings_file(folders: dict[str, Path], tmp_path: Path) -> None:
    assert Chat(folders["chat"]).ends == {2}
    made_up_language.save_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "eos_token_id": [7]}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [9, 11]}))
    assert Chat(tmp_path).ends == {2, 7, 9, 11}


def test_a_folder_without_a_tokenizer_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(AskedWrongly, match=r"has no tokenizer\.json"):
        Chat(tmp_path)


def test_a_tokenizer_with_code_of_its_own_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass Evil: pass\n")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}})
    )
    with pytest.raises(AskedWrongly, match=r"has no tokenizer\.json"):
        Chat(tmp_path)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{% for message in messages %}", "cannot be used"),
        ("{{ messages[0].content.nothing.more }}", "refuses a conversation"),
        ("{{ 1 / 0 }}", "cannot be used"),
        ("{{ raise_exception('never') }}", r"refuses a conversation \(never\)"),
        ("{{ messages[0].content }}", "drops the question"),
        ("{{ messages[-1].content }} {{ messages[-1].content }}", "repeats the question"),
        ("{{ ''.__class__.__mro__ }}", "refuses a conversation"),
        (7, "cannot be used"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_template_that_cannot_be_used_is_told_of(tmp_path: Path, template: str | int, why: str, apart: bool) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    made_up_language.save_tokenizer(tmp_path, template if not apart else None)
    if apart:
        (tmp_path / "chat_template.jinja").write_text(str(template))
    if apart and template == 7:
        why = "drops the question"
    file = "chat_template.jinja" if apart else "tokenizer_config.json"
    with pytest.raises(AskedWrongly, match=f"{tmp_path.name}/{file} {why}") as told:
        Chat(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_a_file_that_cannot_be_read_is_named(folders: dict[str, Path], tmp_path: Path, file: str) -> None:
    shutil.copytree(folders["chat"], tmp_path, dirs_exist_ok=True)
    (tmp_path / file).write_bytes(b"{" + (tmp_path / file).read_bytes())
    with pytest.raises(AskedWrongly, match=f"{tmp_path.name}/{file} cannot be read"):
        Chat(tmp_path)


def test_a_template_may_mark_what_is_generated_and_leave_a_loop(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    marked = "{{ eos_token }}{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}"
    made_up_language.save_tokenizer(tmp_path, marked + "{% if loop.last %}{% break %}{% endif %}{% endfor %}")
    chat = Chat(tmp_path, "Be brief.", [])
    assert [*chat.kept, *chat.question("the cat")] == made_up_language.tokenizer().encode(
        "<|im_end|>Be brief.the cat"
    ).ids


def check_equals_transformers(folder: Path) -> None:
    tokenizer, chat = AutoTokenizer.from_pretrained(folder), Chat(folder)
    turns = [*EXAMPLES_OF_OURS, ("How far is the moon?", "")]
    said = [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    messages = [{"role": "system", "content": INSTRUCTIONS}, *said[:-1]]
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=False)
    tokens = tokenizer.encode(whole, add_special_tokens=False)
    assert [*chat.kept, *chat.question("How far is the moon?")] == tokens
    assert tokenizer.eos_token_id in chat.ends
    assert chat.text(tokens[4:60]) == tokenizer.decode(tokens[4:60], skip_special_tokens=True)


def test_equals_transformers(folders: dict[str, Path]) -> None:
    check_equals_transformers(folders["chat"])


@pytest.mark.weights("pocket-smollm2")
@pytest.mark.slow
def test_equals_transformers_as_released(weights_dir: Callable[[str], Path]) -> None:
    check_equals_transformers(weights_dir("pocket-smollm2"))


def test_reading_a_folder_needs_no_transformers(folders: dict[str, Path]) -> None:
    program = (
        "import sys; from pathlib import Path; import engine.models.pocket.build;"
        "from engine.models.pocket.chat import Chat;"
        "Chat(Path(sys.argv[1])); sys.exit('transformers' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(folders["chat"])], check=True)
