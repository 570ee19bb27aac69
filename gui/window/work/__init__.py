"""The user's work: saving and opening, questions before it is lost, restoring after a crash."""
