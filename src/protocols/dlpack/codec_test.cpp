// SPDX-License-Identifier: Apache-2.0
// The DLPack codec: the ABI of our own structs (against an installed dlpack.h where ANYARRAY_DLPACK_HEADER names
// one), decode(encode(d)) == d over the whole dtype table × layouts × flags, and every rule a tensor can break.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "anyarray/protocols/dlpack.h"
#include "src/core/dtype_table.h"
#include "tests/cpp/check.h"
#ifdef ANYARRAY_DLPACK_HEADER
#include ANYARRAY_DLPACK_HEADER
#endif

namespace dl = anyarray::dlpack;
using namespace anyarray;

namespace {

static_assert(sizeof(Device) == 8 && offsetof(Device, type) == 0 && offsetof(Device, id) == 4);
static_assert(sizeof(dl::DataType) == 4 && offsetof(dl::DataType, bits) == 1 && offsetof(dl::DataType, lanes) == 2);
static_assert(sizeof(void*) != 8 || (sizeof(dl::Tensor) == 48 && offsetof(dl::Tensor, data) == 0 &&
                                     offsetof(dl::Tensor, device) == 8 && offsetof(dl::Tensor, ndim) == 16 &&
                                     offsetof(dl::Tensor, dtype) == 20 && offsetof(dl::Tensor, shape) == 24 &&
                                     offsetof(dl::Tensor, strides) == 32 && offsetof(dl::Tensor, byte_offset) == 40));
static_assert(sizeof(void*) != 8 ||
              (sizeof(dl::ManagedTensor) == 64 && offsetof(dl::ManagedTensor, tensor) == 0 &&
               offsetof(dl::ManagedTensor, manager_ctx) == 48 && offsetof(dl::ManagedTensor, deleter) == 56));
static_assert(sizeof(dl::Version) == 8 && offsetof(dl::Version, minor) == 4);
static_assert(sizeof(void*) != 8 ||
              (sizeof(dl::ManagedTensorVersioned) == 80 && offsetof(dl::ManagedTensorVersioned, version) == 0 &&
               offsetof(dl::ManagedTensorVersioned, manager_ctx) == 8 &&
               offsetof(dl::ManagedTensorVersioned, deleter) == 16 &&
               offsetof(dl::ManagedTensorVersioned, flags) == 24 &&
               offsetof(dl::ManagedTensorVersioned, tensor) == 32));
static_assert(sizeof(void*) != 8 ||
              (sizeof(dl::ExchangeHeader) == 16 && offsetof(dl::ExchangeHeader, prev_api) == 8 &&
               sizeof(dl::ExchangeApi) == 56 && offsetof(dl::ExchangeApi, managed_tensor_allocator) == 16 &&
               offsetof(dl::ExchangeApi, managed_tensor_from_py_object_no_sync) == 24 &&
               offsetof(dl::ExchangeApi, managed_tensor_to_py_object_no_sync) == 32 &&
               offsetof(dl::ExchangeApi, dltensor_from_py_object_no_sync) == 40 &&
               offsetof(dl::ExchangeApi, current_work_stream) == 48));

#ifdef ANYARRAY_DLPACK_HEADER
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))
#define SAME_PLACE(ours, field, theirs, their_field)                      \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) && \
                sizeof(ours::field) == sizeof(theirs::their_field))
SAME_SIZE(Device, DLDevice);
SAME_PLACE(Device, type, DLDevice, device_type);
SAME_PLACE(Device, id, DLDevice, device_id);
SAME_SIZE(dl::DataType, DLDataType);
SAME_PLACE(dl::DataType, code, DLDataType, code);
SAME_PLACE(dl::DataType, bits, DLDataType, bits);
SAME_PLACE(dl::DataType, lanes, DLDataType, lanes);
SAME_SIZE(dl::Tensor, DLTensor);
SAME_PLACE(dl::Tensor, data, DLTensor, data);
SAME_PLACE(dl::Tensor, device, DLTensor, device);
SAME_PLACE(dl::Tensor, ndim, DLTensor, ndim);
SAME_PLACE(dl::Tensor, dtype, DLTensor, dtype);
SAME_PLACE(dl::Tensor, shape, DLTensor, shape);
SAME_PLACE(dl::Tensor, strides, DLTensor, strides);
SAME_PLACE(dl::Tensor, byte_offset, DLTensor, byte_offset);
SAME_SIZE(dl::ManagedTensor, DLManagedTensor);
SAME_PLACE(dl::ManagedTensor, tensor, DLManagedTensor, dl_tensor);
SAME_PLACE(dl::ManagedTensor, manager_ctx, DLManagedTensor, manager_ctx);
SAME_PLACE(dl::ManagedTensor, deleter, DLManagedTensor, deleter);
static_assert(static_cast<int>(DeviceType::cpu) == kDLCPU && static_cast<int>(DeviceType::cuda) == kDLCUDA &&
              static_cast<int>(DeviceType::cuda_host) == kDLCUDAHost &&
              static_cast<int>(DeviceType::opencl) == kDLOpenCL && static_cast<int>(DeviceType::vulkan) == kDLVulkan &&
              static_cast<int>(DeviceType::metal) == kDLMetal && static_cast<int>(DeviceType::vpi) == kDLVPI &&
              static_cast<int>(DeviceType::rocm) == kDLROCM && static_cast<int>(DeviceType::rocm_host) == kDLROCMHost &&
              static_cast<int>(DeviceType::ext_dev) == kDLExtDev &&
              static_cast<int>(DeviceType::cuda_managed) == kDLCUDAManaged &&
              static_cast<int>(DeviceType::oneapi) == kDLOneAPI && static_cast<int>(DeviceType::webgpu) == kDLWebGPU &&
              static_cast<int>(DeviceType::hexagon) == kDLHexagon && static_cast<int>(DeviceType::maia) == kDLMAIA);
static_assert(static_cast<int>(TypeCode::int_) == kDLInt && static_cast<int>(TypeCode::uint) == kDLUInt &&
              static_cast<int>(TypeCode::float_) == kDLFloat &&
              static_cast<int>(TypeCode::opaque_handle) == kDLOpaqueHandle &&
              static_cast<int>(TypeCode::bfloat) == kDLBfloat && static_cast<int>(TypeCode::complex) == kDLComplex &&
              static_cast<int>(TypeCode::bool_) == kDLBool);
#if DLPACK_MAJOR_VERSION >= 1
SAME_SIZE(dl::Version, DLPackVersion);
SAME_PLACE(dl::Version, major, DLPackVersion, major);
SAME_PLACE(dl::Version, minor, DLPackVersion, minor);
SAME_SIZE(dl::ManagedTensorVersioned, DLManagedTensorVersioned);
SAME_PLACE(dl::ManagedTensorVersioned, version, DLManagedTensorVersioned, version);
SAME_PLACE(dl::ManagedTensorVersioned, manager_ctx, DLManagedTensorVersioned, manager_ctx);
SAME_PLACE(dl::ManagedTensorVersioned, deleter, DLManagedTensorVersioned, deleter);
SAME_PLACE(dl::ManagedTensorVersioned, flags, DLManagedTensorVersioned, flags);
SAME_PLACE(dl::ManagedTensorVersioned, tensor, DLManagedTensorVersioned, dl_tensor);
static_assert(dl::read_only == DLPACK_FLAG_BITMASK_READ_ONLY && dl::is_copied == DLPACK_FLAG_BITMASK_IS_COPIED);
#endif
#if DLPACK_MAJOR_VERSION > 1 || (DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 1)
static_assert(dl::is_subbyte_padded == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
static_assert(static_cast<int>(TypeCode::float8_e3m4) == kDLFloat8_e3m4 &&
              static_cast<int>(TypeCode::float8_e4m3) == kDLFloat8_e4m3 &&
              static_cast<int>(TypeCode::float8_e4m3b11fnuz) == kDLFloat8_e4m3b11fnuz &&
              static_cast<int>(TypeCode::float8_e4m3fn) == kDLFloat8_e4m3fn &&
              static_cast<int>(TypeCode::float8_e4m3fnuz) == kDLFloat8_e4m3fnuz &&
              static_cast<int>(TypeCode::float8_e5m2) == kDLFloat8_e5m2 &&
              static_cast<int>(TypeCode::float8_e5m2fnuz) == kDLFloat8_e5m2fnuz &&
              static_cast<int>(TypeCode::float8_e8m0fnu) == kDLFloat8_e8m0fnu &&
              static_cast<int>(TypeCode::float6_e2m3fn) == kDLFloat6_e2m3fn &&
              static_cast<int>(TypeCode::float6_e3m2fn) == kDLFloat6_e3m2fn &&
              static_cast<int>(TypeCode::float4_e2m1fn) == kDLFloat4_e2m1fn);
static_assert(static_cast<int>(DeviceType::trn) == kDLTrn);
#endif
#if DLPACK_MAJOR_VERSION > 1 || (DLPACK_MAJOR_VERSION == 1 && DLPACK_MINOR_VERSION >= 3)
SAME_SIZE(dl::ExchangeHeader, DLPackExchangeAPIHeader);
SAME_SIZE(dl::ExchangeApi, DLPackExchangeAPI);
SAME_PLACE(dl::ExchangeApi, managed_tensor_allocator, DLPackExchangeAPI, managed_tensor_allocator);
SAME_PLACE(dl::ExchangeApi, managed_tensor_from_py_object_no_sync, DLPackExchangeAPI,
           managed_tensor_from_py_object_no_sync);
SAME_PLACE(dl::ExchangeApi, managed_tensor_to_py_object_no_sync, DLPackExchangeAPI,
           managed_tensor_to_py_object_no_sync);
SAME_PLACE(dl::ExchangeApi, dltensor_from_py_object_no_sync, DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME_PLACE(dl::ExchangeApi, current_work_stream, DLPackExchangeAPI, current_work_stream);
#endif
#endif

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t big = INT64_MAX;
char memory[4096];

Borrow fresh() {
  Borrow b;
  std::memset(static_cast<void*>(&b), 0x5a, sizeof b);
  b.release_fn = nullptr;
  b.heap_dims = 0;
  return b;
}

bool same(const Descriptor& a, const Descriptor& b) {
  if (a.dtype != b.dtype || a.device != b.device || a.ndim != b.ndim || a.flags != b.flags) return false;
  if (!std::equal(a.shape, a.shape + a.ndim, b.shape)) return false;
  if (a.ndim > 0 && (a.strides == nullptr) != (b.strides == nullptr)) return false;
  if (a.strides != nullptr && !std::equal(a.strides, a.strides + a.ndim, b.strides)) return false;
  return a.size() == 0 ? b.data == nullptr : a.data == b.data;
}

void round_trip(const Descriptor& d) {
  dl::Tensor t;
  std::vector<std::int64_t> dims(static_cast<std::size_t>(2 * d.ndim + 1));
  std::uint64_t flags = 0;
  Reason why;
  CHECK(dl::encode(d, &t, dims.data(), &flags, &why) == Status::ok);
  CHECK(t.byte_offset == 0 && t.strides == dims.data() + d.ndim && t.shape == dims.data());
  Borrow b = fresh();
  CHECK(dl::decode(t, flags, b, &why) == Status::ok);
  CHECK(same(d, b.desc));
  CHECK(validate(b.desc, &why) == Status::ok);
  CHECK_EQ(why.text, std::string());
  drop_dims(b);
}

void test_round_trips() {
  const Ints shapes[] = {{}, {5}, {2, 3}, {1, 4, 1}, {0}, {3, 0, 2}, {2, 1, 3, 2}, Ints(8, 1), Ints(9, 2), Ints(64, 1)};
  int encoded = 0;
  for (const DTypeRow& row : dtype_table) {
    for (std::uint32_t lanes : {1u, 2u, 3u, 8u}) {
      for (bool padded : {false, true}) {
        const DType type = make_dtype(row.code, row.bits, lanes).with_padded(padded);
        if (padded && row.bits >= 8) continue;
        if (!row.dlpack) {
          dl::DataType out;
          std::uint64_t flags = 0;
          CHECK(dl::encode_dtype(type, &out, &flags, nullptr) == Status::unsupported);
          continue;
        }
        ++encoded;
        for (const Ints& shape : shapes) {
          const int n = static_cast<int>(shape.size());
          Ints strides(shape.size());
          for (std::uint32_t flags : {0u, std::uint32_t{flag_readonly}, flag_readonly | flag_copied}) {
            const Device device{DeviceType::cuda, 3};
            CHECK(c_strides(n, shape.data(), type.itemsize(), strides.data()));
            Descriptor d{memory, shape.data(), strides.data(), type, device, n, flags};
            if (type.packed()) {
              d.strides = nullptr;
              round_trip(d);
              continue;
            }
            round_trip(d);
            for (auto& s : strides) s *= 2;  // gaps
            round_trip(d);
            d.data = memory + 2048;
            for (auto& s : strides) s = n > 8 ? 0 : s % 512 == 0 ? -s % 256 : -s % 512;
            for (auto& s : strides) s -= s % type.itemsize();  // mirrored
            round_trip(d);
            for (auto& s : strides) s = 0;  // broadcast
            round_trip(d);
          }
        }
      }
    }
  }
  CHECK(encoded > 100);
}

// A lawful tensor, to be broken.
struct Sample {
  std::int64_t shape[66] = {2, 3};
  std::int64_t strides[66] = {3, 1};
  dl::Tensor t{memory, cpu_device, 2, {2, 32, 1}, shape, strides, 0};
  std::uint64_t flags = 0;

  Sample() {
    for (int i = 2; i < 66; ++i) shape[i] = strides[i] = 1;
  }
  // The tensor points into the sample itself.
  Sample& operator=(const Sample& o) {
    std::copy(o.shape, o.shape + 66, shape);
    std::copy(o.strides, o.strides + 66, strides);
    t = o.t;
    t.shape = shape;
    t.strides = strides;
    flags = o.flags;
    return *this;
  }
  Status decode(Borrow& b, Reason* why) const { return dl::decode(t, flags, b, why); }
  void refused(Status want, const char* part) const {
    Borrow b = fresh();
    Reason why;
    CHECK_EQ(static_cast<int>(decode(b, &why)), static_cast<int>(want));
    if (std::strstr(why.text, part) == nullptr) std::cerr << "'" << why.text << "' lacks '" << part << "'\n";
    CHECK(std::strstr(why.text, part) != nullptr);
    CHECK(decode(b, nullptr) == want);
    CHECK_EQ(int{b.heap_dims}, 0);
    CHECK(!b.held());
  }
  void taken(const Ints& strides_in_bytes, void* data = memory) const {
    Borrow b = fresh();
    Reason why;
    CHECK(decode(b, &why) == Status::ok);
    CHECK_EQ(why.text, std::string());
    CHECK(b.desc.data == data);
    CHECK(b.desc.ndim == t.ndim && std::equal(t.shape, t.shape + t.ndim, b.desc.shape));
    CHECK(b.desc.strides != nullptr && std::equal(strides_in_bytes.begin(), strides_in_bytes.end(), b.desc.strides));
    drop_dims(b);
  }
};

void test_layouts() {
  Sample s;
  s.taken({12, 4});
  s.t.strides = nullptr;  // row-major
  s.taken({12, 4});
  s = Sample();
  s.strides[0] = -3;
  s.strides[1] = 0;
  s.taken({-12, 0});
  s = Sample();
  s.t.byte_offset = 8;
  s.taken({12, 4}, memory + 8);
  s = Sample();
  s.t.ndim = 0;
  s.t.shape = s.t.strides = nullptr;
  s.taken({});
  // Extents of 1 and size 0: any stride, also one that overflows in bytes.
  s = Sample();
  s.shape[0] = 1;
  s.strides[0] = big;
  s.taken({4, 4});
  s.strides[0] = 7;
  s.taken({28, 4});
  for (bool with_strides : {true, false}) {
    s = Sample();
    s.shape[0] = 0;
    s.shape[1] = big;
    s.strides[0] = s.strides[1] = INT64_MIN;
    if (!with_strides) s.t.strides = nullptr;
    s.t.data = nullptr;
    s.t.byte_offset = 16;
    s.taken({}, nullptr);
    s.t.data = memory;
    s.taken({}, memory + 16);
  }
  s = Sample();
  s.t.ndim = 64;
  Borrow b = fresh();
  CHECK(s.decode(b, nullptr) == Status::ok && b.heap_dims == 1);
  drop_dims(b);
}

void test_refusals() {
  Sample s;
  s.t.ndim = -1;
  s.refused(Status::invalid, "-1 dimensions");
  s.t.ndim = 65;
  s.refused(Status::invalid, "65 dimensions");
  s = Sample();
  s.t.shape = nullptr;
  s.refused(Status::invalid, "no shape");
  for (int ndim : {2, 12}) {
    s = Sample();
    s.t.ndim = ndim;
    s.shape[1] = -3;
    s.refused(Status::invalid, "extent 1");
    s.t.strides = nullptr;
    s.refused(Status::invalid, "extent 1");
    s = Sample();
    s.t.ndim = ndim;
    s.t.data = nullptr;
    s.refused(Status::invalid, "null");
    s.t.byte_offset = 8;  // doesn't make an address of null
    s.refused(Status::invalid, "null");
    s = Sample();
    s.t.ndim = ndim;
    s.t.byte_offset = UINT64_MAX;
    s.refused(Status::invalid, "byte_offset");
    s = Sample();
    s.t.ndim = ndim;
    s.strides[0] = big / 2;
    s.refused(Status::invalid, "dimension 0");
    s.strides[0] = INT64_MIN / 2;
    s.refused(Status::invalid, "dimension 0");
    s = Sample();
    s.t.ndim = ndim;
    s.t.strides = nullptr;
    s.shape[0] = big;
    s.refused(Status::invalid, "more bytes");
  }
  for (int kind : {-1, 0, 5, 6, 19, 20, 99}) {
    s = Sample();
    s.t.device.type = static_cast<DeviceType>(kind);
    s.refused(Status::unsupported, std::to_string(kind).c_str());
  }
  for (DeviceType kind : {DeviceType::opencl, DeviceType::vulkan, DeviceType::metal, DeviceType::webgpu}) {
    s = Sample();
    s.t.device.type = kind;
    s.taken({12, 4});
    s.t.byte_offset = 4;
    s.refused(Status::unsupported, "handle");
  }
  for (const std::int32_t id : {-1, INT32_MIN}) {
    s = Sample();
    s.t.device = Device{DeviceType::cuda, id};
    s.refused(Status::invalid, "start at 0");
  }
}

void test_types() {
  // Every code, width and lane count against the table.
  for (unsigned code = 0; code < 256; ++code) {
    for (unsigned bits = 0; bits < 256; ++bits) {
      for (std::uint16_t lanes : {0, 1, 2, 65535}) {
        const DTypeRow* row = find_row(static_cast<TypeCode>(code), bits);
        const bool good = row != nullptr && row->dlpack && lanes > 0;
        DType d;
        Reason why;
        const dl::DataType t{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), lanes};
        const Status s = dl::decode_dtype(t, 0, &d, &why);
        CHECK_EQ(s == Status::ok, good);
        CHECK_EQ(why.text[0] == '\0', good);
        if (good) CHECK(d == make_dtype(static_cast<TypeCode>(code), bits, lanes));
        if (code > 17) CHECK(s == Status::unsupported);
        if (code <= 17 && (lanes == 0 || bits == 0)) CHECK(s == Status::invalid);
      }
    }
  }
  Sample s;
  s.t.dtype = {6, 1, 1};
  s.refused(Status::invalid, "bool");
  s.t.dtype = {10, 16, 1};
  s.refused(Status::invalid, "float8_e4m3fn");
  s.t.dtype = {2, 128, 1};
  s.refused(Status::unsupported, "128 bits");
  s.t.dtype = {0, 24, 1};
  s.refused(Status::unsupported, "24 bits");
  s.t.dtype = {18, 8, 1};
  s.refused(Status::unsupported, "code 18");
  s.t.dtype = {2, 32, 0};
  s.refused(Status::invalid, "0 lanes");
}

void test_subbyte() {
  // Packed: compact row-major only, and then without strides.
  for (int ndim : {2, 12}) {
    Sample s;
    s.t.ndim = ndim;
    s.t.dtype = {17, 4, 1};
    Borrow b = fresh();
    for (bool with_strides : {true, false}) {
      if (!with_strides) s.t.strides = nullptr;
      CHECK(s.decode(b, nullptr) == Status::ok && b.desc.strides == nullptr && b.desc.nbytes() == 3);
      CHECK(validate(b.desc, nullptr) == Status::ok);
      drop_dims(b);
    }
    s = Sample();
    s.t.ndim = ndim;
    s.t.dtype = {17, 4, 1};
    s.strides[0] = 4;
    s.refused(Status::unsupported, "row-major");
    s.shape[0] = 1;  // the stride places nothing
    CHECK(s.decode(b, nullptr) == Status::ok);
    drop_dims(b);
    s.shape[0] = 0;
    CHECK(s.decode(b, nullptr) == Status::ok);
    drop_dims(b);
  }
  Sample s;
  s.t.dtype = {15, 6, 1};
  s.flags = dl::is_subbyte_padded;
  s.taken({3, 1});
  s.strides[0] = 5;  // padded elements may have any strides
  s.taken({5, 1});
  s.t.dtype = {17, 4, 2};  // pairs fill bytes
  s.flags = 0;
  s.taken({5, 1});
  s.flags = 8;
  s.refused(Status::unsupported, "0x8");
  s.t.dtype = {2, 32, 1};  // what isn't known of the flags can't change where whole bytes lie
  s.taken({20, 4});
  s.t.dtype = {17, 4, 1};
  s.flags = 0;
  s.t.ndim = 1;
  s.shape[0] = big;
  s.strides[0] = 1;
  Borrow b = fresh();
  CHECK(s.decode(b, nullptr) == Status::ok);
  CHECK(validate(b.desc, nullptr) == Status::invalid);
  drop_dims(b);
}

void test_flags_and_encoding() {
  Sample s;
  s.flags = dl::read_only;
  Borrow b = fresh();
  CHECK(s.decode(b, nullptr) == Status::ok && b.desc.flags == flag_readonly);
  s.flags = dl::is_copied | std::uint64_t{1} << 63;
  CHECK(s.decode(b, nullptr) == Status::ok && b.desc.flags == flag_copied);

  const Ints shape{2, 3};
  const Ints odd{13, 4};
  std::int64_t dims[4];
  dl::Tensor t;
  std::uint64_t flags = 0;
  const auto refused = [&](DType type, const Ints& sh, const Ints& st, Status want, const char* part) {
    Reason why;
    CHECK(dl::encode({memory, sh.data(), st.data(), type, cpu_device, 2, 0}, &t, dims, &flags, &why) == want);
    CHECK(std::strstr(why.text, part) != nullptr);
  };
  const DType f32 = make_dtype(TypeCode::float_, 32);
  refused(f32, shape, odd, Status::unsupported, "no multiple of 4");
  refused(f32.with_swapped(true), shape, odd, Status::unsupported, "byte order");
  refused(make_time(TypeCode::datetime64, TimeUnit::s), shape, odd, Status::unsupported, "datetime64[s]");
  refused(make_bytes(3), shape, odd, Status::unsupported, "S3");
  refused(make_dtype(TypeCode::float_, 32, 65536), shape, odd, Status::unsupported, "float32x65536");
  refused(f32, {-1, 2}, odd, Status::invalid, "negative");
  // An odd stride where it places nothing is no reason to refuse.
  CHECK(dl::encode({memory, Ints{1, 3}.data(), odd.data(), f32, cpu_device, 2, 0}, &t, dims, &flags, nullptr) ==
        Status::ok);
  CHECK(dims[2] == 3 && dims[3] == 1);
}

void test_random_tensors() {
  // Anything at all in the struct: never a crash, a leak or a descriptor that isn't what the tensor says.
  std::mt19937_64 random(11);
  const std::int64_t values[] = {0, 1, 2, 3, -1, 7, big, INT64_MIN, std::int64_t{1} << 61, std::int64_t{1} << 32};
  int ok = 0;
  for (int round = 0; round < 200000; ++round) {
    Sample s;
    s.t.ndim = static_cast<std::int32_t>(random() % 12) - 1;
    for (int i = 0; i < 11; ++i) {
      s.shape[i] = values[random() % (random() % 8 ? 4 : 10)];
      s.strides[i] = values[random() % (random() % 8 ? 6 : 10)];
    }
    s.t.dtype = {static_cast<std::uint8_t>(random() % 19), static_cast<std::uint8_t>(1u << random() % 8),
                 static_cast<std::uint16_t>(random() % 4)};
    s.t.device.type = static_cast<DeviceType>(random() % 20);
    if (random() % 4 == 0) s.t.strides = nullptr;
    if (random() % 8 == 0) s.t.data = nullptr;
    if (random() % 4 == 0) s.t.byte_offset = random() % 2 ? random() : 8;
    s.flags = random() % 10;
    Borrow b = fresh();
    Reason why;
    const Status got = s.decode(b, &why);
    CHECK(got == Status::ok || got == Status::invalid || got == Status::unsupported);
    CHECK_EQ(got == Status::ok, why.text[0] == '\0');
    if (got != Status::ok) {
      CHECK_EQ(int{b.heap_dims}, 0);
      continue;
    }
    if (validate(b.desc, nullptr) == Status::ok) {
      ++ok;
      if (b.desc.strides != nullptr && b.desc.size() > 0) {
        for (int i = 0; i < s.t.ndim; ++i) {
          if (s.shape[i] == 1 || s.t.strides == nullptr) continue;
          CHECK(b.desc.strides[i] == s.strides[i] * b.desc.dtype.itemsize());
        }
        if (s.t.strides == nullptr) CHECK(b.desc.c_contiguous());
      }
    }
    drop_dims(b);
  }
  CHECK(ok > 1000);
}

}  // namespace

int main() {
  test_round_trips();
  test_layouts();
  test_refusals();
  test_types();
  test_subbyte();
  test_flags_and_encoding();
  test_random_tensors();
  return check::done();
}
