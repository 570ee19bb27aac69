"""Campaigns: loops over random cases that try to break what Helixscope guarantees.

They run as ``python -m tools.campaigns.NAME``; a small part of each runs with the tests.
"""
