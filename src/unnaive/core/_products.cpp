// Sparse × thin products: a CSR matrix of documents times a tall dense matrix with one column for each class.
// The specification is scipy.sparse (products.py); the order of additions is the same, so results are equal bit for
// bit.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nb = nanobind;

namespace {

constexpr int64_t kAhead = 8;  // entries between a prefetch and its use

template <typename Index>
struct Csr {
  const Index* starts;
  const int32_t* columns;
  const double* values;
  int64_t rows;
};

// the entries of documents, those of chunk i from starts[i] to starts[i + 1], sorted by term
struct Entries {
  const int64_t* starts;
  const int32_t* terms;
  const int32_t* documents;  // counted from the first of the chunk
  const double* values;
};

// cells of terms that few classes have: those of term t are starts[t] … starts[t + 1]
struct Lists {
  const int64_t* starts;
  const int32_t* classes;
};

struct Documents {
  int64_t size, chunk;
  const int32_t* targets;
  const double* weight;
  const double* offset;  // one for each class, added to the scores of every document
};

namespace plain {
#include "_products_loops.h"
#include "_products_passes.h"
}  // namespace plain

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define UNNAIVE_WIDE 1
// no fused multiply-add: results must not depend on the processor
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
#include "_products_loops.h"
#include "_products_passes.h"
}  // namespace wide
#pragma GCC pop_options
#endif

bool has_wide() {
#ifdef UNNAIVE_WIDE
  static const bool found = __builtin_cpu_supports("avx2");
  return found;
#else
  return false;
#endif
}

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Dense = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Index>
Csr<Index> csr(const Vector<Index>& starts, const Vector<int32_t>& columns, const Vector<double>& values) {
  return {starts.data(), columns.data(), values.data(), static_cast<int64_t>(starts.shape(0)) - 1};
}

template <typename Index>
void run_product(Vector<Index> starts, Vector<int32_t> columns, Vector<double> values, Dense dense, Out out) {
  const auto X = csr<Index>(starts, columns, values);
  const auto width = static_cast<int64_t>(dense.shape(1));
  nb::gil_scoped_release free;
#ifdef UNNAIVE_WIDE
  if (has_wide()) return wide::product(X, dense.data(), out.data(), width);
#endif
  plain::product(X, dense.data(), out.data(), width);
}

template <typename Index>
void run_transposed(Vector<Index> starts, Vector<int32_t> columns, Vector<double> values, Dense dense, Out out) {
  const auto X = csr<Index>(starts, columns, values);
  const auto width = static_cast<int64_t>(dense.shape(1));
  nb::gil_scoped_release free;
#ifdef UNNAIVE_WIDE
  if (has_wide()) return wide::transposed(X, dense.data(), out.data(), width);
#endif
  plain::transposed(X, dense.data(), out.data(), width);
}

double run_expectations(Vector<int64_t> row_starts, Vector<int32_t> row_terms, Vector<int32_t> row_documents,
                        Vector<double> row_values, Vector<int64_t> list_starts, Vector<int32_t> list_terms,
                        Vector<int32_t> list_documents, Vector<double> list_values, int64_t chunk,
                        Vector<int64_t> starts, Vector<int32_t> classes, Vector<int32_t> targets, Vector<double> weight,
                        Vector<double> offset, Vector<double> weights, OutVector expected) {
  const Entries rows{row_starts.data(), row_terms.data(), row_documents.data(), row_values.data()};
  const Entries listed{list_starts.data(), list_terms.data(), list_documents.data(), list_values.data()};
  const Lists lists{starts.data(), classes.data()};
  const Documents documents{static_cast<int64_t>(targets.shape(0)), chunk, targets.data(), weight.data(),
                            offset.data()};
  const auto width = static_cast<int64_t>(offset.shape(0));
  const auto n_table = static_cast<int64_t>(weights.shape(0) - classes.shape(0));
  nb::gil_scoped_release free;
#ifdef UNNAIVE_WIDE
  if (has_wide())
    return wide::expectations(rows, listed, lists, documents, weights.data(), expected.data(), width, n_table);
#endif
  return plain::expectations(rows, listed, lists, documents, weights.data(), expected.data(), width, n_table);
}

}  // namespace

NB_MODULE(_products, m) {
  m.def("product", &run_product<int32_t>);
  m.def("product", &run_product<int64_t>);
  m.def("transposed", &run_transposed<int32_t>);
  m.def("transposed", &run_transposed<int64_t>);
  m.def("expectations", &run_expectations);
}
