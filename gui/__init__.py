"""The window and the commands: what is shown, and how it is asked for.

Folders are layers: each imports those below it in this list and nothing above it: `notebook`,
`commands`, `window`, `panels`, `export`, `viewport`, `plots`, `services`, `scene`, `widgets`,
`state`, `style`.
"""

from gui.style.changed_imports import change_imports

change_imports()
