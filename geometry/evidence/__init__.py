"""What any smooth curve would show: statistics that go beyond it, and null distributions.

Knows tables of numbers only, no models.
"""
