"""The machine of the reference: one core, its memory, and the commands of a program one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptoc.isa.forms import Instruction
from reference.bundle import MASKS, Binder, Bundle, Diagnostic, command, divergent, modify, offsets
from reference.state import HANDS, POOL, Generation, Refusal, Shared, Tile, Waiting, cell, refuse_if, size

STARTS = {
    "BSTART.TLOAD": "TLOAD",
    "BSTART.TSTORE": "TSTORE",
    "BSTART.TMOV": "TMOV",
    "BSTART.GMOV": "GMOV",
    "BSTART.TPREFETCH": "TPREFETCH",
    "BSTART.MGATHER": "MGATHER",
    "BSTART.MGATHER.MASK": "MGATHER_MASK",
    "BSTART.MGATHER.CAS": "MGATHER_CAS",
    "BSTART.MSCATTER": "MSCATTER",
    "BSTART.MSCATTER.MASK": "MSCATTER_MASK",
    "BSTART.TMATMUL": "TMATMUL",
    "BSTART.TMATMUL.ACC": "TMATMUL_ACC",
}
STOPS = {"BSTOP", "C.BSTOP", "L.BSTOP"}


def _selected(inst: Instruction) -> str:
    from reference import indexed, layout, sorting, vector

    return (vector.SELECTORS | layout.SELECTORS | indexed.SELECTORS | sorting.SELECTORS)[inst["Mode"], inst["Function"]]


class Reference:
    """A core in its reset state with ``memory`` and ``gpr[pe][code]``."""

    def __init__(self, memory: bytearray, gpr: list[list[int]]) -> None:
        self.memory = memory
        self.gpr = gpr
        self.hands: list[list[list[Tile]]] = [[[] for _ in HANDS] for _ in range(4)]
        self.shared: dict[int, Shared] = {}
        self.open: dict[int, Generation] = {}
        self.flags = 0
        self.started = 0
        self.bundle: Bundle | None = None
        self.group: Binder | str | None = "closed"

    def run(self, program: Sequence[Instruction]) -> tuple[str, str, int] | None:
        """Execute in order; ``(status, fault kind, bundle)`` where it faults or waits, ``None`` at the end."""
        for inst in program:
            try:
                self._step(inst)
            except Refusal as refusal:
                return "fault", refusal.kind, max(self.started - 1, 0)
            except Waiting:
                return "waiting", "", max(self.started - 1, 0)
            except Diagnostic:
                return "diagnostic", "", max(self.started - 1, 0)
        return None

    def _step(self, inst: Instruction) -> None:
        group, self.group = self.group, "closed"
        if inst.key in STARTS or inst.key == "BSTART.TEPL":
            if self.bundle is not None:
                self.complete()
            operation = _selected(inst) if inst.key == "BSTART.TEPL" else STARTS[inst.key]
            self.bundle = Bundle(operation, inst["DataType"], operation.startswith("TMATMUL"))
            self.started += 1
        elif inst.key in STOPS:
            refuse_if(self.bundle is None, "BundleControl")
            self.complete()
        elif inst.key == "ADDI":
            if self.bundle is not None:
                self.bundle.body = True
            for regs in self.gpr:
                regs[inst["RegDst"]] = (regs[inst["SrcL"]] + inst["uimm12"]) % 2**64 if inst["RegDst"] else 0
        elif inst.key in ("B.SUBVIEW", "B.ASSEMBLE"):
            refuse_if(group == "closed", "BundleControl")
            if isinstance(group, Binder):
                modify(group, inst, self.gpr)
            self.group = group
        elif inst.key.startswith(("B.IOT", "B.IOS")) and not MASKS[inst["PEMode"]]:
            if self.bundle is not None:
                self.bundle.zero_mask = True
            self.group = None
        else:
            binder = command(self.bundle, inst, self.gpr)
            self.group = "closed" if binder is None else binder

    def complete(self) -> None:
        """Steps 1 to 3 and 5 of commands.md section 6, then the list of the operation."""
        from reference import elementwise, indexed, layout, matrix, sorting, transfers, vector

        bundle = self.bundle
        assert bundle is not None
        dr = bundle.catr is not None and bundle.catr["DR"]
        refuse_if(dr and bundle.matrix_family, "BundleControl")
        if bundle.locals or bundle.shared or not bundle.zero_mask:
            cube = 21 <= bundle.layout <= 26
            refuse_if(cube and bundle.operation not in ("TLOAD", "TSTORE"), "TileLegality")
            refuse_if(any(binder.assembly for binder in bundle.locals), "TileLegality")
            perform: Callable[[Reference, Bundle], None] = {
                "TLOAD": transfers.load,
                "TSTORE": transfers.store,
                "TCMP": elementwise.tcmp,
                "MSCATTER_MASK": elementwise.scatter,
                "TMATMUL": matrix.product,
                "TMATMUL_ACC": matrix.product,
                "TMOV": layout.move,
                "GMOV": layout.move,
                "TPREFETCH": indexed.prefetch,
                **dict.fromkeys(indexed.ROLES, indexed.memory),
                **dict.fromkeys(indexed.SELECTORS.values(), indexed.rows),
                **dict.fromkeys(sorting.SELECTORS.values(), sorting.perform),
            }.get(bundle.operation, layout.perform if bundle.operation in layout.ROWS else vector.perform)
            perform(self, bundle)
        self.bundle = None
        refuse_if(bundle.catr is not None and bundle.catr["trap"], "BundlePostCommit")

    # Local tiles

    def source(self, pe: int, binder: Binder, slot: int, pes: list[int]) -> Tile:
        """The generation that a source selector names, or its view."""
        selector = binder.sources[slot]
        hand = self.hands[pe][selector // 16]
        refuse_if(selector % 16 >= len(hand), "TileLegality")
        tile = hand[selector % 16]
        return tile if slot not in binder.views else self._local_view(tile, binder, slot, pes)

    def _local_view(self, tile: Tile, binder: Binder, slot: int, pes: list[int]) -> Tile:
        view = binder.views[slot]
        if divergent({view.latched[pe] for pe in pes}):
            raise Diagnostic("offsets of a Local view differ between PEs")
        refuse_if(not tile.layout.startswith("CUBE"), "TileLegality")
        o, m = view.latched[pes[0]], size(view.size) // 128
        cr, cc = cell(tile.layout, tile.bits)
        down = tile.rows // cr
        refuse_if(o >= down * (tile.cols // cc), "TileLegality")
        if tile.layout == "CUBE_N8":
            m = min(m, down - o % down)
            r0, c0, rows, cols = (o % down) * cr, 8 * (o // down), m * cr, 8
        else:
            m = min(m, tile.cols // cc - o)
            r0, c0, rows, cols = 0, o * cc, tile.rows, m * cc
        valid_rows, valid_cols = min(tile.valid_rows - r0, rows), min(tile.valid_cols - c0, cols)
        refuse_if(valid_rows <= 0 or valid_cols <= 0, "TileLegality")
        n8 = tile.layout == "CUBE_N8"
        own_rows = -(-valid_rows // cr) * cr if n8 else cr
        own_cols = -(-valid_cols // cc) * cc
        capacity = (own_rows // cr) * (own_cols // cc) * 128
        part = Tile("numeric", tile.dtype, tile.layout, capacity, own_rows, own_cols, valid_rows, valid_cols)
        for r in range(valid_rows):
            for c in range(valid_cols):
                part.put(r, c, tile.at(r0 + r, c0 + c))
        return part

    def room(self, pe: int, destinations: list[tuple[int, int]], sources: list[int]) -> None:
        """Naming and pool after commit (tiles.md section 2); destinations are hand and capacity."""
        hands = self.hands[pe]
        total = sum(tile.capacity for hand in hands for tile in hand) + sum(new for _, new in destinations)
        for hand in range(4):
            new = sum(1 for other, _ in destinations if other == hand)
            retired = range(16 - new, len(hands[hand]))
            refuse_if(any(16 * hand + d in sources for d in retired), "TileAllocation")
            total -= sum(hands[hand][d].capacity for d in retired)
        refuse_if(total > POOL, "TileAllocation")

    def publish(self, pe: int, hand: int, tile: Tile) -> None:
        self.hands[pe][hand] = [tile, *self.hands[pe][hand]][:16]

    # Shared tiles

    def shared_room(self, name: int, capacity: int) -> None:
        """The Shared pool if ``name`` also had an object of this capacity."""
        charged = {n: s.tile.capacity for n, s in self.shared.items()}
        for n, generation in self.open.items():
            charged[n] = max(charged.get(n, 0), generation.capacity)
        charged[name] = max(charged.get(name, 0), capacity)
        refuse_if(sum(charged.values()) > POOL, "TileLegality")

    def shared_view(self, parent: Tile, binder: Binder, pe: int) -> Tile:
        """What a PE reads of a Shared source: all of it, or its own B.SUBVIEW (tiles.md section 7)."""
        view = binder.views.get(0)
        if view is None:
            return parent
        o, nbytes = offsets(view.inst, self.gpr)[pe], size(view.size)
        refuse_if(o > 2047 or 128 * o + nbytes > parent.capacity, "TileLegality")
        n, e0 = nbytes * 8 // parent.bits, 128 * o * 8 // parent.bits
        r0, c0 = e0 // parent.cols, e0 % parent.cols
        if c0 + n <= parent.cols:
            rows, cols = 1, n
        else:
            refuse_if(c0 or n % parent.cols, "TileLegality")
            rows, cols = n // parent.cols, parent.cols
        valid_rows, valid_cols = min(parent.valid_rows - r0, rows), min(parent.valid_cols - c0, cols)
        refuse_if(valid_rows <= 0 or valid_cols <= 0, "TileLegality")
        part = Tile("numeric", parent.dtype, "NORM", nbytes, rows, cols, valid_rows, valid_cols)
        for r in range(valid_rows):
            for c in range(valid_cols):
                bits = parent.get(r0 + r, c0 + c)
                if bits is not None:
                    part.put(r, c, bits)
        return part

    # Memory

    def probe(self, address: int, bits: int) -> None:
        """One element access: alignment, then bounds."""
        nbytes = max(1, bits // 8)
        refuse_if(address % nbytes, "DataAlignment")
        refuse_if(address + nbytes > len(self.memory), "DataPage")

    def read(self, address: int, bits: int, high: bool) -> int:
        if bits == 4:
            return self.memory[address] >> 4 if high else self.memory[address] & 15
        return int.from_bytes(self.memory[address : address + bits // 8], "little")

    def write(self, address: int, bits: int, high: bool, value: int) -> None:
        if bits == 4:
            old = self.memory[address]
            self.memory[address] = old & 15 | value << 4 if high else old & 0xF0 | value
        else:
            self.memory[address : address + bits // 8] = value.to_bytes(bits // 8, "little")
