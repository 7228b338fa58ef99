"""Hypothesis strategies that several rooms' tests share."""

from hypothesis import strategies as st

from ptoc.isa.forms import Field, Form, Instruction


def values(f: Field) -> st.SearchStrategy[int]:
    """Any legal value of a field."""
    if f.allowed is not None:
        return st.sampled_from(sorted(f.allowed))
    return st.integers(f.low // f.step, f.high // f.step).map(lambda v: v * f.step)


def instructions(form: Form) -> st.SearchStrategy[Instruction]:
    return st.tuples(*map(values, form.fields)).map(lambda drawn: Instruction(form, drawn))
