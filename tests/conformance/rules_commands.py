"""Rules of commands.md (when a command executes, when a bundle completes) and of program.md."""

from __future__ import annotations

from conformance.rule import CONTROL, ILLEGAL, LEGALITY, Rule, at, field

_UNPUSHED = at("lanes:apply", "operand is None")
_ANY_DIM = (*(field(f"B.DIM.LB{n}", "RegSrc") for n in range(3)), _UNPUSHED)
_LOCAL, _SHARED = "header:_local.step", "header:_shared.step"
_SUBVIEW, _ASSEMBLE, _MATRIX = "header:_subview.step", "header:_assemble.step", "header:_matrix_attributes.step"

COMMANDS = (
    Rule(
        "command.decode.1",
        "A word that matches no form is illegal.",
        ILLEGAL,
        (at("processor:Processor._decode", "inst is None"),),
    ),
    Rule("command.decode.2", "Reserved types of a block start.", ILLEGAL, (field("BSTART.TLOAD", "DataType"),)),
    Rule("command.decode.3", "Unassigned layout codes of B.DATR.", ILLEGAL, (field("B.DATR", "Layout"),)),
    Rule("command.decode.4", "Reserved types of B.DATR.", ILLEGAL, (field("B.DATR", "DataType"),)),
    Rule("command.decode.5", "CMode codes 6 and 7.", ILLEGAL, (field("B.DATR", "CMode"),)),
    Rule("command.decode.6", "Reserved PreQuantMode codes.", ILLEGAL, (field("B.FPATR", "PreQuantMode"),)),
    Rule("command.decode.7", "Reserved ReluMode codes.", ILLEGAL, (field("B.FPATR", "ReluMode"),)),
    Rule("command.decode.8", "GroupNCode above 9.", ILLEGAL, (field("B.FPATR", "GroupNCode"),)),
    Rule("command.decode.9", "GPR codes above 23 in B.IOR.", ILLEGAL, (field("B.IOR", "RegSrc0"),)),
    Rule(
        "command.decode.10",
        "GPR codes above 23 in B.DIM.",
        ILLEGAL,
        _ANY_DIM,
    ),
    Rule("command.decode.11", "C.B.DIMI of a fourth dimension.", ILLEGAL, (field("C.B.DIMI", "LoopNest"),)),
    Rule("command.decode.12", "Sizes above 64 KiB of a Local destination.", ILLEGAL, (field("B.IOT.D", "SizeCode"),)),
    Rule("command.decode.13", "SizeCode 13 to 15 of B.IOS.", ILLEGAL, (field("B.IOS", "SizeCode"),)),
    Rule("command.decode.14", "SizeCode 13 to 15 of B.ASSEMBLE.", ILLEGAL, (field("B.ASSEMBLE", "SizeCode"),)),
    Rule(
        "command.decode.15", "SizeCode 0 and 13 to 15 of B.SUBVIEW.", ILLEGAL, (field("B.SUBVIEW", "SubviewSizeCode"),)
    ),
    Rule("command.decode.16", "GPR codes above 23 in B.SUBVIEW.", ILLEGAL, (field("B.SUBVIEW", "RegSrc"),)),
    Rule("command.decode.17", "GPR codes above 23 in B.ASSEMBLE.", ILLEGAL, (field("B.ASSEMBLE", "RegSrc"),)),
    Rule(
        "command.header.1", "A header command needs an active block.", CONTROL, (at("header:header", "block is None"),)
    ),
    Rule(
        "command.header.2", "No header command once the body has begun.", CONTROL, (at("header:header", "block.body"),)
    ),
    Rule(
        "command.catr.1",
        "At most one B.CATR.",
        CONTROL,
        (at("header:_control_attributes.step", "_once(block.has_control, 'B.CATR')"),),
    ),
    Rule(
        "command.datr.1",
        "At most one B.DATR.",
        CONTROL,
        (at("header:_data_attributes.step", "_once(block.attributes, 'B.DATR')"),),
    ),
    Rule(
        "command.dim.1",
        "Every dimension is set at most once.",
        CONTROL,
        (at("header:_dimension.step", "dims[index] is not None"),),
    ),
    Rule(
        "command.ior.1",
        "At most one B.IOR.",
        CONTROL,
        (at("header:_registers.step", "_once(block.registers, 'B.IOR')"),),
    ),
    Rule(
        "command.hint.1", "At most one B.HINT.", CONTROL, (at("header:_hint.step", "_once(block.has_hint, 'B.HINT')"),)
    ),
    Rule(
        "command.iot.1", "No B.IOT after the one marked last.", CONTROL, (at(_LOCAL, "bindings and bindings[-1].last"),)
    ),
    Rule(
        "command.iot.2",
        "All B.IOT of a block have one mask.",
        LEGALITY,
        (at(_LOCAL, "bindings and bindings[0].mask != mask"),),
    ),
    Rule("command.iot.3", "At most four B.IOT.", LEGALITY, (at(_LOCAL, "len(bindings) == MAX_BINDINGS"),)),
    Rule(
        "command.ios.1",
        "A B.IOS has the mask of the bindings before it.",
        LEGALITY,
        (at(_SHARED, "any((earlier != mask for earlier in masks))"),),
    ),
    Rule(
        "command.ios.2",
        "No Shared tile is bound twice.",
        CONTROL,
        (at(_SHARED, "any((earlier.number == number for earlier in bindings))"),),
    ),
    Rule("command.ios.3", "At most four B.IOS.", CONTROL, (at(_SHARED, "len(bindings) == MAX_BINDINGS"),)),
    Rule("command.fpatr.1", "At most one B.FPATR.", CONTROL, (at(_MATRIX, "_once(block.matrix, 'B.FPATR')"),)),
    Rule(
        "command.fpatr.2",
        "B.FPATR belongs to matrix blocks.",
        CONTROL,
        (at(_MATRIX, "block.operation.family != 'CUBE'"),),
    ),
    Rule("command.fpatr.3", "B.FPATR belongs to tile blocks.", CONTROL, (at(_MATRIX, "block.operation is None"),)),
    Rule("command.fpatr.4", "B.FPATR comes before B.IOR.", CONTROL, (at(_MATRIX, "block.registers"),)),
    Rule("command.fpatr.5", "B.FPATR comes before every B.IOT.", CONTROL, (at(_MATRIX, "block.locals"),)),
    Rule("command.fpatr.6", "B.FPATR comes before every B.IOS.", CONTROL, (at(_MATRIX, "block.shared"),)),
    Rule(
        "command.fpatr.7",
        "RowMaxInit needs RowMaxEn; GroupMaxEn and GroupNCode need each other; MaxAbsEn needs a maximum.",
        LEGALITY,
        (at(_MATRIX, "not consistent"),),
    ),
    Rule(
        "command.range.1",
        "A range modifier stands directly behind its binder.",
        CONTROL,
        (at("processor:Processor.group", "self._group_end != pc"),),
    ),
    Rule(
        "command.subview.1",
        "A Local view is at most 64 KiB.",
        LEGALITY,
        (at(_SUBVIEW, "local and size > MAX_LOCAL_SIZE_CODE"),),
    ),
    Rule("command.subview.2", "The binder has the source that is viewed.", CONTROL, (at(_SUBVIEW, "slot >= sources"),)),
    Rule(
        "command.subview.3", "Views come in order, each source once.", CONTROL, (at(_SUBVIEW, "slot <= m.group_role"),)
    ),
    Rule(
        "command.assemble.1",
        "A fragment behind a B.IOT is at most 64 KiB.",
        LEGALITY,
        (at(_ASSEMBLE, "local and record.size_code > MAX_LOCAL_SIZE_CODE"),),
    ),
    Rule(
        "command.assemble.2",
        "INIT needs a destination, continuing a source-form B.IOS.",
        CONTROL,
        (at(_ASSEMBLE, "stores != record.init"),),
    ),
    Rule(
        "command.assemble.3", "Nothing continues behind a B.IOT.", CONTROL, (at(_ASSEMBLE, "local and (not stores)"),)
    ),
    Rule(
        "command.assemble.4",
        "One B.ASSEMBLE for a binder.",
        CONTROL,
        (at(_ASSEMBLE, "m.group_role >= _DESTINATION_ROLE"),),
    ),
    Rule("command.start.1", "IND and ICALL need an active block.", CONTROL, (at("starts:_goal", "block is None"),)),
    Rule(
        "command.start.2",
        "IND and ICALL need a Standard or Floating block.",
        CONTROL,
        (at("starts:_goal", "block.kind not in ('STD', 'FP')"),),
    ),
    Rule(
        "command.start.3", "The target of a block start is even.", "InstructionPC", (at("starts:_goal", "target & 1"),)
    ),
    Rule(
        "completion.1", "A stop needs an active block.", CONTROL, (at("processor:Processor.complete", "block is None"),)
    ),
    Rule(
        "completion.2",
        "A block continues at an even address.",
        "InstructionPC",
        (at("processor:Processor.complete", "resume & 1"),),
    ),
    Rule(
        "completion.3",
        "B.CATR dr belongs to VEC, SFU and TLSU blocks.",
        CONTROL,
        (
            at(
                "processor:Processor.complete",
                "block.dimension_reduction and (operation is None or operation.family == 'CUBE')",
            ),
        ),
    ),
    Rule(
        "completion.5",
        "A block whose bindings all have mask 0000 is skipped.",
        "none",
        (at("operations:execute", "not bundle.zero_mask_seen", value=True),),
    ),
    Rule(
        "completion.8",
        "Layouts 21 to 26 are for TLOAD and TSTORE.",
        LEGALITY,
        (
            at(
                "operations:_common_checks",
                "(layout in CUBE_LOAD or layout in CUBE_STORE) and name not in _CUBE_TRANSFERS",
            ),
        ),
    ),
    Rule(
        "completion.12",
        "B.CATR trap faults after the commit.",
        "BundlePostCommit",
        (at("processor:Processor.complete", "block.trap"),),
    ),
    Rule(
        "program.condition.1",
        "A condition needs an active block.",
        CONTROL,
        (at("scalar:_set_condition.step", "block is None"),),
    ),
    Rule(
        "program.condition.2",
        "A condition needs a COND block.",
        CONTROL,
        (at("scalar:_set_condition.step", "block.transfer != 'COND'"),),
    ),
    Rule(
        "program.condition.3",
        "One condition in a block.",
        CONTROL,
        (at("scalar:_set_condition.step", "block is None or block.transfer != 'COND' or block.condition_set"),),
    ),
    Rule(
        "program.target.1",
        "A target needs an active block.",
        CONTROL,
        (at("scalar:_set_target.step", "block is None"),),
    ),
    Rule(
        "program.target.2",
        "A target needs a Standard or Floating block.",
        CONTROL,
        (at("scalar:_set_target.step", "block.kind not in ('STD', 'FP')"),),
    ),
    Rule(
        "program.target.3",
        "C.SETC.TGT at most once in a block.",
        CONTROL,
        (at("scalar:_set_target.step", "once and block.target_set"),),
    ),
    Rule(
        "program.jump.1", "JR goes to an even address.", "InstructionPC", (at("scalar:_jump.indirect", "address & 1"),)
    ),
    Rule(
        "program.queue.1",
        "A queue entry that was never pushed cannot be read.",
        ILLEGAL,
        (at("lanes:apply", "operand is None"),),
    ),
    Rule(
        "program.fetch.1",
        "An instruction lies inside the image.",
        "InstructionPage",
        (at("processor:Processor._decode", "length is None"),),
    ),
)
