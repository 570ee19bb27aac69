"""What is remembered between starts, the dialog that shows it, and the models kept on the disk.

Nothing of one session: that is saved work.
"""
