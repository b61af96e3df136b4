"""A cell whose digits hang on the processor, or on the last bits of a start, is found by the tool that changes them."""

import elsewhere
import pytest
import run_notebooks
from nbformat.v4 import new_code_cell, new_notebook

SUMS = """import numpy as np
np.set_printoptions(precision=17)
x = np.random.default_rng(0).normal(size=(200, 200))
print((x @ x)[0])"""
ALIKE = """a, b = (np.random.default_rng(1).random(3, dtype=np.float32) for _ in range(2))
c, d = (np.random.default_rng(1).normal(size=3) for _ in range(2))
print(a.dtype, (a == b).all(), (c == d).all())"""  # one seed, one stream, whatever was drawn before


@pytest.mark.parametrize(("way", "said"), [("--processor=SSE3", "SSE3"), ("--shakes=1", "shake 1")])
def test_last_digits_are_found_and_first_ones_pass(way, said, tmp_path, capsys):
    if said not in elsewhere.here() and "processor" in way:
        return  # only x86-64 can run as another one
    for name in ("conftest.py", "pyproject.toml", "tools", "_ext"):
        (tmp_path / name).symlink_to(elsewhere.ROOT / name)
    path = tmp_path / "book" / "sums.ipynb"
    path.parent.mkdir()
    cells = [new_code_cell(SUMS), new_code_cell("print(f'{(x @ x)[0, 0]:.3f}')"),
             new_code_cell("print((x @ x)[0])", metadata={"tags": ["tolerance:1e-6"]}), new_code_cell(ALIKE)]
    path.write_bytes(run_notebooks.to_bytes(new_notebook(cells=cells)))
    run_notebooks.run(path)
    assert elsewhere.main([way, "--jobs=1"], tmp_path) == 1
    assert capsys.readouterr().out == f"{said}: book/sums.ipynb::Cell 0\n"


def test_what_does_not_run_is_not_the_same():
    with pytest.raises(SystemExit, match="did not run"):
        elsewhere.differing(["book/no_such.ipynb"], {}, 1)
