"""Conversations to text and back, without a model: a checkpoint's chat template, and calls of tools in a reply."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._model import Message, rendering_of


def apply_chat_template(
    checkpoint_dir: str | os.PathLike[str],
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool = True,
    enable_thinking: bool | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """The text that a conversation becomes by the chat template of a checkpoint, a folder or a GGUF file.

    enable_thinking: for templates that read it; `None` leaves it to them. tools: as the template takes them; one that
    never looks at them refuses them.
    """
    rendering = rendering_of(
        messages, tools=tools or (), enable_thinking=enable_thinking, add_generation_prompt=add_generation_prompt
    )
    return _native.apply_template(os.fspath(checkpoint_dir), list(messages), rendering)


def split_tool_calls_from_generated_text(text: str) -> tuple[str | None, list[dict[str, Any]]]:
    """The text beside calls of tools, `None` where there is none, and the calls: `name`, and `arguments` as a dict.

    A call is an object of these two between `<tool_call>` and `</tool_call>`. Any other block stays in the text.
    """
    content, calls = _native.split_calls(text)
    return content or None, [{"name": name, "arguments": json.loads(arguments)} for name, arguments in calls]
