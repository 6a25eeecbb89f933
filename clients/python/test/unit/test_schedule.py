"""When to try again, how long a try may take, and when a slot is renewed."""

import unittest

from weir_client.error import date_ms, retry_after_ms
from weir_client.schedule import lease_ms, pause_ms, renewal_ms, share_ms


class Schedule(unittest.TestCase):
    def test_pauses_double_up_to_two_seconds_and_are_drawn_below_that(self):
        longest = [pause_ms(failed, None, 1) for failed in (1, 2, 3, 4, 5, 6, 7, 8, 20)]
        self.assertEqual(longest, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
        self.assertEqual(pause_ms(3, None, 0), 0)
        self.assertEqual(pause_ms(3, None, 0.5), 100)

    def test_what_weir_says_of_the_next_try_counts(self):
        self.assertEqual(pause_ms(1, 1_000, 0), 1_000)
        self.assertEqual(pause_ms(9, 0, 1), 0)

    def test_the_tries_share_what_is_left_of_the_deadline_evenly(self):
        for left, retries, share in ((2_000, 0, 2_000), (2_000, 3, 500), (1_500, 2, 500), (-5, 1, 1)):
            self.assertEqual(share_ms(left, retries), share)

    def test_retry_after_is_seconds_or_a_date_and_the_problem_s_milliseconds_count_more(self):
        now = date_ms("Thu, 01 Jan 2026 00:00:00 GMT")
        for told, header, expected in (
            (None, "3", 3_000),
            (250, "3", 250),
            (-7, "3", 0),
            (float("inf"), "3", 3_000),
            (True, None, None),
            (None, "Thu, 01 Jan 2026 00:00:02 GMT", 2_000),
            (None, "Wed, 31 Dec 2025 00:00:00 GMT", 0),
            (None, "soon", None),
            (None, "9" * 5_000, None),
            (None, "\u0663", None),
            (None, None, None),
        ):
            self.assertEqual(retry_after_ms(told, header, now), expected, (told, header))

    def test_a_slot_is_renewed_at_a_third_of_its_lease_and_never_in_a_rush(self):
        self.assertEqual(renewal_ms(30_000), 10_000)
        self.assertEqual(round(renewal_ms(-86_400_000)), 33)

    def test_a_clock_that_is_wrong_by_an_hour_makes_a_lease_longer_by_no_more_than_a_second(self):
        second = date_ms("Thu, 01 Jan 2026 00:00:00 GMT")
        ends = second + 400 + 30_000
        self.assertEqual(lease_ms(ends, second, second + 400), 30_000)
        self.assertEqual(lease_ms(ends, second, second - 3_600_000), 30_400)
        self.assertEqual(lease_ms(ends, second, second + 3_600_000), 29_400)
        self.assertEqual(lease_ms(ends, None, second + 400), 30_000)
        self.assertIsNone(date_ms("nonsense"))
