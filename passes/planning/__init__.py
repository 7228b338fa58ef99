"""The mathematics of planning: tile sizes, work distribution, register rings. No IR appears here.

Passes translate between IR and the small dataclasses of this package.
"""
