"""Data files shipped with Helixscope: models, lessons, the user guide and its pictures, icons."""
