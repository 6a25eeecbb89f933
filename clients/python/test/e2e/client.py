"""What the scripts share: a client of the Worker under test, and how they tell what they saw."""

import asyncio
import dataclasses
import json
import os
import sys
import time

from weir_client import AsyncWeir, Decision, Hooks, WeirError
from weir_client.answer import OWN

TENANT = "acme"
ORIGIN = os.environ["BASE"]
TOKEN = os.environ["TOKEN"]


def client(kind=AsyncWeir, **options):
    """A client that is patient: the machine may be busy."""
    url, token = options.pop("url", ORIGIN), options.pop("token", TOKEN)
    return kind(url, token, **{"fail": "closed", "timeout_ms": 20_000, **options})


def tell(value):
    """Prints one line of JSON."""
    print(json.dumps(value), flush=True)


def plain(answer):
    """An answer as the interface words it."""
    if not dataclasses.is_dataclass(answer):
        return answer
    optional = {one.name for one in dataclasses.fields(answer) if one.default is None}
    told = {name: value for name, value in vars(answer).items() if name not in OWN}
    return {name: value for name, value in told.items() if value is not None or name not in optional}


def told_of(error):
    """What an error says of itself."""
    return {name: getattr(error, name) for name in ("status", "type", "title", "detail", "field")}


async def error_of(asked):
    """What an error says, or the answer in its place."""
    try:
        return {"answered": plain(await asked)}
    except WeirError as error:
        return told_of(error)


async def left(weir):
    """Units that are left of the budget of acme."""
    return (await weir.check({"tenant": TENANT, "budget": "tokens", "cost": 0})).remaining


async def settled_left(weir, due):
    """Asks until so many units are left, for ten seconds at most: an isolate hears of a settlement only with its next contact."""
    end = time.monotonic() + 10
    while (units := await left(weir)) != due and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return units


async def next_line():
    """The next line of the standard input, which the test writes when it has done its part."""
    await asyncio.to_thread(sys.stdin.readline)


def requests_to(paths):
    """Hooks that note where requests go."""
    return Hooks(request=lambda event: paths.append(event.path))


def taken(seen):
    """What was noted, which is forgotten."""
    told = list(seen)
    seen.clear()
    return told
