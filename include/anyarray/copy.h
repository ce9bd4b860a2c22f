// SPDX-License-Identifier: Apache-2.0
// Copies into new memory: of another dtype, in another order, or only to have memory of one's own. Without Python;
// extensions call CApi::copy (c_api.h), which does the same. The conversions of values are in the library.
#pragma once
#include "anyarray/descriptor.h"
#include "anyarray/request.h"

namespace anyarray {

/// Which changes of dtype a copy may make, as NumPy calls them.
enum class Casting : std::uint8_t {
  same_kind,  ///< to the same kind or a later one of bool, uint, int, float, complex: precision may go, no kind does
  unsafe,     ///< any number to any other
};

/// Whether copies turn `from` into `to`: ok, `mismatch` where the rule forbids it, `unsupported` where no conversion
/// is there. Besides numbers, which are bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, complex32
/// to complex128 (read also: sub-byte integers and the floats of 4, 6 and 8 bits), only byte order is changed.
Status can_cast(DType from, DType to, Casting casting) noexcept;

/// Fills `out` with new memory on the host that holds the elements of `from`; it has no owner, no_protocol, and its
/// release() frees it, from any thread. It is writable, 64-byte aligned, without gaps, in C order unless `wanted` asks
/// for F; its dtype is what `wanted` asks for; of several, that of `from` if it is among them, else the first that can
/// be cast to; where none is asked for, that of `from`, in the machine's byte order but for the fields of a struct.
/// `wanted.policy` and `wanted.allow` mean nothing here.
///
/// Values are NumPy's: rounded to nearest, ties to even; integers wrap; a real is a complex without an imaginary part,
/// which a complex loses where it becomes a real (unsafe); to bool, whatever isn't zero is true. bfloat16 is rounded
/// from float32, whatever it comes from. Floats become integers by truncation; those out of range and NaN become, on
/// every machine, what x86-64 makes of them one by one (NumPy's long runs differ for uint32): the lowest value for
/// int32 and int64, the low bits of these for the narrower ones and for uint32; uint64 takes negative ones modulo
/// 2**64, and 0 for 2**64 and more.
///
/// Otherwise `out` holds nothing: `device` (the host can't read it, or another device was asked for), `mismatch`,
/// `unsupported`, `invalid` (a descriptor that validate() refuses), `no_memory`, with the reason.
Status copy_as(const Descriptor& from, const Request& wanted, Borrow* out, Reason* why,
               Casting casting = Casting::same_kind) noexcept;

}  // namespace anyarray
