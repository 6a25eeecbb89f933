"""What an application does with LiteLLM: one line of its call, the address, is another."""

import json
import os

# Without asking the network for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

# What is printed is read.
litellm.suppress_debug_info = True
BASE, KEY = os.environ["BASE"] + "/llm/v1", os.environ["KEY"]
messages = [{"role": "user", "content": "these are four words"}]
told = {}

answer = litellm.completion(
    model="openai/gpt-4o", messages=messages, api_key=KEY,
    api_base=BASE,
    user="words=7",
)
told["plain"] = answer.usage.total_tokens


def ask(**others):
    asked = {"model": "openai/gpt-4o", "messages": messages, "api_key": KEY, "api_base": BASE, "max_retries": 0}
    return litellm.completion(**{**asked, **others})


def refused(**others):
    """What an application sees of a refusal."""
    try:
        ask(**others)
    except Exception as error:
        return {"kind": type(error).__name__, "status": getattr(error, "status_code", None)}


chunks = list(ask(user="words=7", stream=True))
told["streamed"] = sum(1 for chunk in chunks for choice in chunk.choices if choice.delta.content)
told["denied"] = refused(max_tokens=1_000_000)
told["failed"] = refused(user="fail=503")
told["unknown"] = refused(model="openai/gpt-9")
told["stranger"] = refused(api_key="nobody's")
print(json.dumps(told))
