"""Arithmetic of the machine on arrays of raw element bits; every function gives the exact bits and flags."""
