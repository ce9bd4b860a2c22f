// SPDX-License-Identifier: Apache-2.0
// Functions over images of any library, in nanobind.
#include <anyarray/casters/nanobind.h>
#include <nanobind/nanobind.h>

namespace nb = nanobind;
using anyarray::array;
using anyarray::view;

namespace {

// In place: memory that can be written is asked for, since the elements aren't const.
void clip(view<float, 2> image, float low, float high) {
  for (std::int64_t i = 0; i < image.extent(0); ++i) {
    for (std::int64_t j = 0; j < image.extent(1); ++j) {
      float& x = image(i, j);
      x = x < low ? low : x > high ? high : x;
    }
  }
}

// A new image in the library that the old one came from: torch in, torch out.
auto blur(view<const float, 2> image) {
  const std::int64_t rows = image.extent(0);
  const std::int64_t columns = image.extent(1);
  auto out = array<float, 2>::make({rows, columns});
  if (!out.ok()) throw std::bad_alloc();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      float n = 0;
      for (std::int64_t k = j > 0 ? j - 1 : 0; k <= j + 1 && k < columns; ++k, ++n) sum += image(i, k);
      out(i, j) = sum / n;
    }
  }
  return anyarray::given_like{out, image};
}

// Any numbers that become float64 without losing their kind: what is another type is copied, and only here.
double mean(anyarray::or_copy<view<const double>> x) {
  double sum = 0;
  std::int64_t at[anyarray::max_ndim] = {};
  for (std::int64_t n = 0; n < x.size(); ++n) {
    sum += x.at(at);
    for (int i = x.rank() - 1; i >= 0 && ++at[i] == x.extent(i); --i) at[i] = 0;
  }
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

// Keeps its argument beyond the call: an array shares what it was given.
class Background {
 public:
  explicit Background(array<const float, 2> image) : image_(static_cast<array<const float, 2>&&>(image)) {}
  float at(std::int64_t i, std::int64_t j) const { return image_(i, j); }
  array<const float, 2> image() const { return image_; }

 private:
  array<const float, 2> image_;
};

}  // namespace

NB_MODULE(filters, m) {
  m.def("clip", clip, nb::arg("image"), nb::arg("low"), nb::arg("high"));
  m.def("blur", blur, nb::arg("image"));
  m.def("mean", mean, nb::arg("x"));
  nb::class_<Background>(m, "Background")
      .def(nb::init<array<const float, 2>>(), nb::arg("image"))
      .def("at", &Background::at)
      .def_prop_ro("image", &Background::image);
  anyarray::casters::install(m);  // so that a TypeError says why an argument was refused
}
