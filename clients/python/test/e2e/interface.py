"""The names that the client writes down, for a comparison with the document of the interface."""

import dataclasses
import json
import typing

from weir_client import Decision, Place, PlaceQuestion, Question, Reason, Settled, SlotState
from weir_client.answer import OWN


def fields(kind):
    """Each field, and whether it is always there."""
    own = (one for one in dataclasses.fields(kind) if one.name not in OWN)
    return {one.name: one.default is dataclasses.MISSING for one in own}


names = {"Decision": Decision, "ReserveReply": Place, "SettleReply": Settled, "SlotReply": SlotState}
told = {name: fields(kind) for name, kind in names.items()}
told["Reason"] = typing.get_args(Reason)
told["CheckRequest"] = sorted(typing.get_type_hints(Question))
told["ReserveRequest"] = sorted(typing.get_type_hints(PlaceQuestion))
print(json.dumps(told))
