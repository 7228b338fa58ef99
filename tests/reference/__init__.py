"""A second simulator, written from the reference pages alone, and random programs to compare the two with.

It shares nothing with ``ptoc.runtime``: elements are Python integers in dictionaries, every effect is a loop over
rows and columns in the order the pages give, and real numbers are exact until the rounding that a page names.
From ``ptoc.isa`` it takes decoded instructions and nothing else.
"""
