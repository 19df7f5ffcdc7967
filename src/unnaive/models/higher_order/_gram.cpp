// Squared row norms of BᵀB for binary documents, one row at a time: no terms × terms or documents × documents matrix is
// stored, only one counter for each term or document. The specification is gram_row_squares_by_blocks of
// models/higher_order/term_paths.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../base/_checks.h"
#include "../../base/_leak_report.h"

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Row r of a binary matrix has ones in columns[starts[r]] … columns[starts[r + 1] − 1].
struct Rows {
  const int64_t* starts;
  const int32_t* columns;
  int64_t size;

  const int32_t* begin(int64_t r) const { return columns + starts[r]; }
  const int32_t* end(int64_t r) const { return columns + starts[r + 1]; }
};

Rows rows(const Vector<int64_t>& starts, const Vector<int32_t>& columns, int64_t n_columns) {
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a matrix fall or pass its end");
  check_inside(columns.data(), columns.size(), n_columns, "a column of the matrix is outside of it");
  return {starts.data(), columns.data(), static_cast<int64_t>(starts.shape(0)) - 1};
}

// g_i = Σ_k G_ik², G_ik = Σ_{d ∋ i} [k ∈ d]: one row of G at a time, 2·Σ_d len_d² steps. The square of G_ik is updated
// whenever its counter rises, (a + 1)² = a² + (2a + 1), so that the second loop only clears the counters.
void by_term(const Rows& documents, const Rows& postings, double* out) {
  std::vector<uint32_t> together(postings.size);
  for (int64_t i = 0; i < postings.size; ++i) {
    uint64_t sum = 0;
    for (const int32_t* d = postings.begin(i); d != postings.end(i); ++d)
      for (const int32_t* k = documents.begin(*d); k != documents.end(*d); ++k) sum += 2 * uint64_t{together[*k]++} + 1;
    for (const int32_t* d = postings.begin(i); d != postings.end(i); ++d)
      for (const int32_t* k = documents.begin(*d); k != documents.end(*d); ++k) together[*k] = 0;
    out[i] = static_cast<double>(sum);
  }
}

// Call add(d, i, Σ_{e ∋ i} K_de) for every document d and each of its terms i, where K_de is the number of terms that
// documents d and e share: 2·Σ_i df_i² steps. After each d, only the counters of documents that share a term with d are
// cleared; clearing all would take n_docs² steps.
template <class Add>
void each_shared(const Rows& documents, const Rows& postings, const Add& add) {
  std::vector<uint32_t> shared(documents.size);
  std::vector<int32_t> touched(documents.size + 1);  // one more, because an element is written before it is counted
  for (int64_t d = 0; d < documents.size; ++d) {
    size_t n_touched = 0;
    for (const int32_t* i = documents.begin(d); i != documents.end(d); ++i)
      for (const int32_t* e = postings.begin(*i); e != postings.end(*i); ++e) {
        touched[n_touched] = *e;
        n_touched += shared[*e]++ == 0;
      }
    for (const int32_t* i = documents.begin(d); i != documents.end(d); ++i) {
      uint64_t sum = 0;
      for (const int32_t* e = postings.begin(*i); e != postings.end(*i); ++e) sum += shared[*e];
      add(d, *i, sum);
    }
    for (size_t k = 0; k < n_touched; ++k) shared[touched[k]] = 0;
  }
}

// The same numbers, computed as Σ_{d ∋ i} Σ_{e ∋ i} K_de.
void by_document(const Rows& documents, const Rows& postings, double* out) {
  std::vector<uint64_t> sums(postings.size);
  each_shared(documents, postings, [&](int64_t, int32_t i, uint64_t sum) { sums[i] += sum; });
  for (int64_t i = 0; i < postings.size; ++i) out[i] = static_cast<double>(sums[i]);
}

// x_ic = Σ_k G_ik H_ik, where H is the matrix G of the documents of class c. As H_ik = Σ_{d ∋ i, d in c} [k ∈ d], each
// document adds the sum of row i of G over its terms to its classes. One loop serves all classes, 3·Σ_d len_d² steps.
void cross_by_term(const Rows& documents, const Rows& postings, const Rows& labels, int64_t n_classes, double* out) {
  std::vector<uint32_t> together(postings.size);
  for (int64_t i = 0; i < postings.size; ++i) {
    for (const int32_t* d = postings.begin(i); d != postings.end(i); ++d)
      for (const int32_t* k = documents.begin(*d); k != documents.end(*d); ++k) ++together[*k];
    for (const int32_t* d = postings.begin(i); d != postings.end(i); ++d) {
      uint64_t sum = 0;
      for (const int32_t* k = documents.begin(*d); k != documents.end(*d); ++k) sum += together[*k];
      for (const int32_t* c = labels.begin(*d); c != labels.end(*d); ++c)
        out[i * n_classes + *c] += static_cast<double>(sum);
    }
    for (const int32_t* d = postings.begin(i); d != postings.end(i); ++d)
      for (const int32_t* k = documents.begin(*d); k != documents.end(*d); ++k) together[*k] = 0;
  }
}

// The same numbers, computed as Σ_{d ∋ i, d in c} Σ_{e ∋ i} K_de.
void cross_by_document(const Rows& documents, const Rows& postings, const Rows& labels, int64_t n_classes,
                       double* out) {
  each_shared(documents, postings, [&](int64_t d, int32_t i, uint64_t sum) {
    for (const int32_t* c = labels.begin(d); c != labels.end(d); ++c)
      out[i * n_classes + *c] += static_cast<double>(sum);
  });
}

template <void (*Walk)(const Rows&, const Rows&, const Rows&, int64_t, double*)>
void run_classes(Vector<int64_t> starts, Vector<int32_t> terms, Vector<int64_t> term_starts, Vector<int32_t> docs,
                 Vector<int64_t> label_starts, Vector<int32_t> classes, Table out) {
  const auto n_docs = static_cast<int64_t>(starts.size()) - 1, n_classes = static_cast<int64_t>(out.shape(1));
  const Rows documents = rows(starts, terms, static_cast<int64_t>(term_starts.size()) - 1);
  const Rows postings = rows(term_starts, docs, n_docs);
  const Rows labels = rows(label_starts, classes, n_classes);
  require(labels.size == n_docs, "there are as many label sets as documents");
  require(out.shape(0) + 1 == term_starts.size(), "there is one row of sums for each term");
  nb::gil_scoped_release free;
  Walk(documents, postings, labels, n_classes, out.data());
}

template <void (*Walk)(const Rows&, const Rows&, double*)>
void run(Vector<int64_t> starts, Vector<int32_t> terms, Vector<int64_t> term_starts, Vector<int32_t> docs, Out out) {
  const Rows documents = rows(starts, terms, static_cast<int64_t>(term_starts.size()) - 1);
  const Rows postings = rows(term_starts, docs, static_cast<int64_t>(starts.size()) - 1);
  require(out.size() + 1 == term_starts.size(), "there is one sum for each term");
  nb::gil_scoped_release free;
  Walk(documents, postings, out.data());
}

}  // namespace

NB_MODULE(_gram, m) {
  set_leak_report();
  const auto out = nb::arg("out").noconvert();  // without noconvert, a converted copy would be filled and discarded
  m.def("by_term", &run<by_term>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  m.def("by_document", &run<by_document>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  m.def("cross_by_term", &run_classes<cross_by_term>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        out);
  m.def("cross_by_document", &run_classes<cross_by_document>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), out);
}
