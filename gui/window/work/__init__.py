"""What is worked on: saving and opening it, asking before it is lost, coming back after a crash."""
