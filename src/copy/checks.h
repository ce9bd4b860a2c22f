// SPDX-License-Identifier: Apache-2.0
// What is looked at before anything is copied, and the sentences where it ends there.
#pragma once
#include "anyarray/copy.h"

namespace anyarray {

/// Whether the host can get at the elements.
Status check_host(const Descriptor& d, const char* can_not, Reason* why) noexcept;

/// Whether elements of `from` can be cast to the first of `n` dtypes that can be cast to, which goes to `out`.
Status choose_cast(DType from, const DType* wanted, std::uint32_t n, Casting casting, DType* out, Reason* why) noexcept;

/// For Casting::same_value: whether each element of `from` keeps its value in `to`.
Status check_values(const Descriptor& from, DType to, Reason* why) noexcept;

/// Whether no two elements of an array that is written share memory. An answer that can't be had counts as no.
Status check_apart(const Descriptor& to, Reason* why) noexcept;

}  // namespace anyarray
