"""What a bundle may consist of, as the schema of its operation says: the checks that need no machine.

They are the same for the operations of every frame that works on Local tiles, and come in the order of the ISA: the
records, then B.DATR, then the rest of the schema.
"""

from __future__ import annotations

from ptoc.isa.faults import Fault
from ptoc.runtime.bundle import Bundle
from ptoc.runtime.operations.common import CONTROL, LEGALITY, Dimensions, check_attributes, dimensions

ATTRIBUTES = {
    "PadValueOrByteId": "pad",
    "CMode": "cmode",
    "Sat": "saturate",
    "Canonicalize": "canonicalize",
    "DataType": "dtype",
    "RMode": "rounding",
    "Layout": "layout",
}
"""Fields of B.DATR: their names in schemas, and in bundles."""


def check_bundle(bundle: Bundle) -> Dimensions:
    """The dimensions of a bundle that keeps to its schema.

    Raises BundleControl for other numbers of tiles or registers, TileLegality for everything else.
    """
    operation = bundle.operation
    assert operation is not None
    _check_records(bundle)
    check_attributes(bundle, *(ATTRIBUTES[name] for name in operation.schema.attributes))
    return _check_schema(bundle)


def _check_records(bundle: Bundle) -> None:
    operation, registers = bundle.operation, bundle.registers
    assert operation is not None
    schema = operation.schema
    counts = len(bundle.local_sources), len(bundle.local_destinations)
    if counts != (len(schema.sources), len(schema.destinations)):
        wanted = f"{len(schema.sources)} sources and {len(schema.destinations)} destinations"
        raise Fault(CONTROL, f"{operation} has {wanted}, not {counts[0]} and {counts[1]}")
    if not bundle.terminated:
        raise Fault(CONTROL, "the final B.IOT is not marked last")
    if registers is not None and (any(registers.sources[len(schema.scalars) :]) or registers.destination):
        raise Fault(CONTROL, f"B.IOR names registers that {operation} does not use")


def _check_schema(bundle: Bundle) -> Dimensions:
    operation = bundle.operation
    assert operation is not None
    schema = operation.schema
    if bundle.shared:
        raise Fault(LEGALITY, f"{operation} has no Shared operand")
    if bundle.registers is not None and not schema.scalars:
        raise Fault(LEGALITY, f"{operation} takes no scalar")
    records = [(len(binding.sources), binding.stores) for binding in bundle.locals]
    if records != [(len(sources), to is not None) for sources, to in schema.bindings()]:
        raise Fault(LEGALITY, f"the operands of {operation} are not distributed over its B.IOT in this way")
    dims = dimensions(bundle)
    for number, (value, dimension) in enumerate(zip(dims, schema.dimensions)):
        if dimension is None:
            if value is not None:
                raise Fault(LEGALITY, f"{operation} does not take LB{number}")
            continue
        if value is None and dimension.default is None:
            raise Fault(LEGALITY, f"{operation} sets LB{number}")
        if value == 0 and not dimension.zero:
            raise Fault(LEGALITY, f"LB{number} is explicitly zero")
    if bundle.dtype not in schema.types and not (bundle.dtype is None and schema.open_type):
        raise Fault(LEGALITY, f"{operation} does not take {bundle.dtype}")
    return dims
