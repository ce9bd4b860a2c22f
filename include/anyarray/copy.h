// SPDX-License-Identifier: Apache-2.0
// Copies between any two layouts and dtypes, into memory that is there or into new memory. Without Python; extensions
// call CApi::copy (c_api.h), which does the same as copy_as(). All of it is in the library.
#pragma once
#include "anyarray/descriptor.h"
#include "anyarray/request.h"

namespace anyarray {

/// Which changes of dtype a copy may make, as NumPy calls them. Each of no, equiv, safe, same_kind, unsafe allows all
/// that the ones before it do.
enum class Casting : std::uint8_t {
  same_kind,   ///< to the same kind or a later one of bool, uint, int, float, complex: precision may go, no kind does
  unsafe,      ///< any number to any other, any unit of time to any other, text to any length
  no,          ///< none: the same dtype and byte order
  equiv,       ///< of byte order alone, or of sub-byte elements from packed to padded and back
  safe,        ///< where every value of the source's dtype is one of the target's (by NumPy, int64 is held by float64)
  same_value,  ///< any, as long as each element keeps its value, which is looked at one by one
};
inline constexpr int casting_count = 6;

/// "same_kind", "unsafe", …: NumPy's words. Static storage.
const char* casting_name(Casting casting) noexcept;

/// Whether copies turn `from` into `to`: ok, `mismatch` where the rule forbids it, `unsupported` where no conversion
/// is there. There is one between all numbers (those of the dtype table, each lane by itself), between dates and
/// between spans of all units, from either to numbers, to which their ticks are int64, and back, and between text of
/// one kind of all lengths; besides these only byte order is changed.
/// The rules are NumPy's, but that text which gets shorter is `unsafe`; for types that NumPy hasn't, `safe` is what the
/// word says.
Status can_cast(DType from, DType to, Casting casting) noexcept;

/// Fills `out` with new memory on the host that holds the elements of `from`; it has no owner, no_protocol, and its
/// release() frees it, from any thread. It is writable, 64-byte aligned, without gaps, in C order unless `wanted` asks
/// for F; its dtype is what `wanted` asks for; of several, that of `from` if it is among them, else the first that can
/// be cast to; where none is asked for, that of `from`, in the machine's byte order but for the fields of a struct.
/// `wanted.policy` and `wanted.allow` mean nothing here.
///
/// Values are NumPy's, and those of ml_dtypes for its types: rounded to nearest, ties to even; integers wrap; a real is
/// a complex without an imaginary part, which a complex loses where it becomes a real (unsafe); to bool, whatever isn't
/// zero is true. Floats of at most 8 bits and bfloat16 are rounded from float32, whatever they come from; past the
/// largest one they are what their format has: infinity, NaN, or, in 4 and 6 bits, that largest one (where NaN are 0).
/// float8_e8m0fnu, which has no sign and no zero, makes NaN of these. Floats become integers by truncation; those out
/// of range and NaN become, on every machine, what x86-64 makes of them one by one (NumPy's long runs differ for
/// uint32): the lowest value for int32 and int64, the low bits of these for the narrower ones and for uint32; uint64
/// takes negative ones modulo 2**64, and 0 for 2**64 and more. Only what comes from a float of at most 8 bits does as
/// ml_dtypes has it: infinities become the last integers, NaN 0. NaN keep their sign where there is one, and their
/// payload between float16, float32 and float64.
///
/// Otherwise `out` holds nothing: `device` (the host can't read it, or another device was asked for), `mismatch`,
/// `unsupported`, `invalid` (a descriptor that validate() refuses), `no_memory`, with the reason.
Status copy_as(const Descriptor& from, const Request& wanted, Borrow* out, Reason* why,
               Casting casting = Casting::same_kind) noexcept;

/// Writes the elements of `from` to those of `to`, which has the same shape and is writable host memory of any layout
/// and dtype. Overlapping memory is right: as if all of `from` had been read before. On every error nothing was
/// written: `invalid` (a descriptor that validate() refuses; shapes that differ; a target that is read-only, or two of
/// whose elements share memory, or, of more than 65,536 of them, can't be shown not to), `device` (the host can't read
/// or write), `mismatch`, `unsupported` (can_cast()), `no_memory` (for overlaps alone). Under Casting::same_value
/// `mismatch` names the first value, in C order, that would change.
Status copy(const Descriptor& to, const Descriptor& from, Casting casting, Reason* why) noexcept;

/// Fills `out` with new memory on the host, not initialised, for elements of this dtype and shape, row-major or, for
/// Order::f, column-major, with the rules of copy_as() for memory. no_memory (so many bytes aren't there, or 64 bits
/// can't count them), or `invalid` for an extent below 0, too many dimensions, and packed elements in F order.
Status make_empty(DType dtype, int ndim, const std::int64_t* shape, Order order, Borrow* out, Reason* why) noexcept;

/// The dtype with the least that holds the values of both, as NumPy's promote_types and the type promotion of the array
/// API standard have it, in the machine's byte order. For types that NumPy hasn't: that one of the two which holds the
/// other, or the least of float16, bfloat16, float32, float64 that holds both. Of times the finer unit (of months and
/// weeks: days), of text the longer. `mismatch` where there is none: between numbers, dates, spans and text, and for
/// structs.
Status promote(DType a, DType b, DType* out) noexcept;

/// On how many threads copies of a megabyte and more may run. At first as many as the process may use CPUs, or what the
/// environment says: ANYARRAY_NUM_THREADS, else OMP_NUM_THREADS. From 1 to 1024.
int num_threads() noexcept;
/// Sets it, for the process; below 1: what it was at first. Gives what it was before.
int set_num_threads(int n) noexcept;

}  // namespace anyarray
