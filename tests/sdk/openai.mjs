// What an application does with OpenAI's own client: its base URL and its key are all that knows of Weir.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.BASE}/llm/v1`, apiKey: process.env.KEY, maxRetries: 0 });
const messages = [{ role: "user", content: "these are four words" }];
const told = {};

told.models = [];
for await (const model of client.models.list()) told.models.push(model.id);
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

const embedded = await client.embeddings.create({ model: "embed", input: "these are four words", encoding_format: "float" });
told.embedded = embedded.usage.total_tokens;

const many = Array.from({ length: 50 }, () => client.chat.completions.create({ model: "gpt-4o", user: "words=1", messages }));
told.at_once = (await Promise.all(many)).length;

const aborted = await client.chat.completions.create({
  model: "gpt-4o", user: "words=1000&gap_ms=20", messages, stream: true,
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
