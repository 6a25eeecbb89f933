"""The examples of the documentation compute what they say."""

import doctest
import importlib
import pkgutil
import unittest

import weir_client

MODULES = [importlib.import_module(one.name) for one in pkgutil.iter_modules(weir_client.__path__, "weir_client.")]


class Examples(unittest.TestCase):
    def test_each_is_true(self):
        results = [doctest.testmod(module) for module in MODULES]
        self.assertEqual(sum(one.failed for one in results), 0)
        self.assertGreater(sum(one.attempted for one in results), 10)
