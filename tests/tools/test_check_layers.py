"""check-layers accepts what src/LAYERS allows and names each include that it does not."""
import unittest

from tool_case import ToolCase


class CheckLayers(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("src/LAYERS", "# a comment\nbase:\nsync: base\nsem: base sync\ncli: # public headers\n")
        self.plant("src/base/list.h", "")
        self.plant("src/sync/sync.h", '#include "base/list.h"\n')
        self.plant("include/belay/sem.h", '#include "belay/base.h"\n')
        self.plant("include/belay/base.h", "#include <stdint.h>\n")

    def assert_refused(self, expected):
        code, output = self.run_tool("check-layers")
        self.assertEqual(output.strip(), expected)
        self.assertEqual(code, 1)

    def test_accepts_includes_of_lower_layers_and_public_headers(self):
        self.plant("src/sem/sem_int.h", "")
        self.plant("src/sem/sem.c", '#include "belay/sem.h"\n#include "sem/sem_int.h"\n'
                                    '#include "sync/sync.h"\n#include <string.h>\n')
        self.assertEqual(self.run_tool("check-layers"), (0, ""))

    def test_refuses_an_include_of_a_higher_layer(self):
        self.plant("src/base/bad.c", '#include "sync/sync.h"\n')
        self.assert_refused("src/base/bad.c: includes sync/sync.h: base may include only itself")

    def test_refuses_an_include_in_angle_brackets_too(self):
        self.plant("src/base/bad.c", "  #  include <sync/sync.h>\n")
        self.assert_refused("src/base/bad.c: includes sync/sync.h: base may include only itself")

    def test_refuses_a_private_header_of_another_layer(self):
        self.plant("src/sync/lock_int.h", "")
        self.plant("src/sem/bad.c", '#include "sync/lock_int.h"\n')
        self.assert_refused(
            "src/sem/bad.c: includes sync/lock_int.h: that header is private to src/sync")

    def test_refuses_a_private_header_reached_by_a_relative_path(self):
        self.plant("src/cli/bad.c", '#include "../sem/sem.h"\n')
        self.assert_refused("src/cli/bad.c: includes ../sem/sem.h: use a path from src or include")

    def test_refuses_a_layer_that_is_not_listed(self):
        self.plant("src/extra/new.c", "")
        self.assert_refused("src/extra/new.c: extra is not in src/LAYERS")

    def test_refuses_a_public_header_that_includes_a_private_one(self):
        self.plant("include/belay/sem.h", '#include "sync/sync.h"\n')
        self.assert_refused("include/belay/sem.h: includes sync/sync.h, which is not public")

    def test_refuses_a_public_header_that_does_not_exist(self):
        self.plant("src/sem/bad.c", '#include "belay/none.h"\n')
        self.assert_refused("src/sem/bad.c: includes belay/none.h: there is no such public header")

    def test_refuses_a_table_with_a_cycle(self):
        self.plant("src/LAYERS", "base: sync\nsync: base\n")
        self.assert_refused("src/LAYERS: base names sync, which does not stand above it")


if __name__ == "__main__":
    unittest.main()
