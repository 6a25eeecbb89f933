"""A call ends in its time, on a real socket that takes everything and answers nothing."""

import asyncio
import time

from support import QUESTION, Asking

from weir_client import AsyncWeir, Hooks, Weir


class Deadlines(Asking):
    def silent(self, **options):
        return self.below(**{"fail": "open", **options})

    async def test_a_call_that_nobody_answers_is_decided_by_fail_when_its_time_is_over(self):
        start = time.monotonic()
        opened = await self.silent(timeout_ms=150).check(QUESTION)
        took = time.monotonic() - start
        told = (opened.allowed, opened.reason, opened.retry_after_ms, opened.cause.status, opened.cause.detail)
        self.assertEqual(told, (True, "unreachable", 0, 0, "The deadline passed."))
        self.assertTrue(0.14 <= took < 5, took)
        closed = await self.silent(timeout_ms=150, fail="closed").check(QUESTION)
        self.assertEqual((closed.allowed, closed.retry_after_ms), (False, 1_000))

    async def test_a_thread_is_answered_in_its_time_too(self):
        weir = Weir(self.server.origin, "t", fail="open", timeout_ms=150)
        decision = await asyncio.to_thread(weir.check, QUESTION)
        self.assertEqual((decision.allowed, decision.reason), (True, "unreachable"))
        await asyncio.to_thread(weir.close)

    async def test_a_try_that_hangs_leaves_time_for_the_next_with_the_same_key(self):
        keys = []
        on = Hooks(request=lambda event: keys.append(event.headers.get("idempotency-key")))
        await self.silent(timeout_ms=900, retries=2, on=on).check(QUESTION)
        self.assertEqual((len(keys), len(set(keys))), (3, 1))
        self.assertRegex(keys[0], "^[0-9a-f]{32}$")
        keys.clear()
        await self.silent(timeout_ms=100, on=on).check(QUESTION, idempotency_key="mine")
        self.assertEqual(keys, ["mine"])

    async def test_a_batch_is_not_tried_again_and_each_of_its_checks_is_decided_by_fail(self):
        paths = []
        on = Hooks(request=lambda event: paths.append(event.path))
        weir = self.silent(timeout_ms=150, retries=2, batch_ms=0, on=on)
        decisions = await asyncio.gather(weir.check(QUESTION), weir.check(QUESTION))
        self.assertEqual(paths, ["/v1/check/batch"])
        self.assertEqual([one.reason for one in decisions], ["unreachable", "unreachable"])

    async def test_a_task_that_is_cancelled_ends_its_call(self):
        task = asyncio.create_task(self.silent(timeout_ms=60_000).check(QUESTION))
        await asyncio.sleep(0.05)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    async def test_what_is_not_said_for_ever_is_no_exception(self):
        weir = self.silent(timeout_ms=60)
        self.assertTrue((await weir.place({"limit": "shape"})).accepted)
        self.assertIsNone(await weir.settle("r", 1))
        self.assertIsNone(await weir.release("g", "s"))
        self.assertIs(await weir.report("origin", "acme", "success"), False)

    async def test_a_scope_that_fail_opened_runs_and_has_nothing_to_settle_or_give_back(self):
        seen = []
        weir = self.silent(timeout_ms=60, on=Hooks(request=lambda event: seen.append(event.path)))
        async with weir.reserve({**QUESTION, "cost": 5}) as reservation:
            reservation.used(3)
            self.assertEqual((reservation.allowed, reservation.lost), (True, None))
        async with weir.acquire({"tenant": "acme", "guard": "calls"}) as slot:
            self.assertTrue(slot.allowed)
        self.assertEqual(seen, ["/v1/check", "/v1/check"])

    async def test_options_that_make_no_sense_are_refused_by_name(self):
        for name, value in (
            ("fail", "maybe"),
            ("token", ""),
            ("token", "two words"),
            ("url", "ftp://example.com"),
            ("url", "example.com"),
            ("url", "https://name:word@example.com"),
            ("timeout_ms", 0),
            ("timeout_ms", 1.5),
            ("timeout_ms", True),
            ("retries", 11),
            ("batch_ms", -1),
        ):
            options = {"url": "https://example.com", "token": "t", "fail": "open", name: value}
            for kind in (Weir, AsyncWeir):
                with self.assertRaisesRegex(ValueError, f"^{name}: "):
                    kind(**options)
        weir = self.silent()
        for options in ({"timeout_ms": 0}, {"retries": -1}, {"retries": 1, "idempotency_key": "\n"}):
            with self.assertRaisesRegex(ValueError, f"^{list(options)[-1]}: "):
                await weir.check(QUESTION, **options)

    async def test_a_question_that_is_no_json_is_refused_before_anything_is_sent(self):
        weir = self.silent(timeout_ms=60)
        for cost in (float("nan"), "\ud800"):
            with self.assertRaises(ValueError):
                await weir.check({**QUESTION, "cost": cost})
            with self.assertRaises(ValueError):
                await weir.batch([QUESTION, {**QUESTION, "cost": cost}])
        self.assertEqual(self.server.seen, [])

    async def test_a_hook_that_raises_breaks_nothing(self):
        def request(_):
            raise RuntimeError("a bad day")

        weir = self.silent(timeout_ms=60, on=Hooks(request=request))
        self.assertEqual((await weir.check(QUESTION)).reason, "unreachable")

    async def test_a_closed_client_is_out_of_reach(self):
        weir = self.silent()
        await weir.aclose()
        self.assertEqual((await weir.check(QUESTION)).reason, "unreachable")
