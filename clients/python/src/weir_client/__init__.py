"""A client of Weir, a fair rate limiter."""

from .aio import AsyncWeir
from .answer import Decision, Place, Reason, Settled, SlotState
from .asgi import WeirMiddleware
from .error import SlotLost, WeirError
from .hooks import Hooks, RequestEvent, ResponseEvent
from .options import Fail
from .question import Item, PlaceQuestion, Question, ReportedOutcome, SlotQuestion
from .reservation import AsyncReservation
from .slot import AsyncSlot
from .weir import Reservation, Slot, Weir

__all__ = [
    "AsyncReservation",
    "AsyncSlot",
    "AsyncWeir",
    "Decision",
    "Fail",
    "Hooks",
    "Item",
    "Place",
    "PlaceQuestion",
    "Question",
    "Reason",
    "ReportedOutcome",
    "RequestEvent",
    "Reservation",
    "ResponseEvent",
    "Settled",
    "Slot",
    "SlotLost",
    "SlotQuestion",
    "SlotState",
    "Weir",
    "WeirError",
    "WeirMiddleware",
]
