// log, log1p, exp and expm1 with the same bits on every processor; elementary.py calls them, and says why.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "_avx2.h"
#include "_checks.h"
#include "_leak_report.h"

namespace nb = nanobind;

namespace {

namespace plain {
typedef double Several __attribute__((vector_size(16)));
#include "_elementary.h"
}  // namespace plain

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
typedef double Several __attribute__((vector_size(32)));
#include "_elementary.h"
}  // namespace wide
#pragma GCC pop_options
#else
namespace wide = plain;
#endif

#ifdef UNNAIVE_AVX512
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512dq,avx512vl")
namespace widest {
typedef double Several __attribute__((vector_size(64)));
#include "_elementary.h"
}  // namespace widest
#pragma GCC pop_options
#else
namespace widest = wide;
#endif

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int64_t kWorthReleasing = 1 << 12;  // values: fewer take less time than handing over the interpreter

template <int which>
void apply(Values in, Out out) {
  require(in.size() == out.size(), "the result has another length than the values");
  const auto size = static_cast<int64_t>(in.size());
  const auto run = [&] {
    if (has_avx512()) return widest::run_function<widest::Several>(which, in.data(), out.data(), size);
    if (has_avx2()) return wide::run_function<wide::Several>(which, in.data(), out.data(), size);
    plain::run_function<plain::Several>(which, in.data(), out.data(), size);
  };
  if (size < kWorthReleasing) return run();
  nb::gil_scoped_release free;
  run();
}

}  // namespace

NB_MODULE(_elementary, m) {
  set_leak_report();
  const auto in = nb::arg("x").noconvert(), out = nb::arg("out").noconvert();
  m.def("log", &apply<0>, in, out);
  m.def("log1p", &apply<1>, in, out);
  m.def("exp", &apply<2>, in, out);
  m.def("expm1", &apply<3>, in, out);
}
