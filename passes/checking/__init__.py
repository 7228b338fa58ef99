"""What ``check_values`` is made of: meanings of tiles, a machine that computes with them, and what a kernel demands.

It shares nothing with the planning that it checks, nor with the simulator: the instructions are read once more, from
the tables of the ISA.
"""
