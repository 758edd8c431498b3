"""OpenAI's own client against the server: chat, streams, structured output, tools, embeddings, errors."""

import asyncio
import json
import sys
from enum import Enum
from typing import Annotated, Literal

import openai
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel, Field

URL = sys.argv[1]
client = OpenAI(base_url=URL, api_key="none", max_retries=0)
MESSAGES = [{"role": "user", "content": "Tell me a story"}]
COMMON = {"model": "stories", "messages": MESSAGES, "temperature": 0, "max_tokens": 20}
TOOL = {
    "type": "function",
    "function": {
        "name": "age",
        "parameters": {
            "type": "object",
            "properties": {"years": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["years"],
            "additionalProperties": False,
        },
    },
}


def chat() -> str:
    reply = client.chat.completions.create(**COMMON, logprobs=True, top_logprobs=2)
    choice = reply.choices[0]
    assert choice.message.role == "assistant" and choice.message.content
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert "".join(entry.token for entry in choice.logprobs.content) == choice.message.content
    return choice.message.content


def stream(expected: str) -> None:
    text, usage, reason = "", None, None
    for chunk in client.chat.completions.create(**COMMON, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    assert text == expected and usage.completion_tokens > 0 and reason in ("stop", "length"), (text, usage, reason)


def structured() -> None:
    schema = {"name": "age", "strict": True, "schema": TOOL["function"]["parameters"]}
    reply = client.chat.completions.create(
        **COMMON, response_format={"type": "json_schema", "json_schema": schema}
    )
    assert 1 <= json.loads(reply.choices[0].message.content)["years"] <= 9


def parsed() -> None:
    """Structures as pydantic describes them: references, choices, nothing, lists."""

    class Colour(str, Enum):
        red = "red"
        blue = "blue"

    class Toy(BaseModel):
        name: Literal["ball", "car"]
        colour: Colour

    class Child(BaseModel):
        age: Annotated[int, Field(ge=1, le=9)] | None
        toys: Annotated[list[Toy], Field(min_length=1, max_length=1)]

    reply = client.chat.completions.parse(**{**COMMON, "max_tokens": 120}, response_format=Child)
    child = reply.choices[0].message.parsed
    assert isinstance(child, Child) and child.toys[0].colour in Colour, reply

    choice = {"type": "function", "function": {"name": "Toy"}}
    tool = openai.pydantic_function_tool(Toy)
    reply = client.chat.completions.parse(**{**COMMON, "max_tokens": 120}, tools=[tool], tool_choice=choice)
    toy = reply.choices[0].message.tool_calls[0].function.parsed_arguments
    assert isinstance(toy, Toy), reply
    again = client.chat.completions.create(**COMMON, tools=[tool], tool_choice="none")
    assert again.choices[0].message.tool_calls is None


def choices() -> None:
    """Several choices, at once and streamed; a stop list beside log-probabilities; a seed."""
    asked = {**COMMON, "n": 3, "temperature": 1, "seed": 5, "stop": ["\n", "."], "logprobs": True}
    whole = client.chat.completions.create(**asked)
    texts, usage = ["", "", ""], None
    for chunk in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [choice.message.content for choice in whole.choices], (texts, whole)
    assert usage.model_dump(exclude={"prompt_tokens_details"}) == whole.usage.model_dump(exclude={"prompt_tokens_details"})
    for choice in whole.choices:
        spelled = "".join(entry.token for entry in choice.logprobs.content)
        assert spelled.startswith(choice.message.content), choice


def conversation() -> None:
    """Content in parts, the newer role and limit, and a reply that goes back as it came."""
    messages = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Tell me"}, {"type": "text", "text": " a story"}]},
    ]
    asked = {"model": "stories", "max_completion_tokens": 10, "temperature": 0, "user": "me", "store": False}
    reply = client.chat.completions.create(**asked, messages=messages)
    messages.append(reply.choices[0].message)
    messages.append({"role": "user", "content": "And then?"})
    reply = client.chat.completions.create(**asked, messages=messages)
    assert reply.choices[0].message.content and reply.usage.prompt_tokens_details.cached_tokens > 0


def tools() -> None:
    with client.chat.completions.stream(
        **{**COMMON, "max_tokens": 80}, tools=[TOOL], tool_choice="required", parallel_tool_calls=False
    ) as events:
        for _ in events:
            pass
        choice = events.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls", choice
    call = choice.message.tool_calls[0]
    assert call.function.name == "age" and 1 <= json.loads(call.function.arguments)["years"] <= 9
    history = MESSAGES + [
        choice.message.model_dump(exclude_none=True, exclude={"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}),
        {"role": "tool", "tool_call_id": call.id, "content": "3"},
    ]
    reply = client.chat.completions.create(**{**COMMON, "messages": history}, tools=[TOOL])
    assert reply.choices[0].message.role == "assistant"


def embeddings() -> None:
    reply = client.embeddings.create(model="stories", input=["The dog ran.", "It rained."])
    assert len(reply.data) == 2 and len(reply.data[0].embedding) > 8
    assert abs(sum(v * v for v in reply.data[0].embedding) - 1) < 1e-4


def completions() -> None:
    reply = client.completions.create(model="stories", prompt="Once upon a time", max_tokens=5)
    assert reply.choices[0].text
    pieces = client.completions.create(
        model="stories", prompt=["Once", "The dog"], max_tokens=5, n=2, stream=True, stream_options={"include_usage": True}
    )
    indices, usage = set(), None
    for piece in pieces:
        usage = piece.usage or usage
        indices |= {choice.index for choice in piece.choices}
    assert indices == {0, 1, 2, 3} and usage.completion_tokens <= 20
    assert [model.id for model in client.models.list()] == ["stories"]
    assert client.models.retrieve("stories").id == "stories"


def errors() -> None:
    for wrong, error in [
        ({"model": "other"}, openai.NotFoundError),
        ({"temperature": -1}, openai.BadRequestError),
        ({"extra_body": {"temprature": 1}}, openai.BadRequestError),
        ({"messages": []}, openai.BadRequestError),
        ({"tools": [{**TOOL, "function": {"name": "two words"}}]}, openai.BadRequestError),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, openai.BadRequestError),
        ({"max_tokens": 100000}, openai.BadRequestError),
    ]:
        try:
            client.chat.completions.create(**{**COMMON, **wrong})
        except error as found:
            assert found.code and found.body["message"], found
        else:
            raise AssertionError(f"{wrong} was accepted")


async def together(expected: str) -> None:
    many = AsyncOpenAI(base_url=URL, api_key="none", max_retries=5)
    replies = await asyncio.gather(*(many.chat.completions.create(**COMMON) for _ in range(8)))
    assert {reply.choices[0].message.content for reply in replies} == {expected}


text = chat()
stream(text)
structured()
parsed()
choices()
conversation()
tools()
embeddings()
completions()
errors()
asyncio.run(together(text))
