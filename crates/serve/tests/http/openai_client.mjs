// OpenAI's client for Node against the server: chat, a stream, structured output, a tool, embeddings, an error.

import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const common = {
  model: "stories",
  messages: [{ role: "user", content: "Tell me a story" }],
  temperature: 0,
  max_tokens: 20,
};
const parameters = {
  type: "object",
  properties: { years: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["years"],
  additionalProperties: false,
};

const reply = await client.chat.completions.create(common);
const text = reply.choices[0].message.content;
assert.ok(text.length > 0);

let streamed = "";
let usage;
const stream = await client.chat.completions.create({
  ...common,
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.equal(streamed, text);
assert.equal(usage.completion_tokens, reply.usage.completion_tokens);

const structured = await client.chat.completions.create({
  ...common,
  response_format: { type: "json_schema", json_schema: { name: "age", schema: parameters } },
});
assert.ok(JSON.parse(structured.choices[0].message.content).years >= 1);

const called = await client.chat.completions.create({
  ...common,
  max_tokens: 80,
  tools: [{ type: "function", function: { name: "age", parameters } }],
  tool_choice: "required",
  parallel_tool_calls: false,
});
assert.equal(called.choices[0].finish_reason, "tool_calls");
assert.ok(JSON.parse(called.choices[0].message.tool_calls[0].function.arguments).years >= 1);

const embedded = await client.embeddings.create({ model: "stories", input: "The dog ran." });
const length = embedded.data[0].embedding.reduce((sum, value) => sum + value * value, 0);
assert.ok(Math.abs(length - 1) < 1e-4, `${length}`);

await assert.rejects(client.chat.completions.create({ ...common, model: "other" }), OpenAI.NotFoundError);
