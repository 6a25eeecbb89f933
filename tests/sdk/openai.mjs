// What an application does with OpenAI's own client: its base URL and its key are all that knows of Weir.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.BASE}/llm/v1`, apiKey: process.env.KEY, maxRetries: 0 });
const messages = [{ role: "user", content: "these are four words" }];
const told = {};

told.models = [];
for await (const model of client.models.list()) told.models.push(model.id);
told.model = (await client.models.retrieve("gpt-5")).id;
told.slashed = (await client.models.retrieve("meta/llama")).id;
try {
  await client.models.retrieve("gpt-9");
} catch (error) {
  told.unlisted = { kind: error.constructor.name, code: error.code };
}
try {
  await client.chat.completions.create({ model: "gpt-9", messages });
} catch (error) {
  told.unknown = { kind: error.constructor.name, code: error.code };
}

const plain = await client.chat.completions.create({ model: "gpt-4o", user: "words=7", messages });
told.plain = plain.usage.total_tokens;

const stream = await client.chat.completions.create({ model: "gpt-4o", user: "words=7", messages, stream: true });
told.streamed = 0;
told.usage_unasked = false;
for await (const chunk of stream) {
  told.streamed += chunk.choices[0]?.delta.content ? 1 : 0;
  told.usage_unasked ||= Boolean(chunk.usage);
}

const asking = await client.chat.completions.create({
  model: "gpt-4o", user: "words=7", messages, stream: true, stream_options: { include_usage: true },
});
for await (const chunk of asking) told.usage = chunk.usage?.total_tokens ?? told.usage;

const response = await client.responses.create({ model: "gpt-5", user: "words=7", input: "these are four words" });
told.response = response.usage.total_tokens;

// Tools: asked for, called, and their result sent back, whole and streamed.
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "weather", parameters } }];
const asks = { model: "gpt-4o", user: "words=7", messages, tools };
const called = await client.chat.completions.create(asks);
const [call] = called.choices[0].message.tool_calls;
told.called = { name: call.function.name, words: JSON.parse(call.function.arguments).city.trim().split(" ").length };
const result = { role: "tool", tool_call_id: call.id, content: "rain" };
const after = await client.chat.completions.create({ ...asks, messages: [...messages, called.choices[0].message, result] });
told.after_call = after.usage.total_tokens;
const runner = client.chat.completions.stream(asks);
const streamed = (await runner.finalChatCompletion()).choices[0].message.tool_calls[0].function;
told.called_streamed = { name: streamed.name, words: JSON.parse(streamed.arguments).city.trim().split(" ").length };
const flat = [{ type: "function", name: "weather", parameters, strict: false }];
const calling = await client.responses.create({ model: "gpt-5", user: "words=7", input: "these are four words", tools: flat, stream: true });
let pieces = "";
for await (const event of calling) {
  if (event.type === "response.function_call_arguments.delta") pieces += event.delta;
  if (event.type === "response.completed") told.called_response = event.response.usage.total_tokens;
}
told.response_words = JSON.parse(pieces).city.trim().split(" ").length;

const embedded = await client.embeddings.create({ model: "embed", input: "these are four words", encoding_format: "float" });
told.embedded = embedded.usage.total_tokens;

const many = Array.from({ length: 50 }, () => client.chat.completions.create({ model: "gpt-4o", user: "words=1", messages }));
told.at_once = (await Promise.all(many)).length;

const aborted = await client.chat.completions.create({
  model: "gpt-4o", user: "words=1000&gap_ms=100", messages, stream: true,
});
told.before_abort = 0;
for await (const chunk of aborted) {
  told.before_abort += chunk.choices[0]?.delta.content ? 1 : 0;
  if (told.before_abort === 10) aborted.controller.abort();
}

try {
  await client.chat.completions.create({ model: "gpt-4o", messages, max_tokens: 1_000_000 });
} catch (error) {
  told.denied = { kind: error.constructor.name, status: error.status, type: error.type };
}
try {
  await client.chat.completions.create({ model: "gpt-4o", user: "fail=503", messages });
} catch (error) {
  told.failed = { kind: error.constructor.name, status: error.status };
}
console.log(JSON.stringify(told));
