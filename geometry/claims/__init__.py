"""What is measured on a model as a whole: the claims ledger, reports and single numbers.

The top of `geometry`: no other package here imports it.
"""
