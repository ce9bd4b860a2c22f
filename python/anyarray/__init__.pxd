# SPDX-License-Identifier: Apache-2.0
# The function table for Cython: `cimport anyarray`. The C headers are found by `python -m anyarray config --cflags`,
# or in CMake by the target anyarray::headers. What each function does: anyarray/c_api.def.
#   cdef const anyarray.CApi* api = anyarray.import_api()    at the module's top level
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

cdef extern from "anyarray/c_python.h":
    ctypedef int32_t Status "anyarray_status"
    enum:
        OK "ANYARRAY_STATUS_OK"
        NOT_OFFERED "ANYARRAY_STATUS_NOT_OFFERED"
        NOT_TRIED "ANYARRAY_STATUS_NOT_TRIED"
        SKIPPED "ANYARRAY_STATUS_SKIPPED"
        FAILED "ANYARRAY_STATUS_FAILED"
        INVALID "ANYARRAY_STATUS_INVALID"
        UNSUPPORTED "ANYARRAY_STATUS_UNSUPPORTED"
        DEVICE "ANYARRAY_STATUS_DEVICE"
        MISMATCH "ANYARRAY_STATUS_MISMATCH"
        GUARDED "ANYARRAY_STATUS_GUARDED"
        INTERRUPTED "ANYARRAY_STATUS_INTERRUPTED"
        NO_MEMORY "ANYARRAY_STATUS_NO_MEMORY"

    ctypedef uint8_t TypeCode "anyarray_type_code"
    enum:
        INT "ANYARRAY_CODE_INT"
        UINT "ANYARRAY_CODE_UINT"
        FLOAT "ANYARRAY_CODE_FLOAT"
        OPAQUE_HANDLE "ANYARRAY_CODE_OPAQUE_HANDLE"
        BFLOAT "ANYARRAY_CODE_BFLOAT"
        COMPLEX "ANYARRAY_CODE_COMPLEX"
        BOOL "ANYARRAY_CODE_BOOL"
        FLOAT8_E3M4 "ANYARRAY_CODE_FLOAT8_E3M4"
        FLOAT8_E4M3 "ANYARRAY_CODE_FLOAT8_E4M3"
        FLOAT8_E4M3B11FNUZ "ANYARRAY_CODE_FLOAT8_E4M3B11FNUZ"
        FLOAT8_E4M3FN "ANYARRAY_CODE_FLOAT8_E4M3FN"
        FLOAT8_E4M3FNUZ "ANYARRAY_CODE_FLOAT8_E4M3FNUZ"
        FLOAT8_E5M2 "ANYARRAY_CODE_FLOAT8_E5M2"
        FLOAT8_E5M2FNUZ "ANYARRAY_CODE_FLOAT8_E5M2FNUZ"
        FLOAT8_E8M0FNU "ANYARRAY_CODE_FLOAT8_E8M0FNU"
        FLOAT6_E2M3FN "ANYARRAY_CODE_FLOAT6_E2M3FN"
        FLOAT6_E3M2FN "ANYARRAY_CODE_FLOAT6_E3M2FN"
        FLOAT4_E2M1FN "ANYARRAY_CODE_FLOAT4_E2M1FN"
        LONG_DOUBLE "ANYARRAY_CODE_LONG_DOUBLE"
        COMPLEX_LONG_DOUBLE "ANYARRAY_CODE_COMPLEX_LONG_DOUBLE"
        DATETIME64 "ANYARRAY_CODE_DATETIME64"
        TIMEDELTA64 "ANYARRAY_CODE_TIMEDELTA64"
        FIXED_BYTES "ANYARRAY_CODE_FIXED_BYTES"
        FIXED_UCS4 "ANYARRAY_CODE_FIXED_UCS4"
        VOID "ANYARRAY_CODE_VOID"
        INTERNED "ANYARRAY_CODE_INTERNED"

    # Bits of DType.attributes; the upper six are the unit of a time.
    enum:
        SWAPPED "ANYARRAY_DTYPE_SWAPPED"
        PADDED "ANYARRAY_DTYPE_PADDED"
        UNIT_SHIFT "ANYARRAY_DTYPE_UNIT_SHIFT"
    enum:
        UNIT_NONE "ANYARRAY_UNIT_NONE"
        UNIT_Y "ANYARRAY_UNIT_Y"
        UNIT_MONTH "ANYARRAY_UNIT_MONTH"
        UNIT_W "ANYARRAY_UNIT_W"
        UNIT_D "ANYARRAY_UNIT_D"
        UNIT_H "ANYARRAY_UNIT_H"
        UNIT_MINUTE "ANYARRAY_UNIT_MINUTE"
        UNIT_S "ANYARRAY_UNIT_S"
        UNIT_MS "ANYARRAY_UNIT_MS"
        UNIT_US "ANYARRAY_UNIT_US"
        UNIT_NS "ANYARRAY_UNIT_NS"
        UNIT_PS "ANYARRAY_UNIT_PS"
        UNIT_FS "ANYARRAY_UNIT_FS"
        UNIT_AS "ANYARRAY_UNIT_AS"
        UNIT_GENERIC "ANYARRAY_UNIT_GENERIC"

    ctypedef struct DType "anyarray_dtype":
        TypeCode code
        uint8_t attributes
        uint16_t bits
        uint32_t count

    ctypedef int32_t DeviceType "anyarray_device_type"
    enum:
        ANY "ANYARRAY_DEVICE_ANY"
        CPU "ANYARRAY_DEVICE_CPU"
        CUDA "ANYARRAY_DEVICE_CUDA"
        CUDA_HOST "ANYARRAY_DEVICE_CUDA_HOST"
        OPENCL "ANYARRAY_DEVICE_OPENCL"
        VULKAN "ANYARRAY_DEVICE_VULKAN"
        METAL "ANYARRAY_DEVICE_METAL"
        VPI "ANYARRAY_DEVICE_VPI"
        ROCM "ANYARRAY_DEVICE_ROCM"
        ROCM_HOST "ANYARRAY_DEVICE_ROCM_HOST"
        EXT_DEV "ANYARRAY_DEVICE_EXT_DEV"
        CUDA_MANAGED "ANYARRAY_DEVICE_CUDA_MANAGED"
        ONEAPI "ANYARRAY_DEVICE_ONEAPI"
        WEBGPU "ANYARRAY_DEVICE_WEBGPU"
        HEXAGON "ANYARRAY_DEVICE_HEXAGON"
        MAIA "ANYARRAY_DEVICE_MAIA"
        TRN "ANYARRAY_DEVICE_TRN"

    ctypedef struct Device "anyarray_device":
        DeviceType type
        int32_t id

    # Bits of Descriptor.flags.
    enum:
        READONLY "ANYARRAY_FLAG_READONLY"
        COPIED "ANYARRAY_FLAG_COPIED"
        COPIED_UNKNOWN "ANYARRAY_FLAG_COPIED_UNKNOWN"
        DEVICE_UNVERIFIED "ANYARRAY_FLAG_DEVICE_UNVERIFIED"

    ctypedef struct Descriptor "anyarray_descriptor":
        void* data
        const int64_t* shape
        const int64_t* strides  # in bytes; null only for elements that don't fill whole bytes
        DType dtype
        Device device
        int32_t ndim
        uint32_t flags

    # Must not be copied or moved while it holds something. `owner` is the object that it was taken from.
    ctypedef struct Borrow "anyarray_borrow":
        Descriptor desc
        void* owner
        uint8_t protocol

    ctypedef struct Holder "anyarray_holder":
        Borrow borrow

    ctypedef struct Policy "anyarray_policy":
        pass

    ctypedef struct Reason "anyarray_reason":
        char[240] text

    ctypedef uint8_t Order "anyarray_order"
    enum:
        ANY_ORDER "ANYARRAY_ORDER_ANY"
        C_ORDER "ANYARRAY_ORDER_C"
        F_ORDER "ANYARRAY_ORDER_F"
    # Bits of Request.allow.
    enum:
        WAIVE_MASK "ANYARRAY_WAIVE_MASK"
        WAIVE_GRAD "ANYARRAY_WAIVE_GRAD"
        WAIVE_CONJ "ANYARRAY_WAIVE_CONJ"
        WAIVE_NEG "ANYARRAY_WAIVE_NEG"
    # Bits of Request.layout.
    enum:
        LAYOUT_ELEMENTS "ANYARRAY_LAYOUT_ELEMENTS"
        LAYOUT_BYTES "ANYARRAY_LAYOUT_BYTES"

    # Every condition is required, never converted. Begin with request_any().
    ctypedef struct Request "anyarray_request":
        const Policy* policy
        Device device
        bint has_dtype
        bint writable
        Order order
        int8_t ndim
        uint32_t allow
        DType dtype
        uint32_t layout
        uint32_t n_dtypes
        const DType* dtypes

    uint32_t C_API_MINOR "ANYARRAY_C_API_MINOR"
    # The minor that brought a row, to be compared with `api.minor`.
    enum:
        SINCE_borrow "ANYARRAY_SINCE_borrow"
        SINCE_borrow_or_raise "ANYARRAY_SINCE_borrow_or_raise"
        SINCE_release "ANYARRAY_SINCE_release"
        SINCE_to_array "ANYARRAY_SINCE_to_array"
        SINCE_explain "ANYARRAY_SINCE_explain"
        SINCE_status_text "ANYARRAY_SINCE_status_text"
        SINCE_preset "ANYARRAY_SINCE_preset"
        SINCE_produce "ANYARRAY_SINCE_produce"
        SINCE_take "ANYARRAY_SINCE_take"
        SINCE_drop "ANYARRAY_SINCE_drop"
        SINCE_convert "ANYARRAY_SINCE_convert"
        SINCE_convert_like "ANYARRAY_SINCE_convert_like"
        SINCE_copy "ANYARRAY_SINCE_copy"

    ctypedef struct CApi "anyarray_c_api":
        uint32_t major
        uint32_t minor
        void* context
        Status (*borrow)(void* context, object obj, const Request* request, Borrow* out)
        Status (*borrow_or_raise)(void* context, object obj, const Request* request, Borrow* out)
        void (*release)(void* context, Borrow* borrow) noexcept
        object (*to_array)(void* context, Borrow* from_)
        object (*explain)(void* context, object obj, const Request* request)
        const char* (*status_text)(void* context, Status status) noexcept
        const Policy* (*preset)(void* context, const char* name) noexcept
        # The object may be null: no owner.
        object (*produce)(void* context, const Descriptor* parts, void* owner, void (*release)(void* what) noexcept,
                          void* what)
        Holder* (*take)(void* context, object obj, const Request* request) except NULL
        void (*drop)(void* context, Holder* holder) noexcept nogil
        object (*convert)(void* context, object obj, object to)
        object (*convert_like)(void* context, object obj, object example)
        Status (*copy)(void* context, const Descriptor* from_, const Request* request, Borrow* out,
                       Reason* why) noexcept nogil

    const CApi* import_from "anyarray_import"(uint32_t minor) except NULL
    Request request_any "anyarray_request_any"() noexcept nogil
    DType make_dtype "anyarray_make_dtype"(TypeCode code, uint16_t bits) noexcept nogil
    int64_t itemsize "anyarray_itemsize"(DType dtype) noexcept nogil
    void retain "anyarray_retain"(Holder* holder) noexcept nogil


# The table of this interpreter. `minor`: that of the newest row that the module can't do without.
cdef inline const CApi* import_api(uint32_t minor=C_API_MINOR) except NULL:
    return import_from(minor)


# Borrows or raises; released by `release`, in a `finally`.
cdef inline int borrow(const CApi* api, object obj, const Request* request, Borrow* out) except -1:
    return 0 if api.borrow_or_raise(api.context, obj, request, out) == OK else -1


cdef inline void release(const CApi* api, Borrow* borrow) noexcept:
    api.release(api.context, borrow)
