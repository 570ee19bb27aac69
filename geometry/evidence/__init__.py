"""What any smooth curve would show: statistics that tell more, and null distributions.

Knows tables of numbers only, no models.
"""
