"""An application with types: what a checker lets pass, and what it must not."""

from typing import Protocol

from weir_client import AsyncWeir, Decision, Question, Weir, WeirError, WeirMiddleware


def threads(weir: Weir) -> int | Decision:
    question: Question = {"tenant": "acme", "budget": "tokens", "cost": 3}
    listed: list[Decision | WeirError] = weir.batch([question])
    assert listed
    with weir.reserve(question) as reservation:
        if not reservation.allowed:
            return reservation.decision
        reservation.used(1)
    return weir.check(question).remaining


class Usage(Protocol):
    total_tokens: int


class Completion(Protocol):
    usage: Usage


class Model(Protocol):
    def complete(self, prompt: str) -> Completion: ...


def too_many(decision: Decision) -> Completion:
    raise RuntimeError(decision.reason)


def of_the_readme(weir: Weir, tenant: str, model: Model, prompt: str) -> Completion:
    with weir.reserve({"tenant": tenant, "budget": "tokens", "cost": 1500}) as reservation:
        if not reservation.allowed:
            return too_many(reservation.decision)
        answer = model.complete(prompt)
        reservation.used(answer.usage.total_tokens)
        return answer


async def tasks(weir: AsyncWeir) -> str:
    async with weir.acquire({"tenant": "acme", "guard": "calls"}) as slot:
        return slot.decision.reason


def middleware(app: object, weir: AsyncWeir) -> None:
    async def inner(scope: object, receive: object, send: object) -> None: ...

    WeirMiddleware(inner, weir, lambda scope: {"limit": "per_ip", "key": str(scope["client"][0])})


def refused(weir: Weir) -> None:
    """Never called."""
    # What `fail` says is not left to chance.
    Weir("https://weir.example.com", "t")  # type: ignore[call-arg]
    Weir("https://weir.example.com", "t", fail="maybe")  # type: ignore[arg-type]
    # Nothing has a price.
    weir.check({"tenant": "acme", "budget": "tokens", "price": 3})  # type: ignore[typeddict-unknown-key]
    # A cost is a number of units.
    weir.check({"tenant": "acme", "budget": "tokens", "cost": "3"})  # type: ignore[typeddict-item]
    # Outcomes have names.
    weir.report("origin", "acme", "good")  # type: ignore[arg-type]
