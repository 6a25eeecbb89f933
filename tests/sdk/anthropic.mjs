// What an application does with Anthropic's own client: its base URL and its key are all that knows of Weir.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: `${process.env.BASE}/claude`, apiKey: process.env.KEY, maxRetries: 0 });
const ask = {
  model: "claude-4", max_tokens: 100, metadata: { user_id: "words=7&cached=3" },
  messages: [{ role: "user", content: "these are four words" }],
};
const told = {};

const plain = await client.messages.create(ask);
told.plain = plain.usage.output_tokens;

const message = await client.messages.stream(ask).finalMessage();
told.streamed = message.usage.output_tokens;
told.words = message.content[0].text.trim().split(" ").length;

told.models = [];
for await (const model of client.models.list({ limit: 1 })) told.models.push(model.id);
const model = await client.models.retrieve("claude-4");
told.model = { id: model.id, name: model.display_name, made: model.created_at, type: model.type };
try {
  await client.models.retrieve("claude-9");
} catch (error) {
  told.unlisted = { kind: error.constructor.name, type: error.error?.error?.type };
}

// Tools: asked for, called, and their result sent back, whole and streamed.
const input_schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const asks = { ...ask, tools: [{ name: "weather", input_schema }] };
const called = await client.messages.create(asks);
const words = (block) => ({ name: block.name, words: block.input.city.trim().split(" ").length });
told.called = { ...words(called.content[0]), stop: called.stop_reason };
const content = [{ type: "tool_result", tool_use_id: called.content[0].id, content: "rain" }];
const turns = [...ask.messages, { role: "assistant", content: called.content }, { role: "user", content }];
told.after_call = (await client.messages.create({ ...asks, messages: turns })).usage.output_tokens;
const streamed = await client.messages.stream(asks).finalMessage();
told.called_streamed = { ...words(streamed.content[0]), stop: streamed.stop_reason };

try {
  await client.messages.create({ ...ask, max_tokens: 1_000_000, stream: true });
} catch (error) {
  told.denied = { kind: error.constructor.name, status: error.status, type: error.error?.error?.type };
}
console.log(JSON.stringify(told));
