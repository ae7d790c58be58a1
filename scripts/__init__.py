"""Helpers of the Makefile; nothing of it ships."""
