# SPDX-License-Identifier: Apache-2.0
"""Tensors of float64 on the host and on an accelerator whose memory the host can't read."""

import anyarray as aa

from ._two_devices import DeviceTensor, HostTensor, full, take, to_device, to_host, total

# The whole exchange: the types have __anyarray__ (see module.cpp), and get what their device serves.
aa.exchange(device="cpu")(HostTensor)
aa.exchange(device="ext_dev")(DeviceTensor)

__all__ = ["DeviceTensor", "HostTensor", "full", "take", "to_device", "to_host", "total"]
