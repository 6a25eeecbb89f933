"""What stands before Weir may answer in its place: on a real server that says what Weir never does."""

import asyncio
import json
import pickle
import time
import unittest

from support import QUESTION, Asking

from weir_client import Hooks, WeirError
from weir_client.transport import ANSWER_BYTES_MAX

UNAUTHORIZED = '{"type":"/problems/unauthorized","title":"T","status":401,"detail":"D"}'
DECISION = {
    "allowed": True, "reason": "admitted", "limit": 10, "remaining": 9, "reset_at": 5, "retry_after_ms": 0,
    "binding": "tokens", "region": "weur", "window": 1, "policy_revision": 1,
}


class Answers(Asking):
    ANSWERS = {
        "/page/v1/check": (200, "<html>Log in to the network</html>", {}),
        "/other/v1/check": (200, '{"hello":"world"}', {}),
        "/deep/v1/check": (200, "[" * 100_000, {}),
        "/huge/v1/check": (200, " " * (ANSWER_BYTES_MAX + 1), {}),
        "/gateway/v1/check": (502, "Bad gateway", {}),
        "/busy/v1/check": (429, "Slow down", {"retry-after": "7"}),
        "/moved/v1/check": (307, "", {"location": "/elsewhere"}),
        "/lost/v1/check": (404, "<html>Not here</html>", {}),
        "/few/v1/check/batch": (200, '{"decisions":[]}', {}),
        "/wrong/v1/check/batch": (401, UNAUTHORIZED, {}),
        "/denied/v1/check": (200, json.dumps({**DECISION, "allowed": False, "decision": "5.x"}), {"weir-decision": "5.x"}),
        "/full/v1/check": (403, json.dumps({**json.loads(UNAUTHORIZED), "status": 403, "decision": "5.x"}), {}),
        "/newer/v1/check": (200, json.dumps({**DECISION, "colour": "blue"}), {"ratelimit": '"tokens";r=9;t=5'}),
    }

    async def test_an_answer_that_is_not_weir_s_is_no_decision(self):
        for path, status in (("page", 200), ("other", 200), ("deep", 200), ("huge", 0), ("gateway", 502), ("busy", 429)):
            with self.subTest(path):
                decision = await self.below(path).check(QUESTION)
                self.assertEqual((decision.allowed, decision.reason, decision.cause.status), (False, "unreachable", status))
                self.assertIsInstance(decision.cause, WeirError)

    async def test_a_denial_in_weir_s_place_says_when_to_come_back_if_anybody_did(self):
        self.assertEqual((await self.below("busy").check(QUESTION)).retry_after_ms, 7_000)
        self.assertEqual((await self.below("gateway").check(QUESTION)).retry_after_ms, 1_000)

    async def test_a_pause_that_is_longer_than_the_deadline_is_not_waited_for(self):
        start = time.monotonic()
        decision = await self.below("busy", retries=3).check(QUESTION)
        self.assertEqual(decision.reason, "unreachable")
        self.assertLess(time.monotonic() - start, 4)
        self.assertEqual(len(self.server.seen), 1)

    async def test_the_token_goes_nowhere_else_and_a_wrong_address_is_an_error(self):
        for path, status in (("moved", 307), ("lost", 404)):
            with self.assertRaises(WeirError) as raised:
                await self.below(path).check(QUESTION)
            self.assertEqual((raised.exception.status, raised.exception.type), (status, "about:blank"))
        self.assertEqual([one["path"] for one in self.server.seen], ["/moved/v1/check", "/lost/v1/check"])

    async def test_a_batch_that_is_answered_in_part_is_not_answered_and_one_that_is_refused_is_refused_to_all(self):
        few = await self.below("few").batch([QUESTION, QUESTION])
        self.assertEqual([one.reason for one in few], ["unreachable", "unreachable"])
        wrong = await self.below("wrong").batch([QUESTION, QUESTION])
        self.assertEqual([one.status for one in wrong], [401, 401])
        weir = self.below("wrong", batch_ms=0)
        both = await asyncio.gather(weir.check(QUESTION), weir.check(QUESTION), return_exceptions=True)
        self.assertEqual([one.status for one in both], [401, 401])
        self.assertIsNot(*both)
        self.assertEqual(await self.below("few").batch([]), [])

    async def test_what_a_newer_weir_adds_is_left_out_and_its_rate_limit_fields_are_kept(self):
        decision = await self.below("newer").check(QUESTION)
        self.assertEqual((decision.remaining, dict(decision.headers)), (9, {"ratelimit": '"tokens";r=9;t=5'}))

    async def test_a_denial_tells_the_id_that_leads_to_its_explanation(self):
        decision = await self.below("denied").check(QUESTION)
        self.assertEqual((decision.decision, dict(decision.headers)), ("5.x", {"weir-decision": "5.x"}))
        self.assertIsNone((await self.below("newer").check(QUESTION)).decision)
        with self.assertRaises(WeirError) as raised:
            await self.below("full").check(QUESTION)
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((raised.exception.decision, again.at("/x").decision), ("5.x", "5.x"))

    async def test_hooks_see_each_request_without_the_token_and_may_add_fields(self):
        events = []

        def request(event):
            event.headers["traceparent"] = "00-1-2-01"
            event.headers["Authorization"] = "Bearer another"
            events.append(event)

        await self.below("gateway", on=Hooks(request, events.append), retries=1).check(QUESTION)
        sent = [one["headers"] for one in self.server.seen]
        told = [(one["traceparent"], one["authorization"], one["content-type"]) for one in sent]
        self.assertEqual(told, [("00-1-2-01", "bearer secret", "application/json")] * 2)
        first, response, second, _ = events
        self.assertEqual((first.path, first.attempt, second.attempt), ("/v1/check", 1, 2))
        self.assertEqual(json.loads(first.body), QUESTION)
        self.assertIs(response.request, first)
        self.assertEqual((response.status, response.error.status), (502, 502))
        self.assertGreater(response.duration_ms, 0)


class Errors(unittest.TestCase):
    def test_which_errors_are_of_the_moment(self):
        for status, kind, unreachable in (
            (0, "about:blank", True),
            (200, "about:blank", True),
            (307, "about:blank", False),
            (400, "/problems/invalid", False),
            (401, "/problems/unauthorized", False),
            (404, "/problems/not-found", False),
            (408, "about:blank", True),
            (409, "/problems/under-way", True),
            (409, "/problems/conflict", False),
            (413, "about:blank", False),
            (425, "about:blank", True),
            (429, "about:blank", True),
            (500, "about:blank", True),
            (503, "about:blank", True),
        ):
            self.assertEqual(WeirError(status, kind, "T", "D").unreachable, unreachable, (status, kind))

    def test_an_error_is_copied_whole(self):
        error = WeirError(400, "/problems/invalid", "Not valid", "Too long", "/tenant", 5)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((vars(copy), str(copy)), (vars(error), "Not valid: Too long (/tenant)"))
