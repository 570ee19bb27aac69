"""Viewport."""
