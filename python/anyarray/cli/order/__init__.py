# SPDX-License-Identifier: Apache-2.0
"""Which protocol first? Objects that tell which of their protocols was taken, the libraries that take them, and whether
anyarray's presets choose the same.

`probes` makes the objects (with `abi`), `natives` gives them to the libraries (with `compiled` and `warp_kernel`),
`_worker` does so in a process of its own, and `check` compares.
"""
