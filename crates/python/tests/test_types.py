"""What type checkers are told is what there is."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).parent


@unittest.skipUnless(importlib.util.find_spec("mypy"), "skipped: mypy is not installed")
class TypesTest(unittest.TestCase):
    def check(self, *command):
        # One cache for both: most of the time goes into the standard library.
        with tempfile.TemporaryDirectory() as here:
            for words in command:
                found = subprocess.run([sys.executable, "-m", *words], cwd=here, capture_output=True, text=True)
                self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_the_stubs_are_of_the_native_half_as_it_is_and_a_strict_checker_passes_a_program(self):
        unused = "--ignore-unused-allowlist"
        self.check(
            ["mypy.stubtest", "tilewright", "--allowlist", os.fspath(TESTS / "stubs.allow"), unused],
            ["mypy", "--strict", os.fspath(TESTS / "typed_program.py")],
        )


class ProgramTest(unittest.TestCase):
    def test_the_program_that_is_checked_runs(self):
        sys.path.insert(0, os.fspath(TESTS))
        try:
            import typed_program
        finally:
            sys.path.pop(0)
        self.assertTrue(typed_program.main())


if __name__ == "__main__":
    unittest.main()
