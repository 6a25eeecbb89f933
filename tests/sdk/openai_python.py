"""What an application does with OpenAI's own client for Python: its base URL and its key are all that knows of Weir."""

import asyncio
import json
import os

import openai
from openai import OpenAI

BASE, KEY = os.environ["BASE"] + "/llm/v1", os.environ["KEY"]
client = OpenAI(base_url=BASE, api_key=KEY, max_retries=0)
messages = [{"role": "user", "content": "these are four words"}]
told = {}


def refused(call):
    """What an application sees of a refusal."""
    try:
        call()
    except openai.APIStatusError as error:
        return {"kind": type(error).__name__, "status": error.status_code, "type": error.type, "code": error.code}


def words(arguments):
    return len(json.loads(arguments)["city"].split())


told["models"] = [model.id for model in client.models.list()]
told["model"] = client.models.retrieve("meta/llama").id
told["unlisted"] = refused(lambda: client.models.retrieve("gpt-9"))

plain = client.chat.completions.create(model="gpt-4o", user="words=7", messages=messages)
told["plain"] = plain.usage.total_tokens

stream = client.chat.completions.create(model="gpt-4o", user="words=7", messages=messages, stream=True)
chunks = list(stream)
told["streamed"] = sum(1 for chunk in chunks for choice in chunk.choices if choice.delta.content)
told["usage_unasked"] = any(chunk.usage for chunk in chunks)

asking = {"include_usage": True}
stream = client.chat.completions.create(
    model="gpt-4o", user="words=7", messages=messages, stream=True, stream_options=asking
)
told["usage"] = [chunk.usage.total_tokens for chunk in stream if chunk.usage]

response = client.responses.create(model="gpt-5", user="words=7", input="these are four words")
told["response"] = response.usage.total_tokens

embedded = client.embeddings.create(model="embed", input="these are four words", encoding_format="float")
told["embedded"] = embedded.usage.total_tokens

# Tools: asked for, called, and their result sent back, whole and streamed.
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
asks = {"model": "gpt-4o", "user": "words=7", "tools": tools}
message = client.chat.completions.create(messages=messages, **asks).choices[0].message
call = message.tool_calls[0]
told["called"] = {"name": call.function.name, "words": words(call.function.arguments)}
result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
after = client.chat.completions.create(messages=[*messages, message, result], **asks)
told["after_call"] = after.usage.total_tokens
with client.chat.completions.stream(messages=messages, **asks) as stream:
    call = stream.get_final_completion().choices[0].message.tool_calls[0]
told["called_streamed"] = {"name": call.function.name, "words": words(call.function.arguments)}


async def at_once():
    """Fifty requests at once, by the client for asyncio."""
    many = openai.AsyncOpenAI(base_url=BASE, api_key=KEY, max_retries=0)
    ask = lambda: many.chat.completions.create(model="gpt-4o", user="words=1", messages=messages)
    return len(await asyncio.gather(*(ask() for _ in range(50))))


told["at_once"] = asyncio.run(at_once())

told["denied"] = refused(
    lambda: client.chat.completions.create(model="gpt-4o", messages=messages, max_tokens=1_000_000)
)
told["failed"] = refused(lambda: client.chat.completions.create(model="gpt-4o", user="fail=503", messages=messages))
told["unknown"] = refused(lambda: client.chat.completions.create(model="gpt-9", messages=messages))
stranger = openai.OpenAI(base_url=BASE, api_key="nobody's", max_retries=0)
told["stranger"] = refused(lambda: stranger.chat.completions.create(model="gpt-4o", messages=messages))

# In the middle of an answer the application has enough.
told["before_abort"] = 0
with client.chat.completions.create(
    model="gpt-4o", user="words=1000&gap_ms=100", messages=messages, stream=True
) as stream:
    for chunk in stream:
        told["before_abort"] += sum(1 for choice in chunk.choices if choice.delta.content)
        if told["before_abort"] == 10:
            break
print(json.dumps(told))
