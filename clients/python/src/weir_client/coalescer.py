"""Gathers what is asked within a short time, and cuts it into batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

_A = TypeVar("_A")


@dataclass(frozen=True)
class Bounds:
    """What bounds a batch."""

    questions: int
    """Questions, at most."""
    bytes: int
    """Bytes of their texts, commas included, at most. One that is longer goes alone."""


@dataclass(frozen=True)
class Waiting(Generic[_A]):
    """A question that waits for its answer."""

    text: str
    """JSON."""
    answer: asyncio.Future[_A]

    def resolve(self, answer: _A) -> None:
        """Answers, where anybody still waits."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def reject(self, error: BaseException) -> None:
        """Says why there is no answer, where anybody still waits."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Coalescer(Generic[_A]):
    """Gathers questions and hands them to `send` in batches, in their order. `within_ms` is how long a question may wait for
    company; 0 until the present turn of the loop is over."""

    def __init__(self, within_ms: float, bounds: Bounds, send: Callable[[list[Waiting[_A]]], object]) -> None:
        self._within_s = within_ms / 1_000
        self._bounds = bounds
        self._send = send
        self._open: list[Waiting[_A]] = []
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, text: str) -> asyncio.Future[_A]:
        """The answer to a question, which is JSON."""
        loop = asyncio.get_running_loop()
        waiting: Waiting[_A] = Waiting(text, loop.create_future())
        length = len(text.encode()) + 1
        if self._open and self._bytes + length > self._bounds.bytes:
            self.flush()
        self._open.append(waiting)
        self._bytes += length
        if len(self._open) >= self._bounds.questions:
            self.flush()
        elif self._timer is None:
            self._timer = loop.call_later(self._within_s, self.flush)
        return waiting.answer

    def flush(self) -> None:
        """Sends what there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._open, self._bytes = self._open, [], 0
        if batch:
            self._send(batch)
