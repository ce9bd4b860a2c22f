# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3
"""Mean and variance of the arrays of any library, without a copy; and memory of C's, given to any library."""

cimport anyarray
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

# A Cython module lives in one interpreter: a static is the place for its table.
cdef const anyarray.CApi* api = anyarray.import_api()


cdef void add(const char* data, const int64_t* shape, const int64_t* strides, int ndim, double* sums) noexcept nogil:
    cdef double value
    cdef int64_t i
    if ndim == 0:
        value = (<const double*> data)[0]
        sums[0] += value
        sums[1] += value * value
        return
    for i in range(shape[0]):
        add(data + i * strides[0], shape + 1, strides + 1, ndim - 1, sums)


def moments(x):
    """Mean and variance of a float64 array on the host, of any shape and strides."""
    cdef anyarray.Borrow a
    cdef anyarray.Request wanted = anyarray.request_any()
    cdef double[2] sums = [0, 0]
    cdef int64_t n = 1
    wanted.device.type = anyarray.CPU
    wanted.has_dtype = True
    wanted.dtype = anyarray.make_dtype(anyarray.FLOAT, 64)
    wanted.layout = anyarray.LAYOUT_ELEMENTS
    anyarray.borrow(api, x, &wanted, &a)  # or raises: what was tried, and why each try ended
    try:
        with nogil:
            add(<const char*> a.desc.data, a.desc.shape, a.desc.strides, a.desc.ndim, sums)
        for i in range(a.desc.ndim):
            n *= a.desc.shape[i]
    finally:
        anyarray.release(api, &a)
    if n == 0:
        raise ValueError("an array without elements has no mean")
    return sums[0] / n, sums[1] / n - (sums[0] / n) ** 2


def ramp(int64_t n):
    """An `anyarray.Array` over n new float64: 0, 1, …"""
    cdef anyarray.Descriptor parts
    cdef double* memory = <double*> malloc(max(n, 1) * sizeof(double))
    if memory == NULL:
        raise MemoryError
    for i in range(n):
        memory[i] = i
    parts.data = memory
    parts.shape = &n
    parts.strides = NULL  # C order
    parts.dtype = anyarray.make_dtype(anyarray.FLOAT, 64)
    parts.device.type = anyarray.CPU
    parts.device.id = 0
    parts.ndim = 1
    parts.flags = 0
    try:
        return api.produce(api.context, &parts, NULL, free, memory)
    except:
        free(memory)
        raise


cdef class Kept:
    """An array that is kept for longer than a call."""

    cdef anyarray.Holder* holder

    def __init__(self, x):
        cdef anyarray.Holder* taken = api.take(api.context, x, NULL)
        api.drop(api.context, self.holder)
        self.holder = taken

    def __dealloc__(self):
        api.drop(api.context, self.holder)

    @property
    def shape(self):
        cdef const anyarray.Descriptor* desc
        if self.holder == NULL:
            return None
        desc = &self.holder.borrow.desc
        return tuple([desc.shape[i] for i in range(desc.ndim)])
