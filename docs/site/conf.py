"""The project's pages, by Sphinx: the guide that the window shows, findings, Python's interface.

The sources are the files of the repository, where they are, so the folder of sources is its root.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

project = "Helixscope"
author = "The Helixscope developers"
release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
root_doc = "docs/site/index"
include_patterns = [
    "docs/**",
    "resources/guide/*.md",
    "resources/lessons/README.md",
    "resources/sample*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
]
exclude_patterns = ["docs/first-view/**", "docs/site/templates/**"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"

templates_path = [str(Path(__file__).parent / "templates")]
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "Helixscope"
html_favicon = "../../resources/icons/helixscope.svg"
html_logo = html_favicon
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2, "footer_end": []}
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
