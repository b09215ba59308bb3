"""tool_case: a test case that runs a tool of the repository over a small planted tree."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(os.environ.get("BELAY_SOURCE", Path(__file__).parents[2])) / "tools"


class ToolCase(unittest.TestCase):
    """Each test starts with an empty tree in self.root."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, path, text):
        """Writes a file of the tree."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def run_tool(self, name, *args, **variables):
        """The exit code of a tool and all that it printed; variables are added to its environment."""
        done = subprocess.run([TOOLS / name, *map(str, args)], cwd=self.root, text=True, check=False,
                              env={**os.environ, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout
