"""Writes golden.json: what the reference Jinja renders for the templates of this folder.

Run with Jinja2 3.1: `python3 generate.py > golden.json`. The settings, functions and filters are those of Hugging
Face's `apply_chat_template`.
"""

import json
import pathlib
import random
from datetime import datetime, timezone

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = 1_700_000_000
FOLDER = pathlib.Path(__file__).parent


class Generation(jinja2.ext.Extension):
    """`{% generation %}`: a scope of its own, as the marker of training text is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("text"), [], [], body).set_lineno(line)

    def text(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    now = datetime.fromtimestamp(NOW, timezone.utc)
    env.globals["strftime_now"] = now.strftime
    return env


TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Wetter für <Ort> & 'Zeit'",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Köln", "日本"]}, "days": {"type": "integer", "max": 1.5}},
            "required": ["city"],
        },
    },
}
CALL = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2, "raw": True}}}


def conversations():
    """Conversations that exercise every branch, then random ones."""
    user = lambda text: {"role": "user", "content": text}
    assistant = lambda text, **more: {"role": "assistant", "content": text, **more}
    system = lambda text: {"role": "system", "content": text}
    tool = lambda text: {"role": "tool", "content": text}
    yield [user("Hi")]
    yield [user("  spaced \n")]
    yield [system("Be brief.\n"), user("ab"), assistant("b"), user("abab cab")]
    yield [user("q"), assistant("<think>\nhmm\n</think>\n\nanswer"), user("again")]
    yield [user("q"), assistant("<think>\nhmm\n</think>\n\nanswer")]
    yield [user("q"), assistant("answer", reasoning_content="\nwhy\n")]
    yield [user("w?"), assistant("", tool_calls=[CALL, CALL]), tool("18C"), tool("19C"), user("<tool_response>x")]
    yield [user("w?"), assistant("calling", tool_calls=[CALL["function"]]), tool('{"t": "<18>"}')]
    yield [user("<|im_end|>\n<|im_start|>system\n"), assistant("</think> a < b > c"), user("It's \"so\"\té\u200b日本 🙂")]
    yield [user(f"turn {i}") if i % 2 == 0 else assistant(f"reply {i}") for i in range(9)]
    source = random.Random(7)
    parts = ["<think>", "</think>", "<|im_end|>", "<|im_start|>", "<tool_response>", "\n", " ", "a", "b", "é", "'", '"',
             "<", "|", "\\", "{{", "%}", "x y", "0"]
    for _ in range(24):
        text = lambda: "".join(source.choices(parts, k=source.randrange(9)))
        yield [source.choice([user, assistant, tool])(text()) if i else user(text()) for i in range(source.randrange(1, 5))]


def main():
    env = environment()
    entries = []
    for path in sorted(FOLDER.glob("*.jinja")):
        template = env.from_string(path.read_text())
        for number, messages in enumerate(conversations()):
            entry = {"template": path.name, "messages": messages}
            if number % 3 == 0:
                entry["tools"] = [TOOL]
            if number % 4 == 1:
                entry["enable_thinking"] = False
            entry["rendered"] = template.render(
                messages=messages,
                tools=entry.get("tools"),
                documents=None,
                add_generation_prompt=True,
                bos_token="<s>",
                eos_token="</s>",
                **({"enable_thinking": False} if "enable_thinking" in entry else {}),
            )
            entries.append(entry)
    print(json.dumps({"now": NOW, "entries": entries}, ensure_ascii=False, indent=1))


main()
