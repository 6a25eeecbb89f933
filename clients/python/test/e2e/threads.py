"""The client of threads: each call, many threads at once, and a process that forks."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from client import TENANT, client, plain, requests_to, taken, tell, told_of

from weir_client import Weir, WeirError

ONE = {"tenant": TENANT, "budget": "tokens", "cost": 1}
GUARD = {"tenant": TENANT, "guard": "calls"}


def left(weir):
    return weir.check({**ONE, "cost": 0}).remaining


def settled_left(weir, due):
    """Asks until so many units are left, for ten seconds at most: an isolate hears of a settlement only with its next contact."""
    end = time.monotonic() + 10
    while (units := left(weir)) != due and time.monotonic() < end:
        time.sleep(0.02)
    return units


def scopes(weir):
    """What a reservation comes to, by how its block ends."""
    told = []
    question = {**ONE, "cost": 100}
    with weir.reserve(question) as reservation:
        reservation.used(30)
    told.append(settled_left(weir, 967))
    with weir.reserve(question):
        pass
    told.append(settled_left(weir, 867))
    try:
        with weir.reserve(question):
            raise ValueError
    except ValueError:
        told.append(settled_left(weir, 867))
    with weir.reserve({**ONE, "cost": 5_000}) as reservation:
        told.append(reservation.decision.reason)
    return told


def slots(weir):
    """A slot that is held for longer than its lease, and one that somebody else gave back."""
    with weir.acquire(GUARD) as slot:
        time.sleep(8)
        told = [slot.allowed, slot.lost is None, weir.check(GUARD).reason]
    with weir.acquire(GUARD) as slot:
        weir.release("calls", slot.decision.slot)
        told.append(str(slot.until_lost()))
    return told


def forked(weir):
    """What a child of this process makes of the same client."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, weir.check(ONE).reason.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        word = told.read()
    return word, os.waitpid(child, 0)[1]


def main():
    told = {}
    with client(Weir) as weir:
        told["check"] = weir.check(ONE).remaining
        told["batch"] = [plain(one)["remaining"] for one in weir.batch([ONE, ONE])]
        told["reported"] = weir.report("origin", TENANT, "success")
        told["place"] = plain(weir.place({"limit": "shape", "key": "k"}))
        try:
            weir.check({"tenant": TENANT, "budget": "none"})
        except WeirError as error:
            told["unknown"] = told_of(error)
        told["scopes"] = scopes(weir)
        told["slots"] = slots(weir)
        told["forked"] = forked(weir)
    requests = []
    with client(Weir, batch_ms=2_000, on=requests_to(requests)) as weir, ThreadPoolExecutor(20) as threads:
        begin = threading.Barrier(20)

        def ask(_):
            begin.wait()
            return weir.check(ONE).reason

        told["together"] = list(threads.map(ask, range(20)))
        told["requests"] = sorted(set(taken(requests)))
    # Closed, it begins anew.
    told["again"] = weir.check(ONE).allowed
    told["left"] = left(weir)
    tell(told)


main()
