"""Boxes: many arrays passed to a kernel as one address, which compiles in a fraction of the time.

numba passes a NamedTuple of arrays by value: each array as seven words, in every call of every kernel. With forty
arrays, that is what most of the compilation is spent on, and much of the run. A ``Box`` holds a NamedTuple of arrays,
numbers, further NamedTuples and further boxes. A kernel receives the address of a table of words and reads
``box.field`` from there; plain Python reads the same fields. The table has for an array its address and its lengths,
for a number its bits, for a box its address; the words of an inner NamedTuple follow each other.

numba also compiles a kernel again within every kernel that calls it. A large one can be called by its address instead,
which a box holds as a number (``address_of``, ``call_by_address``).

The arrays belong to the box, so a kernel must not return them, and they are never counted as references. All are
C-contiguous and may be written to. A table does not change, which the compiler is told (``invariant.load``).
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numba
import numba.core
import numba.extending
import numba.np.arrayobj
import numba.np.numpy_support
import numpy as np
from llvmlite import ir
from numba.core.datamodel import models
from numba.core.types import Type
from numba.core.typing.templates import AttributeTemplate

__all__ = ["UNCOMPILED", "Box", "address_of", "call_by_address"]

cgutils: Any = numba.core.cgutils  # untyped
extending: Any = numba.extending
arrayobj: Any = numba.np.arrayobj
numpy_support: Any = numba.np.numpy_support
types: Any = numba.core.types
config: Any = numba.config
WORD = ir.IntType(64)
UNCOMPILED = bool(config.DISABLE_JIT)  # NUMBA_DISABLE_JIT=1: all kernels are plain Python, for tests and debuggers


class Box:
    """A NamedTuple that kernels receive as one address.

    Parameters
    ----------
    values : NamedTuple
        Its fields are C-contiguous arrays, numbers, NamedTuples of these, and boxes.
    """

    __slots__ = ("_address", "_kind", "_values", "_words")

    def __init__(self, values: Any) -> None:
        self._values = values
        words: list[int] = []
        self._kind = BoxType(type(values), tuple(_pack(value, words) for value in values))
        self._words = np.array(words, dtype=np.uint64)
        self._address = int(self._words.ctypes.data)

    def __getattr__(self, name: str) -> Any:
        if name in Box.__slots__:  # not set yet, while it is copied
            raise AttributeError(name)
        return getattr(self._values, name)

    @property
    def kind(self) -> BoxType:
        """The type that kernels are compiled for."""
        return self._kind

    def __reduce__(self) -> tuple[type[Box], tuple[Any]]:
        return Box, (self._values,)


def address_of(kernel: Any, kinds: tuple[Any, ...]) -> int:
    """Compile a kernel for these types, or load it, and return the address of its code."""
    if UNCOMPILED:  # then the kernel is called by its name
        return 0
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def call_by_address(field: str, returns: Any, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a call of the kernel whose address is a field of the first argument, a box: for the body of an intrinsic."""
    conventions = context.call_conv
    address = _read(context, builder, signature.args[0], arguments[0], field)
    kind = conventions.get_function_type(returns, signature.args)
    code = builder.inttoptr(address, kind.as_pointer())
    status, result = conventions.call_function(builder, code, returns, signature.args, arguments)
    with cgutils.if_unlikely(builder, status.is_error):
        conventions.return_status_propagate(builder, status)
    return result


class BoxType(Type):
    """The type of a box: the NamedTuple and the types of its fields."""

    def __init__(self, instance_class: type, fields: tuple[Type, ...]) -> None:
        self.instance_class = instance_class
        self.fields = fields
        super().__init__(name=f"Box[{instance_class.__module__}.{instance_class.__qualname__}]({fields})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """A short name, because symbols repeat it many times."""
        return f"Box_{self.instance_class.__name__}_{crc32(self.name.encode()):x}", ()

    def place(self, name: str) -> int:
        """Return the position of a field."""
        return int(self.instance_class._fields.index(name))  # type: ignore[attr-defined]


def _pack(value: Any, words: list[int]) -> Any:
    """Append the words of a field; return its type."""
    if isinstance(value, Box):
        words.append(value._address)
        return value._kind
    if isinstance(value, tuple):
        return types.NamedTuple([_pack(part, words) for part in value], type(value))
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("expected C-contiguous arrays in a box")
        words.extend((value.ctypes.data, *value.shape))
        return types.Array(numpy_support.from_dtype(value.dtype), value.ndim, "C")
    number = np.asarray(value, dtype=np.float64 if isinstance(value, float) else np.int64)
    words.append(int(number.view(np.uint64)))
    return numpy_support.from_dtype(number.dtype)


def _size(kind: Any) -> int:
    """Return the number of words of a field."""
    if isinstance(kind, types.BaseTuple):
        return sum(map(_size, kind.types))
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def _load(context: Any, builder: Any, kind: Any, words: Any, at: int) -> Any:
    """Return the field that begins at a word."""
    if isinstance(kind, types.BaseTuple):
        parts = []
        for part in kind.types:
            parts.append(_load(context, builder, part, words, at))
            at += _size(part)
        return context.make_tuple(builder, kind, parts)
    if isinstance(kind, types.Array):
        return _load_array(context, builder, kind, words, at)
    word = _word(builder, words, at)
    return builder.bitcast(word, context.get_value_type(kind)) if isinstance(kind, types.Float) else word


def _load_array(context: Any, builder: Any, kind: Any, words: Any, at: int) -> Any:
    """Return an array that owns nothing."""
    array = arrayobj.make_array(kind)(context, builder)
    lengths = [_word(builder, words, at + 1 + k) for k in range(kind.ndim)]
    itemsize = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for length in lengths[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(_word(builder, words, at), context.get_data_type(kind.dtype).as_pointer())
    arrayobj.populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def _word(builder: Any, words: Any, at: int) -> Any:
    """Return one word."""
    word = builder.load(cgutils.gep_inbounds(builder, words, at))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@extending.typeof_impl.register(Box)
def _typeof_box(box: Box, _: Any) -> BoxType:
    return box._kind


@extending.register_model(BoxType)
class _BoxModel(models.PrimitiveModel):
    """A box is its address."""

    def __init__(self, manager: Any, kind: BoxType) -> None:
        super().__init__(manager, kind, WORD)  # type: ignore[no-untyped-call]


@extending.unbox(BoxType)
def _unbox(kind: BoxType, box: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(box, "_address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return extending.NativeValue(address, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@extending.infer_getattr
class _BoxFields(AttributeTemplate):
    key = BoxType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.fields[kind.place(name)] if name in kind.instance_class._fields else None


@extending.lower_getattr_generic(BoxType)
def _read(context: Any, builder: Any, kind: BoxType, address: Any, name: str) -> Any:
    place = kind.place(name)
    words = builder.inttoptr(address, WORD.as_pointer())
    return _load(context, builder, kind.fields[place], words, sum(map(_size, kind.fields[:place])))
