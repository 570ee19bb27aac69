"""The geometry of positional embeddings: numbers only, no window.

The names in ``__init__.pyi`` are the public face, for scripts and notebooks;
``resources/guide/python.md`` lists what each is for. They work on numpy arrays and on checkpoints,
and each is imported when first used, so that ``import geometry`` takes no time. Nothing here
imports Qt, VTK, pyvista or :mod:`gui`.

The packages, each of which imports only those after it: :mod:`geometry.survey`,
:mod:`geometry.claims`,
:mod:`geometry.training`, :mod:`geometry.inside`, :mod:`geometry.history`,
:mod:`geometry.models`, :mod:`geometry.measures`, :mod:`geometry.pca`, :mod:`geometry.hub`,
:mod:`geometry.checkpoints`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
