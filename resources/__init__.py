"""Data files shipped with Helixscope: the model catalogue and the icons."""
