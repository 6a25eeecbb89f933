"""What goes wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LATER = frozenset({408, 425, 429})
"""Answers that say nothing of the request, only of the moment."""

UNDER_WAY = "/problems/under-way"
"""A 409 of this kind says that the first try of the same call is under way."""

TEXT_MAX = 200
"""Characters of an answer that is not Weir's in an error."""


class WeirError(Exception):
    """Weir refused a request, or did not answer it."""

    status: int
    """The HTTP status; 0 when there was no answer."""
    type: str
    """The kind of problem, such as `/problems/invalid`; `about:blank` when the answer was not Weir's."""
    title: str
    """The kind in a few words."""
    detail: str
    """What was wrong this time."""
    field: str | None
    """JSON pointer to the value at fault in the question, such as `/checks/1/cost`."""
    retry_after_ms: float | None
    """Milliseconds after which to try again, where the answer said so."""
    decision: str | None
    """What leads to the explanation of a denial, where a rule denied."""

    def __init__(
        self,
        status: int,
        type: str,
        title: str,
        detail: str,
        field: str | None = None,
        retry_after_ms: float | None = None,
        decision: str | None = None,
    ) -> None:
        super().__init__(f"{title}: {detail}" + ("" if field is None else f" ({field})"))
        self.status = status
        self.type = type
        self.title = title
        self.detail = detail
        self.field = field
        self.retry_after_ms = retry_after_ms
        self.decision = decision

    @property
    def unreachable(self) -> bool:
        """Whether Weir is out of reach: no answer, or one that says to try later. Otherwise the request itself is at fault.

        >>> [WeirError(status, "about:blank", "T", "D").unreachable for status in (0, 200, 404, 429, 503)]
        [True, True, False, True, True]
        """
        status = self.status
        later = status in LATER or (status == 409 and self.type == UNDER_WAY)
        return status < 300 or status >= 500 or later

    def at(self, field: str | None) -> WeirError:
        """The same with another field."""
        error = WeirError(
            self.status, self.type, self.title, self.detail, field, self.retry_after_ms, self.decision
        )
        error.__cause__ = self.__cause__
        return error

    def __reduce__(self) -> tuple[object, ...]:
        # An exception is copied by what it was made of, and `Exception` only knows its text.
        made_of = (self.status, self.type, self.title, self.detail, self.field, self.retry_after_ms, self.decision)
        return (WeirError, made_of)


class SlotLost(Exception):
    """A slot is lost: another may have it."""


def no_answer(cause: BaseException | None) -> WeirError:
    """No answer came: the connection failed, or the deadline passed (`cause` is None)."""
    detail = "The deadline passed." if cause is None else f"{type(cause).__name__}: {cause}"
    error = WeirError(0, "about:blank", "Weir did not answer", detail)
    error.__cause__ = cause
    return error


def not_weir(status: int, text: str) -> WeirError:
    """An answer with a status of success that is not one of Weir's."""
    return WeirError(status, "about:blank", "The answer is not Weir's", text[:TEXT_MAX])


def refused(status: int, headers: Mapping[str, str], text: str, now_ms: float) -> WeirError:
    """The answer to a request that was refused."""
    told = json_or_none(text)
    problem = told if isinstance(told, dict) else {}
    return WeirError(
        status,
        _word(problem.get("type")) or "about:blank",
        _word(problem.get("title")) or f"HTTP {status}",
        _word(problem.get("detail")) or text[:TEXT_MAX],
        _word(problem.get("field")),
        retry_after_ms(problem.get("retry_after_ms"), headers.get("retry-after"), now_ms),
        _word(problem.get("decision")),
    )


def retry_after_ms(told: object, header: str | None, now_ms: float) -> float | None:
    """Milliseconds to wait: those of the problem, else `Retry-After` in seconds or as a date.

    >>> retry_after_ms(250, "3", 0.0), retry_after_ms(None, "3", 0.0), retry_after_ms(None, "soon", 0.0)
    (250, 3000, None)
    """
    if isinstance(told, (int, float)) and not isinstance(told, bool) and math.isfinite(told):
        return max(0, told)
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        # Nobody waits for longer than a year, and a number may be as long as a header field.
        return int(header) * 1_000 if len(header) <= 8 else None
    at_ms = date_ms(header)
    return None if at_ms is None else max(0.0, at_ms - now_ms)


def date_ms(header: str | None) -> float | None:
    """A date of a header field, in epoch milliseconds.

    >>> date_ms("Thu, 01 Jan 1970 00:00:02 GMT"), date_ms("soon")
    (2000.0, None)
    """
    try:
        return parsedate_to_datetime(header).timestamp() * 1_000 if header else None
    except (TypeError, ValueError, OverflowError):
        return None


def json_or_none(text: str | bytes) -> object:
    """The value of a text; None for what is no JSON."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
