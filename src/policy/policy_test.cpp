// SPDX-License-Identifier: Apache-2.0
// The registry's rows, the presets, and after which failures a policy ends the search.
#include "anyarray/policy.h"

#include <cstring>
#include <initializer_list>

#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

void check_order(const char* name, std::initializer_list<Protocol> want) {
  const Policy* p = find_preset(name);
  CHECK(p != nullptr && p->n == want.size());
  if (p == nullptr || p->n != want.size()) return;
  int i = 0;
  ProtocolMask mask = 0;
  for (Protocol row : want) {
    CHECK(p->at(i++) == row);
    mask |= mask_of(row);
  }
  CHECK_EQ(p->mask, mask);
  for (std::uint16_t rows : p->final) CHECK((rows & ~mask) == 0);
}

void test_registry() {
  for (int i = 0; i < protocol_count; ++i) {
    Protocol p = Protocol::count;
    CHECK(parse_protocol(protocol_rows[i].name, &p) && static_cast<int>(p) == i);
    CHECK(protocol_rows[i].text[0] != '\0');
    // What has no attribute to look up can only be seen on the type.
    CHECK(protocol_rows[i].attribute[0] != '\0' || (protocol_rows[i].traits & row_type_only) != 0);
  }
  Protocol p;
  for (const char* bad : {"", "count", "DLPACK", "dlpack ", "__dlpack__"}) CHECK(!parse_protocol(bad, &p));
}

void test_devices_of_rows() {
  constexpr DeviceType kinds[] = {DeviceType::cpu,    DeviceType::cuda,           DeviceType::cuda_host,
                                  DeviceType::opencl, DeviceType::vulkan,         DeviceType::metal,
                                  DeviceType::vpi,    DeviceType::rocm,           DeviceType::rocm_host,
                                  DeviceType::oneapi, DeviceType::ext_dev,        DeviceType::cuda_managed,
                                  DeviceType::webgpu, DeviceType::hexagon,        DeviceType::maia,
                                  DeviceType::trn,    static_cast<DeviceType>(99)};
  const auto is_one_of = [](DeviceType kind, std::initializer_list<DeviceType> those) {
    for (DeviceType one : those) {
      if (one == kind) return true;
    }
    return false;
  };
  for (DeviceType kind : kinds) {
    for (Protocol row : {Protocol::numpy, Protocol::builtin, Protocol::buffer, Protocol::array_struct,
                         Protocol::array_interface, Protocol::array_method}) {
      CHECK_EQ(serves(row, kind), host_readable(kind));
    }
    for (Protocol row : {Protocol::dlpack, Protocol::dlpack_exchange}) CHECK(serves(row, kind));
    CHECK_EQ(serves(Protocol::sycl_usm_array_interface, kind), kind == DeviceType::oneapi);
    CHECK_EQ(serves(Protocol::cuda_array_interface, kind),
             is_one_of(kind, {DeviceType::cuda, DeviceType::cuda_host, DeviceType::cuda_managed, DeviceType::rocm,
                              DeviceType::rocm_host}));
  }
  static_assert(serves(Protocol::dlpack, DeviceType::oneapi) && !serves(Protocol::buffer, DeviceType::cuda));
  for (int i = 0; i < protocol_count; ++i) {
    const auto row = static_cast<Protocol>(i);
    CHECK_EQ(row_traits[i], protocol_rows[i].traits);
    // A row gives host memory, or that of one kind of device, or any.
    const int of_one =
        ((row_traits[i] & row_host) != 0) + ((row_traits[i] & row_cuda) != 0) + ((row_traits[i] & row_sycl) != 0);
    CHECK(of_one <= 1);
    CHECK_EQ(of_one == 0, std::strcmp(row_memory(row), "any") == 0);
    // A mirror is host memory, and nothing is asked before a row that can give any memory or is the host's own.
    CHECK((row_traits[i] & row_mirror) == 0 || serves(row, DeviceType::cpu));
    CHECK_EQ(asks_device(row), (row_traits[i] & row_mirror) != 0 || (of_one == 1 && !serves(row, DeviceType::cpu)));
  }
}

void test_presets() {
  for (int i = 0; i < preset_count; ++i) {
    CHECK(find_preset(presets[i].name) == &presets[i].policy);
    CHECK(presets[i].text[0] != '\0');
  }
  CHECK(find_preset("default") == &presets[0].policy);
  CHECK(find_preset("nonsense") == nullptr);

  for (const char* name : {"default", "device_first"}) {
    const Policy* p = find_preset(name);
    CHECK(p->device_first && p->lookup == Lookup::type_first && p->n == protocol_count);
    for (int i = 0; i < protocol_count; ++i) CHECK(static_cast<int>(p->at(i)) == i);
  }
  check_order("numpy", {Protocol::numpy, Protocol::buffer, Protocol::array_struct, Protocol::array_interface,
                        Protocol::array_method});
  check_order("mpi4py", {Protocol::buffer, Protocol::dlpack, Protocol::cuda_array_interface});
  check_order("mpi4py_proposed", {Protocol::buffer, Protocol::cuda_array_interface, Protocol::dlpack});
  for (const char* name : {"numpy", "mpi4py", "mpi4py_proposed"}) {
    CHECK(find_preset(name)->lookup == Lookup::instance && !find_preset(name)->device_first);
  }
}

void test_failures() {
  const Policy& any = *find_preset("default");
  const Policy& numpy = *find_preset("numpy");
  const Policy& mpi = *find_preset("mpi4py");
  CHECK(!failure_is_final(any, Protocol::dlpack, Status::failed, Cause::call));
  CHECK(!failure_is_final(any, Protocol::dlpack, Status::invalid, Cause::content));
  CHECK(failure_is_final(any, Protocol::dlpack, Status::mismatch, Cause::content));
  // np.asarray: no buffer leads on, a bad one doesn't; errors of the attributes propagate.
  CHECK(!failure_is_final(numpy, Protocol::buffer, Status::failed, Cause::call));
  CHECK(failure_is_final(numpy, Protocol::buffer, Status::invalid, Cause::content));
  CHECK(failure_is_final(numpy, Protocol::buffer, Status::unsupported, Cause::content));
  for (Protocol row : {Protocol::array_struct, Protocol::array_interface, Protocol::array_method}) {
    CHECK(failure_is_final(numpy, row, Status::failed, Cause::call));
    CHECK(failure_is_final(numpy, row, Status::invalid, Cause::content));
    CHECK(!failure_is_final(numpy, row, Status::not_offered, Cause::content));
  }
  // mpi4py: a buffer that can't be had leads on to DLPack, whose failure is the last word; one that can be had is taken
  // whatever its format.
  CHECK(!failure_is_final(mpi, Protocol::buffer, Status::failed, Cause::call));
  CHECK(failure_is_final(mpi, Protocol::buffer, Status::unsupported, Cause::content));
  CHECK(failure_is_final(mpi, Protocol::dlpack, Status::failed, Cause::call));
  CHECK(!failure_is_final(mpi, Protocol::dlpack, Status::not_offered, Cause::content));

  Policy strict = make_policy({Protocol::buffer, Protocol::dlpack});
  strict.on_failure = OnFailure::stop;
  CHECK(failure_is_final(strict, Protocol::buffer, Status::failed, Cause::call));
  CHECK(failure_is_final(strict, Protocol::buffer, Status::invalid, Cause::content));
  CHECK(!failure_is_final(strict, Protocol::buffer, Status::device, Cause::content));
  CHECK(!failure_is_final(strict, Protocol::buffer, Status::skipped, Cause::content));
}

void test_own_policies() {
  Policy p = make_policy({Protocol::dlpack, Protocol::buffer, Protocol::dlpack});
  CHECK_EQ(int{p.n}, 2);
  CHECK(!p.add(Protocol::buffer));
  CHECK(p.add(Protocol::numpy) && p.at(0) == Protocol::dlpack && p.at(1) == Protocol::buffer &&
        p.at(2) == Protocol::numpy);
  Policy all;
  for (int i = protocol_count - 1; i >= 0; --i) CHECK(all.add(static_cast<Protocol>(i)));
  for (int i = 0; i < protocol_count; ++i) CHECK(static_cast<int>(all.at(i)) == protocol_count - 1 - i);
  static_assert(make_policy({Protocol::dlpack}).rows != make_policy({Protocol::buffer}).rows);
  // What a plan depends on tells two policies apart.
  Policy q = p;
  CHECK(q == p && q.rows == p.rows && q.traits() == p.traits());
  q.lookup = Lookup::instance;
  CHECK(q != p && q.traits() != p.traits());
  Policy first = p;
  first.device_first = true;
  CHECK(first != p && first.traits() != p.traits());
  Policy asks = p;
  asks.device_method = DeviceMethod::called;
  CHECK(asks != p && asks.traits() != p.traits());
  Policy none = p;
  CHECK(none.end(Cause::none, mask_of(Protocol::dlpack)).traits() != p.traits());
  CHECK(none.pass(Cause::none, mask_of(Protocol::dlpack)) == p && none.traits() == p.traits());
  CHECK(none.end(Cause::none, mask_of(Protocol::buffer)).traits() == p.traits());  // which has no attribute
  Policy shorter = make_policy({Protocol::dlpack, Protocol::buffer});
  Policy padded = shorter;
  padded.add(Protocol::numpy);  // number 0: the same bits, but one row more
  CHECK(padded.rows == shorter.rows && padded.traits() != shorter.traits());
}

void test_causes() {
  constexpr ProtocolMask dlpack = mask_of(Protocol::dlpack), buffer = mask_of(Protocol::buffer);
  Policy p = make_policy({Protocol::buffer, Protocol::dlpack});
  CHECK(!p.has_final());
  p.end(Cause::buffer_error, dlpack | mask_of(Protocol::numpy));  // which the order doesn't have
  CHECK(p.has_final() && p.ends_on(Cause::buffer_error) == dlpack && p.ends_on(Cause::call) == 0);
  CHECK(failure_is_final(p, Protocol::dlpack, Status::failed, Cause::buffer_error));
  CHECK(!failure_is_final(p, Protocol::dlpack, Status::failed, Cause::call));
  CHECK(!failure_is_final(p, Protocol::buffer, Status::failed, Cause::buffer_error));
  CHECK(!failure_is_final(p, Protocol::dlpack, Status::not_offered, Cause::buffer_error));
  p.end(buffer).pass(Cause::content, buffer);
  for (int i = 0; i < cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    const bool ends = cause != Cause::none && cause != Cause::content && cause != Cause::read_only;
    CHECK(((p.ends_on(cause) & buffer) != 0) == ends);
    CHECK(cause_name(cause)[0] != '\0');
  }
  static_assert(make_default_policy() == default_policy);
}

}  // namespace

int main() {
  test_causes();
  test_registry();
  test_devices_of_rows();
  test_presets();
  test_failures();
  test_own_policies();
  return check::done();
}
