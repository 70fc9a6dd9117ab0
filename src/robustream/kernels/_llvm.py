"""The few inner loops that compilers do not vectorise by themselves, written as LLVM instructions for Numba.

Collecting what lies inside a bracket is the one that decides: as a plain loop it alone takes 0.46 ns a product, where
everything together takes 0.2 ns here (AMD EPYC with AVX-512).

All of them go over groups of ``GROUP_BYTES``: four vectors of 64 bytes. The vectors have this fixed length on every
machine (LLVM splits them where registers are shorter), so results do not depend on the processor. Places of a last
group that hold no data must be NaN: NaN is neither below nor inside any bracket.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = [
    "GROUP_BYTES",
    "VECTOR_BYTES",
    "collect",
    "compiled",
    "count_below",
    "float_of",
    "multiply",
    "ordinal_of",
    "tally",
    "transpose",
]

# A group is four vectors: sums of one do not wait for those of the next.
VECTORS = 4
VECTOR_BYTES = 64
GROUP_BYTES = VECTORS * VECTOR_BYTES


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that only other compiled functions call."""
    without_wrappers: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(nogil=True, **without_wrappers)(function)


def generated(function: Callable[..., Any]) -> Any:
    """Make a function for compiled code out of one that returns its types and generates its instructions."""
    return intrinsic(function)


@generated
def ordinal_of(typing_context: Any, value: Any) -> Any:
    """Return the bits of a float >= 0 as an integer: they are ordered as the floats are."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], ir.IntType(value.bitwidth))
        return bits if value.bitwidth == 64 else builder.zext(bits, ir.IntType(64))

    return types.int64(value), generate


@generated
def float_of(typing_context: Any, ordinal: Any, like: Any) -> Any:
    """Return the float with these bits, in the dtype of ``like``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = arguments[0] if like.bitwidth == 64 else builder.trunc(arguments[0], ir.IntType(32))
        return builder.bitcast(bits, context.get_value_type(like))

    return like(types.int64, like), generate


class _Lanes:
    """Vectors of one dtype in the function that is being generated."""

    def __init__(self, context: Any, builder: Any, dtype: types.Float) -> None:
        self.context, self.builder = context, builder
        self.element = context.get_value_type(dtype)
        self.count = VECTOR_BYTES * 8 // dtype.bitwidth
        self.alignment = dtype.bitwidth // 8
        self.vector = ir.VectorType(self.element, self.count)
        self.mask = ir.VectorType(ir.IntType(1), self.count)
        self.zero = ir.Constant(self.vector, None)
        self.suffix = f"v{self.count}f{dtype.bitwidth}"

    def pointer(self, array_type: Any, array: Any, start: Any) -> Any:
        data = self.context.make_array(array_type)(self.context, self.builder, array).data
        return self.builder.gep(data, [start])

    def load(self, pointer: Any, offset: Any) -> Any:
        place = self.builder.bitcast(self.builder.gep(pointer, [offset]), self.vector.as_pointer())
        return self.builder.load(place, align=self.alignment)

    def store(self, value: Any, pointer: Any, offset: Any) -> None:
        place = self.builder.bitcast(self.builder.gep(pointer, [offset]), self.vector.as_pointer())
        self.builder.store(value, place, align=self.alignment)

    def shuffle(self, first: Any, second: Any, places: list[int]) -> Any:
        index = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
        return self.builder.shuffle_vector(first, second, index)

    def broadcast(self, scalar: Any) -> Any:
        single = self.builder.insert_element(self.zero, scalar, ir.Constant(ir.IntType(32), 0))
        return self.shuffle(single, self.zero, [0] * self.count)

    def call(self, name: str, result: Any, arguments: list[Any]) -> Any:
        function_type = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, function_type, name)
        return self.builder.call(function, arguments)

    def magnitude(self, value: Any) -> Any:
        return self.call(f"llvm.fabs.{self.suffix}", self.vector, [value])

    def offsets(self, group: Any) -> list[Any]:
        """Return where the vectors of a group start."""
        first = self.builder.mul(group, ir.Constant(group.type, self.count * VECTORS))
        return [self.builder.add(first, ir.Constant(group.type, self.count * vector)) for vector in range(VECTORS)]

    def mask_bits(self, mask: Any) -> Any:
        return self.builder.bitcast(mask, ir.IntType(self.count))

    def true_count(self, mask: Any) -> Any:
        return self.builder.zext(self.builder.ctpop(self.mask_bits(mask)), ir.IntType(64))

    def total(self, slots: list[Any]) -> Any:
        """Add up the lanes of all accumulators in float64."""
        builder, width = self.builder, self.count
        wide = ir.VectorType(ir.DoubleType(), width)
        values = [builder.load(slot) for slot in slots]
        if self.vector != wide:
            values = [builder.fpext(value, wide) for value in values]
        while len(values) > 1:
            values = [builder.fadd(values[k], values[k + 1]) for k in range(0, len(values), 2)]
        value = values[0]
        while width > 1:
            width //= 2
            halves = [self.shuffle(value, value, list(range(start, start + width))) for start in (0, width)]
            value = builder.fadd(*halves)
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    def append(self, value: Any, mask: Any, pointer: Any, position: Any) -> None:
        """Store the lanes under the mask one after the other; what follows them there becomes undefined."""
        builder = self.builder
        if "+avx512f" in self.context.codegen().magic_tuple()[2]:
            # Through a register: on some processors the instruction that compresses to memory is very slow.
            name = f"llvm.x86.avx512.mask.compress.{self.suffix}"
            packed = self.call(name, self.vector, [value, self.zero, mask])
            self.store(packed, pointer, position)
            return
        bits = self.mask_bits(mask)
        lanes, left = cgutils.alloca_once_value(builder, value), cgutils.alloca_once_value(builder, bits)
        lane = builder.bitcast(lanes, self.element.as_pointer())
        with cgutils.for_range(builder, self.true_count(mask)) as loop:
            rest = builder.load(left)
            lowest = builder.zext(builder.cttz(rest, ir.Constant(ir.IntType(1), 1)), ir.IntType(64))
            chosen = builder.load(builder.gep(lane, [lowest]))
            builder.store(chosen, builder.gep(pointer, [builder.add(position, loop.index)]))
            builder.store(builder.and_(rest, builder.sub(rest, ir.Constant(rest.type, 1))), left)


@generated
def transpose(typing_context: Any, matrix: Any, row: Any, column: Any, buffer: Any, place: Any, stride: Any) -> Any:
    """Copy as many rows and columns as a vector has lanes; a column then lies ``stride`` after the one before it.

    The rows of the matrix must be contiguous in themselves.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, matrix.dtype)
        source = context.make_array(matrix)(context, builder, arguments[0])
        step = builder.sdiv(cgutils.unpack_tuple(builder, source.strides, 2)[0], source.itemsize)
        start = builder.add(builder.mul(arguments[1], step), arguments[2])
        pointer = builder.gep(source.data, [start])
        index = [ir.Constant(ir.IntType(64), lane) for lane in range(lanes.count)]
        vectors = [lanes.load(pointer, builder.mul(step, lane)) for lane in index]
        half = lanes.count // 2
        # Each round swaps the blocks off the diagonal, of half the size of the round before.
        while half:
            for one in (lane for lane in range(lanes.count) if not lane & half):
                two = one + half
                first, second = vectors[one], vectors[two]
                upper = [lane + lanes.count - half if lane & half else lane for lane in range(lanes.count)]
                lower = [lane + lanes.count if lane & half else lane + half for lane in range(lanes.count)]
                vectors[one], vectors[two] = (lanes.shuffle(first, second, places) for places in (upper, lower))
            half //= 2
        target = lanes.pointer(buffer, arguments[3], arguments[4])
        for lane, vector in zip(index, vectors, strict=True):
            lanes.store(vector, target, builder.mul(arguments[5], lane))
        return context.get_dummy_value()

    return types.void(matrix, types.int64, types.int64, buffer, types.int64, types.int64), generate


@generated
def multiply(
    typing_context: Any, left: Any, left_start: Any, right: Any, right_start: Any, groups: Any, products: Any
) -> Any:
    """Write the products of some groups of two arrays to the front of a third."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, left.dtype)
        left_pointer = lanes.pointer(left, arguments[0], arguments[1])
        right_pointer = lanes.pointer(right, arguments[2], arguments[3])
        target = lanes.pointer(products, arguments[5], ir.Constant(ir.IntType(64), 0))
        with cgutils.for_range(builder, arguments[4]) as loop:
            for offset in lanes.offsets(loop.index):
                product = builder.fmul(lanes.load(left_pointer, offset), lanes.load(right_pointer, offset))
                lanes.store(product, target, offset)
        return context.get_dummy_value()

    return types.void(left, types.int64, right, types.int64, types.int64, products), generate


@generated
def count_below(typing_context: Any, values: Any, groups: Any, bound: Any) -> Any:
    """Count the values below a bound in magnitude in the first groups of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, group_count, limit = arguments
        lanes = _Lanes(context, builder, values.dtype)
        pointer = lanes.pointer(values, array, ir.Constant(ir.IntType(64), 0))
        limits = lanes.broadcast(limit)
        count = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(64), 0))
        with cgutils.for_range(builder, group_count) as loop:
            for offset in lanes.offsets(loop.index):
                magnitude = lanes.magnitude(lanes.load(pointer, offset))
                below = builder.fcmp_ordered("<", magnitude, limits)
                builder.store(builder.add(builder.load(count), lanes.true_count(below)), count)
        return builder.load(count)

    return types.int64(values, types.int64, values.dtype), generate


def _split(collecting: bool, left: Any, right: Any, store: Any) -> tuple[Any, Any]:
    """Build the loop shared by ``tally`` and ``collect``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, left.dtype)
        left_pointer = lanes.pointer(left, arguments[0], arguments[1])
        right_pointer = lanes.pointer(right, arguments[2], arguments[3])
        lowest, highest = lanes.broadcast(arguments[5]), lanes.broadcast(arguments[6])
        zero = ir.Constant(ir.IntType(64), 0)
        below_count = cgutils.alloca_once_value(builder, zero)
        inside_count = cgutils.alloca_once_value(builder, arguments[9] if collecting else zero)
        below_sums = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(VECTORS)]
        inside_sums = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(VECTORS)]
        if collecting:
            store_pointer, capacity = lanes.pointer(store, arguments[7], arguments[8]), arguments[10]

        def increase(slot: Any, mask: Any) -> None:
            builder.store(builder.add(builder.load(slot), lanes.true_count(mask)), slot)

        def accumulate(slot: Any, mask: Any, value: Any) -> None:
            builder.store(builder.fadd(builder.load(slot), builder.select(mask, value, lanes.zero)), slot)

        with cgutils.for_range(builder, arguments[4]) as loop:
            for vector, offset in enumerate(lanes.offsets(loop.index)):
                product = builder.fmul(lanes.load(left_pointer, offset), lanes.load(right_pointer, offset))
                magnitude = lanes.magnitude(product)
                below = builder.fcmp_ordered("<", magnitude, lowest)
                inside = builder.xor(below, builder.fcmp_ordered("<=", magnitude, highest))
                increase(below_count, below)
                accumulate(below_sums[vector], below, product)
                if collecting:
                    position = builder.load(inside_count)
                    full = builder.icmp_signed(">", position, capacity)
                    lanes.append(product, inside, store_pointer, builder.select(full, capacity, position))
                else:
                    accumulate(inside_sums[vector], inside, product)
                increase(inside_count, inside)
        results = [builder.load(below_count), lanes.total(below_sums), builder.load(inside_count)]
        results.append(lanes.total(inside_sums))
        return context.make_tuple(builder, signature.return_type, results)

    result = types.Tuple((types.int64, types.float64, types.int64, types.float64))
    common = (left, types.int64, right, types.int64, types.int64, left.dtype, left.dtype)
    if collecting:
        return result(*common, store, types.int64, types.int64, types.int64), generate
    return result(*common), generate


@generated
def tally(
    typing_context: Any, left: Any, left_start: Any, right: Any, right_start: Any, groups: Any, low: Any, high: Any
) -> Any:
    """Return count and sum of the products below ``low``, then of those from ``low`` to ``high``, in magnitude.

    Each lane adds up 1 of every ``GROUP_BYTES`` in the input dtype, so ``groups`` should be at most 16.
    """
    return _split(False, left, right, None)


@generated
def collect(
    typing_context: Any,
    left: Any,
    left_start: Any,
    right: Any,
    right_start: Any,
    groups: Any,
    low: Any,
    high: Any,
    store: Any,
    store_start: Any,
    position: Any,
    capacity: Any,
) -> Any:
    """Do as ``tally`` and append the products from ``low`` to ``high`` to a store instead of adding them up.

    ``position`` says how many it holds; the third result is that number afterwards. Beyond ``capacity`` only the
    counting goes on. The store needs room for one more vector after its capacity.
    """
    return _split(True, left, right, store)
