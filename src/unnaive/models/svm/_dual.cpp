// Dual coordinate descent for linear models of sparse documents: one-vs-rest squared hinge, and softmax with a prior.
// solver.py states the problems; solver_reference.py is the same algorithm in numpy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../base/_avx2.h"
#include "../../base/_checks.h"
#include "../../base/_leak_report.h"
#include "../../base/_log.h"
#include "../../data/_scratch.h"
#include "_dual_hinge.h"
#include "_dual_jobs.h"
#include "_dual_rows.h"
#include "_dual_softmax.h"
#include "_dual_state.h"

namespace nb = nanobind;

namespace unnaive {
namespace plain {
using Wide = Four;
#include "_dual_row_loops.h"
// the loops use the products above
#include "_dual_hinge_loops.h"
#include "_dual_softmax_loops.h"
}  // namespace plain

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
using Wide = Four;
#include "_dual_row_loops.h"
// the loops use the products above
#include "_dual_hinge_loops.h"
#include "_dual_softmax_loops.h"
}  // namespace wide
#pragma GCC pop_options
#else
namespace wide = plain;
#endif

#ifdef UNNAIVE_AVX512
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512dq,avx512vl")
namespace widest {
using Wide = EightDoubles;
#include "_dual_row_loops.h"
// the loops use the products above
#include "_dual_softmax_loops.h"
}  // namespace widest
#pragma GCC pop_options
#else
namespace widest = wide;
#endif

// The widest registers to use, in bits: tests compare the copies of the loops, which must give the same results.
std::atomic<int> most_bits{512};

template <typename Value, typename Vector>
HingeLoops<Value, Vector> hinge_loops() {
  if (has_avx2() && most_bits >= 256) return {wide::hinge_pass<Value, Vector>, wide::hinge_value<Value, Vector>};
  return {plain::hinge_pass<Value, Vector>, plain::hinge_value<Value, Vector>};
}

template <typename Value, typename Vector>
SoftmaxLoops<Value, Vector> softmax_loops() {
  if constexpr (kCountOf<Vector> % 8 == 0)  // the classes fill whole vectors of eight
    if (has_avx512() && most_bits >= 512)
      return {widest::add_scores<Value, Vector>, widest::softmax_pass<Value, Vector>,
              widest::softmax_total<Value, Vector>};
  if (has_avx2() && most_bits >= 256)
    return {wide::add_scores<Value, Vector>, wide::softmax_pass<Value, Vector>, wide::softmax_total<Value, Vector>};
  return {plain::add_scores<Value, Vector>, plain::softmax_pass<Value, Vector>, plain::softmax_total<Value, Vector>};
}

template <typename Value, typename Vector, class Watcher>
void solve_hinge(const HingeProblem<Value>& problem, int64_t n_threads, const HingeResult& result, Monitor& monitor,
                 const Watcher& watch) {
  constexpr int64_t kCount = kCountOf<Vector>;
  const auto solve_block = [&](int64_t block) {
    HingeSolver<Value, Vector> solver(problem, block * kCount);
    solver.solve(hinge_loops<Value, Vector>(), monitor);
    if (!monitor.stop) solver.write(hinge_loops<Value, Vector>(), result);
    monitor.solved += std::min<int64_t>(kCount, problem.n_classes - block * kCount);
  };
  run_jobs((problem.n_classes + kCount - 1) / kCount, static_cast<int>(n_threads), monitor, solve_block, watch);
}

template <typename Value, typename Vector, class Watcher>
void solve_softmax(const SoftmaxProblem<Value>& problem, SoftmaxResult& result, Monitor& monitor,
                   const Watcher& watch) {
  const auto solve_all = [&](int64_t) {
    SoftmaxSolver<Value, Vector> solver(problem, softmax_loops<Value, Vector>());
    solver.solve(monitor);
    if (!monitor.stop) solver.write(result);
  };
  run_jobs(1, 1, monitor, solve_all, watch);
}

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A new array of zeros that is returned to Python as a numpy array.
template <typename T>
class Zeros {
 public:
  Zeros(int64_t rows, int64_t columns) : shape_{static_cast<size_t>(rows), static_cast<size_t>(columns)} {
    data_.reset(static_cast<T*>(allocate_zeros(shape_[0], shape_[1] * sizeof(T))));
    if (!data_) throw std::bad_alloc();
  }
  T* data() { return data_.get(); }
  nb::object table() { return array(2); }
  nb::object vector() { return array(1); }

 private:
  struct Free {
    void operator()(T* data) const { free_scratch(data); }
  };
  nb::object array(size_t n_dims) {
    nb::capsule owner(data_.get(), [](void* data) noexcept { free_scratch(data); });
    T* data = data_.release();
    return nb::cast(nb::ndarray<nb::numpy, T>(data, n_dims, shape_, owner));
  }
  size_t shape_[2];
  std::unique_ptr<T, Free> data_;
};

// Checks for both solvers: penalties are finite and either 0 or of a magnitude that does not overflow; limits are
// sensible.
void check_common(const Vector<double>& penalty, int64_t n_docs, double tol, int64_t max_iter, int64_t n_threads) {
  require(static_cast<int64_t>(penalty.size()) == n_docs, "there is not one weight for each document");
  for (int64_t d = 0; d < n_docs; ++d) {
    const double p = penalty.data()[d];
    require(p == 0 || (p >= 1e-100 && p <= 1e100),
            "C times a document's weight is neither 0 nor within 1e-100 … 1e100");
  }
  require(std::isfinite(tol) && tol >= 0, "tol is not a finite number from 0 on");
  require(max_iter >= 0 && max_iter <= INT32_MAX, "max_iter is not a whole number from 0 on");
  require(n_threads >= 1 && n_threads <= 1024, "the number of threads is not within 1 … 1024");
}

const double* checked_table(const std::optional<Table>& table, int64_t rows, int64_t columns, const char* message) {
  if (!table) return nullptr;
  require(static_cast<int64_t>(table->shape(0)) == rows && static_cast<int64_t>(table->shape(1)) == columns, message);
  for (size_t i = 0; i < table->size(); ++i) {
    const double x = table->data()[i];
    require(x >= -1e200 && x <= 1e200, message);
  }
  return table->data();
}

// Documents in the layout of the solvers, reusable for any number of problems.
template <typename Value>
struct CompactRows {
  Documents<Value> documents;
  int64_t n_terms;
};

template <typename Value>
CompactRows<Value> compact_rows(Vector<int64_t> starts, Vector<int32_t> terms, Vector<Value> values, int64_t n_terms) {
  require(starts.size() >= 1, "indptr is empty");
  require(terms.size() == values.size(), "indices and data have different lengths");
  require(n_terms >= 0 && n_terms <= INT32_MAX, "the number of columns is not within 0 … 2^31 - 1");
  const Rows<Value> rows{starts.data(), terms.data(), values.data(), static_cast<int64_t>(starts.size()) - 1};
  nb::gil_scoped_release free;
  check_rows(rows, static_cast<int64_t>(terms.size()), n_terms);
  return {compact(rows, n_terms), n_terms};
}

// Check for Ctrl-C, and call progress(passes, violation, solved classes) after every further pass.
class Watch {
 public:
  Watch(const Monitor& monitor, std::optional<nb::callable> progress)
      : monitor_(monitor), progress_(std::move(progress)) {}
  void operator()() const {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const int64_t passes = monitor_.passes;
    if (!progress_ || passes == reported_) return;
    reported_ = passes;
    (*progress_)(passes, monitor_.violation.load(), monitor_.solved.load());
  }

 private:
  const Monitor& monitor_;
  std::optional<nb::callable> progress_;
  mutable int64_t reported_ = 0;
};

template <typename Value>
nb::tuple hinge(const CompactRows<Value>& rows, Vector<int64_t> label_starts, Vector<int32_t> labels, int64_t n_classes,
                Vector<double> penalty, std::optional<Table> scale, double tol, int64_t max_iter, uint64_t seed,
                int64_t n_threads, std::optional<nb::callable> progress, bool single) {
  const Documents<Value>& documents = rows.documents;
  const int64_t n_terms = rows.n_terms, n_docs = documents.size();
  check_common(penalty, n_docs, tol, max_iter, n_threads);
  require(n_classes >= 0 && n_classes <= INT32_MAX, "the number of classes is not within 0 … 2^31 - 1");
  require(static_cast<int64_t>(label_starts.size()) == n_docs + 1, "there is not one row of labels for each document");
  const LongVector<double> ones(labels.size(), 1.0);
  check_rows(Rows<double>{label_starts.data(), labels.data(), ones.data(), n_docs}, static_cast<int64_t>(labels.size()),
             n_classes);
  const HingeProblem<Value> problem{
      documents,
      n_terms,
      n_classes,
      {label_starts.data(), label_starts.data() + label_starts.size()},
      {labels.data(), labels.data() + labels.size()},
      {penalty.data(), penalty.data() + n_docs},
      checked_table(scale, n_classes, n_terms, "scale is not a finite table of classes by terms"),
      tol,
      static_cast<int32_t>(max_iter),
      seed};
  Zeros<double> weights(n_classes, n_terms), bias(n_classes, 1), objective(n_classes, 1), gap(n_classes, 1);
  Zeros<int32_t> n_iter(n_classes, 1);
  Zeros<bool> converged(n_classes, 1);
  const HingeResult result{weights.data(), bias.data(), objective.data(), gap.data(), n_iter.data(), converged.data()};
  Monitor monitor;
  const Watch watch(monitor, progress);
  {
    nb::gil_scoped_release free;
    if (single)
      solve_hinge<Value, Eight>(problem, n_threads, result, monitor, watch);
    else
      solve_hinge<Value, Four>(problem, n_threads, result, monitor, watch);
  }
  return nb::make_tuple(weights.table(), bias.vector(), n_iter.vector(), objective.vector(), gap.vector(),
                        converged.vector());
}

template <typename Value>
nb::tuple softmax(const CompactRows<Value>& rows, Vector<int32_t> targets, int64_t n_classes, Vector<double> penalty,
                  std::optional<Table> prior, Vector<double> prior_bias, double tol, int64_t max_iter, uint64_t seed,
                  std::optional<nb::callable> progress, bool single) {
  const Documents<Value>& documents = rows.documents;
  const int64_t n_terms = rows.n_terms, n_docs = documents.size();
  check_common(penalty, n_docs, tol, max_iter, 1);
  require(n_classes >= 1 && n_classes <= INT32_MAX / 2, "the number of classes is not within 1 … 2^30 - 1");
  require(static_cast<int64_t>(targets.size()) == n_docs, "there is not one target for each document");
  require(static_cast<int64_t>(prior_bias.size()) == n_classes, "the prior has not one bias for each class");
  for (size_t c = 0; c < prior_bias.size(); ++c)
    require(std::fabs(prior_bias.data()[c]) <= 1e200, "a bias of the prior is not finite");
  const SoftmaxProblem<Value> problem{
      documents,
      n_terms,
      n_classes,
      {targets.data(), targets.data() + n_docs},
      {penalty.data(), penalty.data() + n_docs},
      checked_table(prior, n_classes, n_terms, "the prior is not a finite table of classes by terms"),
      prior_bias.data(),
      tol,
      static_cast<int32_t>(max_iter),
      seed};
  for (const int32_t target : problem.targets)
    require(target >= 0 && target < n_classes, "a target is not the number of a class");
  Zeros<double> weights(n_classes, n_terms), bias(n_classes, 1);
  SoftmaxResult result{weights.data(), bias.data(), {}, 0, false};
  Monitor monitor;
  const Watch watch(monitor, progress);
  {
    nb::gil_scoped_release free;
    if (single)
      solve_softmax<Value, Eight>(problem, result, monitor, watch);
    else
      solve_softmax<Value, Four>(problem, result, monitor, watch);
  }
  return nb::make_tuple(weights.table(), bias.vector(), result.n_iter, result.value.loss, result.value.penalty,
                        result.value.gap, result.converged);
}

// Arrays must have the right type: a conversion would hide a mistake and cost a copy.
template <typename Value>
void define_rows(nb::module_& m, const char* name) {
  const auto exact = nb::arg().noconvert();
  nb::class_<CompactRows<Value>>(m, name);
  m.def("compact_rows", &compact_rows<Value>, exact, exact, exact, nb::arg());
}

template <typename Function>
void define_hinge(nb::module_& m, Function function) {
  const auto exact = nb::arg().noconvert();
  const auto table = nb::arg().noconvert().none();
  m.def("hinge", function, nb::arg(), exact, exact, nb::arg(), exact, table, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg());
}

template <typename Function>
void define_softmax(nb::module_& m, Function function) {
  const auto exact = nb::arg().noconvert();
  const auto table = nb::arg().noconvert().none();
  m.def("softmax", function, nb::arg(), exact, nb::arg(), exact, table, exact, nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg());
}

}  // namespace unnaive

NB_MODULE(_dual, m) {
  set_leak_report();
  m.def("set_folder",
        [](const std::string& folder, size_t least) { unnaive::ScratchFiles::instance().set_folder(folder, least); });
  m.def("limit_registers", [](int bits) { unnaive::most_bits = bits; });
  m.def("drop_pages", [] { unnaive::ScratchFiles::instance().drop_pages(); });
  unnaive::define_rows<float>(m, "CompactRows32");
  unnaive::define_rows<double>(m, "CompactRows64");
  unnaive::define_hinge(m, &unnaive::hinge<float>);
  unnaive::define_hinge(m, &unnaive::hinge<double>);
  unnaive::define_softmax(m, &unnaive::softmax<float>);
  unnaive::define_softmax(m, &unnaive::softmax<double>);
}
