"""When to try again, how long a try may take, and when a slot is renewed."""

from __future__ import annotations

PAUSE_MS = 50
"""The pause before the first retry is up to this, in milliseconds; it doubles with each further one."""

PAUSE_MS_MAX = 2_000
"""The longest pause, where the answer names none."""

LEASE_MS_MIN = 100
"""The shortest lease of a guard, in milliseconds."""


def pause_ms(failed: int, told_ms: float | None, random: float) -> float:
    """Milliseconds until the next try, after `failed` tries (from 1). What Weir said counts; else a drawn part (`random` from
    0 to 1) of a length that doubles, so that many clients do not come back at once.

    >>> pause_ms(3, None, 0.5), pause_ms(3, 1_000, 0.5)
    (100.0, 1000)
    """
    if told_ms is not None:
        return told_ms
    return random * min(PAUSE_MS << (failed - 1), PAUSE_MS_MAX)


def share_ms(left_ms: float, retries: int) -> float:
    """Milliseconds that a try may take when `left_ms` are left for it and for `retries` more: an even share, so that one that
    hangs leaves time for the next. At least 1.

    >>> share_ms(2_000, 3)
    500.0
    """
    return max(1.0, left_ms / (retries + 1))


def renewal_ms(lease_ms: float) -> float:
    """Milliseconds until a slot is to be renewed: a third of its lease, so that two renewals may fail. A lease that seems
    shorter than any is taken for the shortest: the clocks disagree.

    >>> renewal_ms(30_000)
    10000.0
    """
    return max(LEASE_MS_MIN, lease_ms) / 3


def lease_ms(expires_at: float, date_ms: float | None, now_ms: float) -> float:
    """What is left of a lease that ends at `expires_at` by Weir's clock, in milliseconds. `date_ms` is the `Date` field of the
    answer, which counts whole seconds: where this machine's clock is not within that second, the nearer end of it is taken
    for now.

    >>> lease_ms(30_000, 0, 400), lease_ms(30_000, 0, 3_600_000)
    (29600, 29000)
    """
    if date_ms is None:
        return expires_at - now_ms
    return expires_at - min(max(now_ms, date_ms), date_ms + 1_000)
