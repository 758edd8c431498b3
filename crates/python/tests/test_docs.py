"""The examples of the page, run as they stand there, one after another."""

import contextlib
import io
import os
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[3]


class DocsTest(unittest.TestCase):
    def test_the_page_s_examples_work(self):
        blocks = (ROOT / "docs" / "python.md").read_text().split("```python\n")[1:]
        self.assertGreater(len(blocks), 4)
        names = {}
        here = os.getcwd()
        os.chdir(ROOT)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                for block in blocks:
                    exec(block.split("```")[0], names)
        finally:
            os.chdir(here)
        self.assertTrue(printed.getvalue())

    def test_the_package_s_own_example_works(self):
        import doctest

        import tilewright

        result = doctest.testmod(tilewright)
        self.assertEqual((result.failed, result.attempted > 0), (0, True))


if __name__ == "__main__":
    unittest.main()
