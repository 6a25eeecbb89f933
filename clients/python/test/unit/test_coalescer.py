"""What is asked together leaves together, within the bounds of a batch."""

import asyncio
import unittest

from weir_client.coalescer import Bounds, Coalescer


def gather(within_ms, questions=1_000, size=65_536):
    """A coalescer, and the batches that left it."""
    batches = []

    def send(batch):
        batches.append([one.text for one in batch])
        for one in batch:
            one.resolve(f"answer to {one.text}")

    return batches, Coalescer(within_ms, Bounds(questions, size), send)


class Gathering(unittest.IsolatedAsyncioTestCase):
    async def test_what_is_asked_in_one_turn_is_one_batch_and_each_is_given_its_own_answer(self):
        batches, coalescer = gather(0)
        answers = await asyncio.gather(*(coalescer.ask(text) for text in "abc"))
        self.assertEqual(batches, [["a", "b", "c"]])
        self.assertEqual(answers, ["answer to a", "answer to b", "answer to c"])

    async def test_the_next_turn_is_the_next_batch(self):
        batches, coalescer = gather(0)
        await coalescer.ask("a")
        await coalescer.ask("b")
        self.assertEqual(batches, [["a"], ["b"]])

    async def test_a_longer_time_gathers_what_comes_within_it(self):
        batches, coalescer = gather(200)
        first = coalescer.ask("a")
        await asyncio.sleep(0.005)
        self.assertEqual(batches, [])
        await asyncio.gather(first, coalescer.ask("b"))
        self.assertEqual(batches, [["a", "b"]])

    async def test_a_full_batch_leaves_at_once(self):
        batches, coalescer = gather(60_000, questions=2)
        asked = [coalescer.ask(text) for text in "abcd"]
        self.assertEqual(batches, [["a", "b"], ["c", "d"]])
        await asyncio.gather(*asked)

    async def test_bytes_are_those_of_utf_8_with_a_comma_each_and_one_that_is_too_long_goes_alone(self):
        batches, coalescer = gather(0, size=10)
        texts = ["aaaa", "\u00fc\u00fc", "b", "x" * 50, "c"]
        await asyncio.gather(*(coalescer.ask(text) for text in texts))
        self.assertEqual(batches, [["aaaa", "\u00fc\u00fc"], ["b"], ["x" * 50], ["c"]])

    async def test_who_has_left_is_not_answered_and_harms_nobody(self):
        batches, coalescer = gather(0)
        left, stayed = coalescer.ask("a"), coalescer.ask("b")
        left.cancel()
        self.assertEqual(await stayed, "answer to b")
        self.assertEqual(batches, [["a", "b"]])
