# SPDX-License-Identifier: Apache-2.0
"""Numbers that a Python float can't hold."""

from __future__ import annotations

import decimal


def scaled_decimal(mantissa: int, exponent: int, negative: bool) -> decimal.Decimal:
    """Give mantissa * 2**exponent with all its digits, whatever the caller's decimal context."""
    if exponent >= 0:
        value = decimal.Decimal(mantissa << exponent)
    else:
        # m / 2**k == m * 5**k / 10**k: the digits of an integer, and a shifted point.
        shift = min(-exponent, (mantissa & -mantissa).bit_length() - 1)
        mantissa, exponent = mantissa >> shift, exponent + shift
        # Not by way of str, whose digits Python limits.
        value = decimal.Decimal(mantissa * 5**-exponent)
        exact = decimal.Context(prec=value.adjusted() + 1, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        value = value.scaleb(exponent, exact)
    return value.copy_negate() if negative else value
