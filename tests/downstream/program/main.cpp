// SPDX-License-Identifier: Apache-2.0
// What a program without Python does with the core: describes memory of its own, checks it, and hands it on as a
// DLPack tensor that is then read back.
#include <anyarray/anyarray.h>

#include <cstdio>

namespace {

int fail(const anyarray::Reason& why) {
  std::fprintf(stderr, "%s\n", why.text);
  return 1;
}

void print(const anyarray::Descriptor& d) {
  char dtype[64];
  char device[32];
  anyarray::format_dtype(d.dtype, dtype, sizeof dtype);
  anyarray::format_device(d.device, device, sizeof device);
  std::printf("%s on %s, shape (%lld, %lld), strides (%lld, %lld), %lld bytes, F order: %s\n", dtype, device,
              static_cast<long long>(d.shape[0]), static_cast<long long>(d.shape[1]),
              static_cast<long long>(d.strides[0]), static_cast<long long>(d.strides[1]),
              static_cast<long long>(d.nbytes()), d.f_contiguous() ? "yes" : "no");
}

}  // namespace

int main() {
  float values[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  const std::int64_t shape[] = {2, 3};
  const std::int64_t strides[] = {sizeof(float), 2 * sizeof(float)};
  const anyarray::DType f32 = anyarray::make_dtype(anyarray::TypeCode::float_, 32);
  const anyarray::Descriptor transposed{values, shape, strides, f32, anyarray::cpu_device, 2, 0};

  anyarray::Reason why;
  if (anyarray::validate(transposed, &why) != anyarray::Status::ok) return fail(why);
  print(transposed);

  anyarray::dlpack::Tensor tensor;
  std::int64_t dims[4];
  std::uint64_t flags = 0;
  if (anyarray::dlpack::encode(transposed, &tensor, dims, &flags, &why) != anyarray::Status::ok) return fail(why);
  anyarray::Borrow back{};
  if (anyarray::dlpack::decode(tensor, flags, back, &why) != anyarray::Status::ok) return fail(why);
  print(back.desc);

  anyarray::DType big;
  if (!anyarray::parse_dtype(">f8", &big)) return 1;
  if (anyarray::dlpack::encode_dtype(big, &tensor.dtype, &flags, &why) == anyarray::Status::ok) return 1;
  std::printf("refused: %s\n", why.text);
  return 0;
}
