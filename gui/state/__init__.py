"""What is wanted, what is open and what was found: the session and the values in it.

Plain values without a toolkit; nothing here starts work.
"""
