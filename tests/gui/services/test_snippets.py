"""Scripts import what they use."""

from gui.services.snippets import python_script
from tests.scripts import run_script


def test_imports_are_what_the_lines_use(model):
    text = python_script("print(np.round(fit_pca(model.W_pos, (1, 9)).mean.sum(), 3))", model)
    imports, _, lines = text.partition("\n\n")
    assert imports == "import numpy as np\nfrom geometry import fit_pca, open_model"
    assert lines.startswith("model = open_model(")
    assert float(run_script(text)) is not None


def test_a_name_of_the_lines_own_is_not_imported():
    text = python_script("""
turns = [1, 2]
print(turns, turning)
""")
    assert text == "from geometry import turning\n\nturns = [1, 2]\nprint(turns, turning)\n"


def test_long_imports_have_several_lines():
    names = ["ResidualStream", "TensorUnavailable", "corner_contrast", "squared_overlaps", "top3",
             "shared_energy", "weigh"]  # fmt: skip
    text = python_script(f"print(len([{', '.join(names)}]))")
    assert text.startswith("from geometry import (\n    ResidualStream, ")
    assert max(map(len, text.partition("\n\n")[0].splitlines())) <= 88
    assert run_script(text) == "7\n"
