"""A program that a strict type checker passes: what every kind of call gives."""

from typing import Any, assert_type

import numpy
import numpy.typing

import tilewright
from tilewright import Chunk, Floats, Model, Output, Refusal, Runtime, SamplingParams, Tokenizer


def main() -> str:
    model = Model.load(weights="int8", threads=2)
    params = SamplingParams(temperature=0, max_tokens=4)
    assert_type(model.generate("Once upon a time", params), Output)
    assert_type(model.generate([643, 782], params), Output)
    assert_type(model.generate(["A dog", [643, 782]], [params, params]), list[Output])
    with model.stream("A dog", params) as stream:
        for chunk in stream:
            assert_type(chunk, Chunk)
    with model.stream("A dog", params) as stream:
        assert_type(stream.output(), Output)
    reply = model.chat([{"role": "user", "content": "A story."}], params, enable_thinking=False)
    assert_type(reply.usage.completion_tokens, int)

    logits = model.logits("A dog")
    assert_type(logits, Floats)
    assert_type(logits.numpy(), numpy.typing.NDArray[numpy.float32])
    assert_type(len(memoryview(logits)), int)
    assert_type(model.score("A dog"), list[float])
    assert_type(model.tokenizer, Tokenizer | None)
    assert_type(model.plan, dict[str, Any])
    try:
        model.generate("A dog", SamplingParams(top_p=2))
    except Refusal as refusal:
        assert_type([finding.expected for finding in refusal.fields], list[str])
    runtime = Runtime(device="cpu")
    assert_type(runtime.execute("metaldispatch.contract", "metaldispatch_dispatch_budget", 28), dict[str, Any])
    assert_type(tilewright.__version__, str)
    return reply.text


if __name__ == "__main__":
    print(main())
