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

try {
  await client.messages.create({ ...ask, max_tokens: 1_000_000, stream: true });
} catch (error) {
  told.denied = { kind: error.constructor.name, status: error.status, type: error.error?.error?.type };
}
console.log(JSON.stringify(told));
