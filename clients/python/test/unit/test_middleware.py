"""What a denial is told as."""

import json
import unittest

from weir_client import Decision
from weir_client.asgi import problem, retry_after_s


def denied(reason, retry_after_ms=250, binding="per_ip"):
    return Decision(False, reason, 10, 0, 5, retry_after_ms, binding, "weur", None, 1)


class Denials(unittest.TestCase):
    def test_a_denial_is_429_and_503_where_nobody_has_capacity(self):
        statuses = {
            "over_share": 429, "cap_reached": 429, "limit_exceeded": 429, "concurrency": 429, "never": 429,
            "overloaded": 503, "unavailable": 503, "unreachable": 503,
        }
        for reason, status in statuses.items():
            told, body = problem(denied(reason))
            self.assertEqual((told, json.loads(body)["status"]), (status, status), reason)

    def test_a_problem_names_what_was_exceeded(self):
        told = json.loads(problem(denied("limit_exceeded"))[1])
        self.assertEqual(told["violated-policies"], ["per_ip"])
        self.assertEqual(told["detail"], "per_ip is exceeded.")
        self.assertTrue(told["type"].endswith("#quota-exceeded"))
        self.assertNotIn("violated-policies", json.loads(problem(denied("unreachable", binding=""))[1]))

    def test_who_is_denied_waits_a_second_at_least(self):
        for after_ms, after_s in ((0, 1), (1, 1), (1_000, 1), (1_001, 2), (None, None)):
            self.assertEqual(retry_after_s(after_ms), after_s)
