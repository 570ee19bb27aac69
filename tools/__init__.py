"""Tools of the developers, which are not installed.

Makers of pictures, of pages of the guide and of a study's tables, run as ``python -m tools.NAME``;
`campaigns` try to break the guarantees for files.
"""
