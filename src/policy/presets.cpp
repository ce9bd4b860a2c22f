// SPDX-License-Identifier: Apache-2.0
// The presets: anyarray's own policies, and one for each consumer whose order is known: data, with the versions and the
// place where it was seen. `anyarray order --check` holds those that run to the installed libraries.
#include <cstring>
#include <initializer_list>

#include "anyarray/policy.h"

namespace anyarray {
namespace {

constexpr Protocol numpy = Protocol::numpy, exchange = Protocol::dlpack_exchange, buffer = Protocol::buffer,
                   dlpack = Protocol::dlpack, array_struct = Protocol::array_struct,
                   interface = Protocol::array_interface, cuda = Protocol::cuda_array_interface,
                   sycl = Protocol::sycl_usm_array_interface, arrow = Protocol::arrow_array,
                   array_method = Protocol::array_method;

template <class... Rows>
constexpr ProtocolMask masks(Rows... rows) noexcept {
  return (mask_of(rows) | ...);
}

/// A consumer's order. Most let an attribute that is there and fails end the search, and take None for one that fails.
template <int N>
constexpr Policy strict(const Protocol (&rows)[N], Lookup lookup = Lookup::instance) noexcept {
  Policy p = make_policy(rows);
  p.lookup = lookup;
  return p.end(p.mask).end(Cause::none, p.mask);
}

/// Nobody minds a buffer that can't be had, but one whose format is unknown ends it.
constexpr Policy& forgive_buffer(Policy& p) noexcept {
  for (Cause cause :
       {Cause::call, Cause::buffer_error, Cause::type_error, Cause::attribute_error, Cause::not_implemented}) {
    p.pass(cause, mask_of(buffer));
  }
  return p;
}

constexpr Policy with_device(Policy p, DeviceMethod use) noexcept {
  p.device_method = use;
  return p;
}

/// np.asarray.
constexpr Policy as_numpy() noexcept {
  Policy p = strict({numpy, buffer, array_struct, interface, array_method});
  return forgive_buffer(p);
}
/// Another protocol before it, and an ndarray before that or after.
constexpr Policy then_numpy(Protocol before, bool native_first) noexcept {
  Policy p = native_first ? strict({numpy, before, buffer, array_struct, interface, array_method})
                          : strict({before, numpy, buffer, array_struct, interface, array_method});
  return forgive_buffer(p);
}

/// torch hides whatever reading an attribute raises, and refuses read-only memory over the CUDA interface alone.
constexpr Policy torch_policy(Policy p) noexcept {
  p.pass(Cause::read, p.mask).pass(Cause::not_implemented, masks(cuda));
  p.end(Cause::read_only, masks(cuda));
  return with_device(p, DeviceMethod::called);
}

/// mpi4py: whatever is wrong with the buffer leads on, NotImplementedError is absence, all else of an attribute ends
/// it.
constexpr Policy mpi4py_policy(Protocol second, Protocol third) noexcept {
  Policy p = strict({buffer, second, third});
  forgive_buffer(p).pass(Cause::not_implemented, masks(dlpack, cuda));
  return with_device(p, DeviceMethod::checked);
}

/// nanobind calls the type's own method; what that raises leads on, an answer that is no capsule of a known name ends
/// it.
constexpr Policy nanobind_policy() noexcept {
  Policy p = make_policy({dlpack, buffer});
  p.lookup = Lookup::method;
  return p.end(Cause::content, masks(dlpack));
}

/// Asks for a legacy capsule, which read-only memory can't be given in.
constexpr Policy legacy_only(Policy p) noexcept { return p.end(Cause::read_only, masks(dlpack)); }

constexpr Policy tvm_from_dlpack() noexcept {
  Policy p = legacy_only(strict({exchange, dlpack}));
  return p.pass(Cause::buffer_error, masks(exchange));
}

constexpr Policy forgive_none(Policy p, ProtocolMask rows) noexcept { return p.pass(Cause::none, rows); }

constexpr Policy numba_policy() noexcept {
  Policy p =
      with_device(strict({numpy, dlpack, cuda, buffer, array_struct, interface, array_method}), DeviceMethod::checked);
  return forgive_buffer(p);
}

constexpr const char* zero_d = "a 0-d array of objects, without a word";

}  // namespace

const Preset presets[] = {
    {"default", default_policy,
     "the device first, then the cheapest route that keeps all meaning; goes on after a failure", "", "", "", "", "",
     "", false},
    {"device_first", default_policy,
     "asks __dlpack_device__ first, drops what can't serve that device, then the registry's order", "", "", "", "", "",
     "", false},
    {"mpi4py_proposed", mpi4py_policy(cuda, dlpack), "as proposed for mpi4py: buffer, CUDA array interface, DLPack", "",
     "", "", "", "", "", false},

    {"numpy", as_numpy(), "buffer, then NumPy's own three; DLPack and CUDA are never looked at", "numpy.asarray",
     "=scalar numpy buffer array_struct array_interface array_method =sequence", "", zero_d, "2.4 to 2.6.0.dev0",
     "numpy 1f90bbb55e, array_coercion.c PyArray_DiscoverDTypeAndShape_Recursive, ctors.c _array_from_array_like",
     true},
    {"numpy.from_dlpack", strict({dlpack}), "DLPack alone; never asks for the device", "numpy.from_dlpack", "dlpack",
     "dl_device,copy,max_version/", "AttributeError", "2.4 to 2.6.0.dev0", "numpy 1f90bbb55e, dlpack.c from_dlpack",
     true},
    {"torch.as_tensor", torch_policy(strict({cuda, numpy, dlpack})),
     "CUDA interface, ndarray, DLPack; no buffer, no __array__", "torch.as_tensor",
     "=Tensor cuda_array_interface numpy dlpack =Storage =sequence", "max_version,copy/copy/", "RuntimeError", "2.13",
     "torch 2.13.0, torch/csrc/utils/tensor_new.cpp internal_new_from_data", true},
    {"torch.asarray", torch_policy(strict({numpy, buffer, cuda, dlpack})),
     "ndarray, buffer, CUDA interface, DLPack; a buffer that can't be had ends it", "torch.asarray",
     "=Tensor numpy =capsule buffer cuda_array_interface dlpack =sequence", "max_version,copy/copy/", "RuntimeError",
     "2.13", "torch 2.13.0, torch/csrc/utils/tensor_new.cpp asarray", true},
    {"torch.from_dlpack", with_device(strict({dlpack}), DeviceMethod::called), "DLPack alone", "torch.from_dlpack",
     "dlpack =capsule", "max_version,?stream,copy,dl_device/?stream,copy,dl_device/?stream,dl_device/?stream",
     "RuntimeError", "2.13", "torch 2.13.0, torch/utils/dlpack.py from_dlpack", true},
    {"jax", then_numpy(cuda, true), "CUDA interface, then NumPy's order; DLPack is left out on purpose",
     "jax.numpy.asarray",
     "=Array =scalar numpy =__jax_array__ cuda_array_interface buffer array_struct array_interface array_method", "",
     "TypeError", "0.10.2 to 0.11", "jax cec06d116c, array_constructors.py array", true},
    {"jax.from_dlpack", legacy_only(with_device(strict({dlpack}), DeviceMethod::checked)),
     "DLPack alone, by a legacy capsule", "jax.dlpack.from_dlpack", "dlpack", "stream", "TypeError", "0.10.2 to 0.11",
     "jax cec06d116c, jax/_src/dlpack.py from_dlpack, jaxlib/dlpack.cc", true},
    {"cupy", then_numpy(cuda, false), "CUDA interface, then NumPy's order on the host", "cupy.asarray",
     "=ndarray cuda_array_interface =__cupy_get_ndarray__ =sequence numpy buffer array_struct array_interface "
     "array_method",
     "", zero_d, "14.2", "cupy 6b6d9563c4, _core/core.pyx array, core.pxd _convert_from_cupy_like", false},
    {"cupy.from_dlpack", with_device(strict({dlpack}), DeviceMethod::checked), "DLPack alone", "cupy.from_dlpack",
     "dlpack =capsule", "stream,max_version,copy/stream", "TypeError", "14.2",
     "cupy 6b6d9563c4, _core/dlpack.pyx from_dlpack", false},
    {"mpi4py", mpi4py_policy(dlpack, cuda), "buffer, DLPack, CUDA interface; only a buffer that fails leads on",
     "a buffer argument of mpi4py.MPI", "buffer dlpack cuda_array_interface", "max_version!,copy,?stream/?stream",
     "TypeError, the buffer's", "4.1", "mpi4py 7c8dac2c58, asbuffer.pxi PyMPI_GetBuffer", true},
    {"nanobind", nanobind_policy(), "DLPack on the type, then the buffer; whatever is raised leads on", "nb::ndarray",
     "=capsule dlpack buffer =to_dlpack", "/max_version", "no match", "3.1",
     "nanobind 1bd3139721, nb_ndarray.cpp ndarray_import_impl", true},
    {"mlx", nanobind_policy(), "what nanobind takes: DLPack on the type, then the buffer", "mlx.core.array",
     "=array dlpack buffer =scalar =sequence =__mlx__array__", "/max_version", "ValueError", "0.32",
     "mlx 846d176227, python/src/convert.cpp create_array", true},
    {"pybind11", as_numpy(), "NumPy's order", "py::array::ensure, py::array_t",
     "=scalar numpy buffer array_struct array_interface array_method =sequence", "", "null, or no match", "3.1",
     "pybind11 22bf5b6ed4, numpy.h raw_array", true},
    {"cuda.core", with_device(strict({dlpack, cuda}), DeviceMethod::checked),
     "DLPack where both methods are there, else the CUDA interface; neither leads on",
     "cuda.core StridedMemoryView.from_any_interface", "dlpack cuda_array_interface", "stream,max_version/stream",
     "BufferError", "1.2", "cuda.core 1.2.2, _memoryview.pyx check_has_dlpack", true},
    {"tvm_ffi", legacy_only(strict({exchange, dlpack}, Lookup::type)),
     "DLPack's C table, then DLPack, both looked for on the type", "an argument of a tvm_ffi.Function",
     "=Tensor =__tvm_ffi_object__ dlpack_exchange =__cuda_stream__ dlpack =scalar =str =sequence =opaque", "",
     "an opaque object", "0.1.15", "tvm-ffi 620fece9f8, function.pxi TVMFFICyArgSetterFactory", true},
    {"tvm_ffi.from_dlpack", tvm_from_dlpack(), "DLPack's C table, whose BufferError leads on to DLPack",
     "tvm_ffi.from_dlpack", "dlpack_exchange dlpack =capsule", "", "TypeError", "0.1.15",
     "tvm-ffi 620fece9f8, tensor.pxi _from_dlpack_universal", true},
    {"dpnp", then_numpy(sycl, false), "USM interface, then NumPy's order; DLPack isn't used", "dpnp.asarray",
     "=usm_ndarray =__usm_ndarray__ sycl_usm_array_interface numpy buffer array_struct array_interface array_method",
     "", "TypeError", "0.20", "dpctl 3d69291fb4, tensor/_ctors.py asarray", true},
    {"dpnp.from_dlpack", forgive_none(with_device(strict({dlpack}), DeviceMethod::present), masks(dlpack)),
     "DLPack alone", "dpnp.from_dlpack", "dlpack", "max_version,dl_device,copy/", "TypeError", "0.20",
     "dpctl aec4350712, tensor/_dlpack.pyx from_dlpack", true},
    {"pydlpack", legacy_only(strict({dlpack, interface, cuda, buffer})),
     "DLPack by a legacy capsule, the two dict interfaces, the buffer; nothing leads on", "dlpack.asdlpack",
     "dlpack array_interface cuda_array_interface buffer", "", "TypeError", "0.2.1", "pydlpack 0.2.1, asdlpack", true},
    {"numba", numba_policy(), "ndarray, DLPack through cuda.core, CUDA interface, then NumPy's order",
     "an argument of a numba.cuda kernel",
     "=device_array numpy dlpack cuda_array_interface buffer array_struct array_interface array_method",
     "stream,max_version/stream", "TypeError", "0.30.4",
     "numba-cuda b18b944b2f, devicearray.py _to_strided_memory_view", false},
    {"numba.as_cuda_array", forgive_none(strict({cuda}), masks(cuda)), "CUDA interface alone",
     "numba.cuda.as_cuda_array", "cuda_array_interface", "", "TypeError", "0.30.4", "numba-cuda b18b944b2f, api.py",
     false},
    {"ucxx", forgive_none(strict({cuda, buffer}), masks(cuda)), "CUDA interface, where it isn't None, else the buffer",
     "ucxx.Array", "cuda_array_interface buffer", "", "TypeError", "main of 2026-08-20",
     "ucxx 458950913f, arr.pyx Array", false},
    {"arrow", strict({arrow, numpy}), "Arrow's C data, then a 1-D ndarray", "pyarrow.array",
     "=Array =__arrow_array__ =__arrow_c_device_array__ arrow_array numpy =sequence", "", "TypeError", "26.0.1",
     "arrow 515410b2a1, python/pyarrow/array.pxi array", true},
    {"warp", as_numpy(), "NumPy's order, for what has a length", "warp.array on the CPU",
     "numpy buffer array_struct array_interface array_method", "", "RuntimeError", "1.19",
     "warp 9934a4eb2c, types.py array", true},
    {"warp.argument", strict({interface, array_method}), "array interface, then __array__",
     "an argument of a Warp kernel on the CPU", "=array array_interface array_method", "", "RuntimeError", "1.19",
     "warp 9934a4eb2c, context.py pack_arg", true},
    {"warp.from_dlpack", legacy_only(with_device(strict({dlpack}), DeviceMethod::checked)),
     "DLPack alone, by a legacy capsule", "warp.from_dlpack", "dlpack =capsule", "stream", "TypeError", "1.19",
     "warp 9934a4eb2c, dlpack.py from_dlpack", true},
};
const int preset_count = sizeof presets / sizeof presets[0];

const Policy* find_preset(const char* name) noexcept {
  for (const Preset& preset : presets) {
    if (std::strcmp(preset.name, name) == 0) return &preset.policy;
  }
  return nullptr;
}

}  // namespace anyarray
