"""An agent of the package `openai-agents`, with a tool. Usage: python3 agent.py http://127.0.0.1:8080/v1"""

import asyncio
import sys
from typing import Annotated

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict, Field

called: list[tuple[str, int]] = []


@function_tool
def dog_age(name: Annotated[str, Field(max_length=12)], years: Annotated[int, Field(ge=1, le=20)]) -> str:
    """Says how old a dog is."""
    called.append((name, years))
    return f"{name} is {years} years old."


class Dog(BaseModel):
    """A structured answer."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=12)
    age: int = Field(ge=1, le=20)


async def main(address: str) -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=address, api_key="none")
    name = (await client.models.list()).data[0].id
    model = OpenAIChatCompletionsModel(model=name, openai_client=client)

    # The first turn must call the tool; after that the agent lets the model answer.
    settings = ModelSettings(tool_choice="dog_age", parallel_tool_calls=False, temperature=0, max_tokens=120)
    agent = Agent("keeper", instructions="You know dogs.", model=model, tools=[dog_age], model_settings=settings)
    result = await Runner.run(agent, "How old is the dog?")
    assert len(called) == 1, called
    kinds = [item.type for item in result.new_items]
    assert kinds[:2] == ["tool_call_item", "tool_call_output_item"], kinds
    assert kinds[-1] == "message_output_item" and result.final_output, kinds
    print("called", called[0], "and answered:", result.final_output[:60].replace("\n", " "))

    streamed = Runner.run_streamed(agent, "How old is the dog?")
    kinds = [event.item.type async for event in streamed.stream_events() if event.type == "run_item_stream_event"]
    assert kinds[:2] == ["tool_call_item", "tool_call_output_item"] and len(called) == 2, kinds
    assert called[0] == called[1], "greedy calls are the same, streamed or not"
    print("streamed:", kinds)

    settings = ModelSettings(temperature=0, max_tokens=60)
    structured = Agent("writer", model=model, output_type=Dog, model_settings=settings)
    result = await Runner.run(structured, "Tell me about a dog.")
    assert isinstance(result.final_output, Dog)
    print("structured:", result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
