// Sparse × thin products: a CSR matrix of documents times a tall dense matrix with one column for each class; and sums
// of counts by class (_products_sums.h).
// The specification is scipy.sparse (products.py); the order of additions is the same, so results are equal bit for
// bit.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/_avx2.h"
#include "../base/_checks.h"
#include "../base/_leak_report.h"
#include "../base/_numpy.h"
#include "../base/_threads.h"
#include "../text/_weighted.h"
#include "_products_cell_table.h"
#include "_products_cells.h"
#include "_products_columns.h"
#include "_products_sums.h"

namespace nb = nanobind;

using unnaive::numpy_of;

namespace {

using unnaive::kAhead;
using unnaive::LogCounts;
using unnaive::Weighted;

constexpr int64_t kBlockCells = 512;      // scores that pass through each step of the softmax together: 4 kB
constexpr int64_t kGroupCells = 1 << 20;  // posteriors that all threads together hold at a time: 8 MB

template <typename Index>
struct Csr {
  const Index* starts;
  const int32_t* columns;
  const double* values;
  int64_t rows;
};

// A dense matrix with any strides, counted in elements.
template <typename T>
struct Matrix {
  T* data;
  int64_t by_row, by_column;
};

constexpr int64_t kDepth = 256;  // terms of a sum that are added in registers: the panel of a block stays in the cache

// The input of a pass of iterative scaling besides the documents.
struct Labels {
  const int32_t* targets;
  const double* weight;
  const double* offset;  // one for each class, then −∞ up to the stride; added to the scores of every document
};

// Call work(0) … work(jobs − 1) on this thread and others.
template <class Work>
void in_threads(int64_t threads, int64_t jobs, const Work& work) {
  std::atomic<int64_t> next{0};
  unnaive::on_threads(static_cast<unsigned>(std::max<int64_t>(1, std::min(threads, jobs))), [&](unsigned) {
    for (int64_t job; (job = next++) < jobs;) work(job);
  });
}

namespace plain {
constexpr int64_t Bytes = 16;
#include "../text/_weighted_rows.h"
// the loops use the functions above
#include "_products_dense.h"
#include "_products_loops.h"
#include "_products_passes.h"
#include "_products_weighted.h"
}  // namespace plain

#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
constexpr int64_t Bytes = 32;
#include "../text/_weighted_rows.h"
// the loops use the functions above
#include "_products_dense.h"
#include "_products_loops.h"
#include "_products_passes.h"
#include "_products_weighted.h"
}  // namespace wide
#pragma GCC pop_options
#else
namespace wide = plain;
#endif

#ifdef UNNAIVE_AVX512
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512dq,avx512vl")
namespace widest {
constexpr int64_t Bytes = 64;
#include "_products_dense.h"
}  // namespace widest
#pragma GCC pop_options
#else
namespace widest = wide;
#endif

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Dense = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Index>
Csr<Index> csr(const Vector<Index>& starts, const Vector<int32_t>& columns, const Vector<double>& values) {
  require(columns.size() == values.size(), "a sparse matrix has as many columns as values");
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a sparse matrix fall or pass its end");
  return {starts.data(), columns.data(), values.data(), static_cast<int64_t>(starts.size()) - 1};
}

template <typename Rows>
int64_t height(const Rows& table) {
  return static_cast<int64_t>(table.shape(0));
}

template <typename Index>
void run_product(Vector<Index> starts, Vector<int32_t> columns, Vector<double> values, Dense dense, Out out) {
  const auto X = csr<Index>(starts, columns, values);
  const auto width = static_cast<int64_t>(dense.shape(1));
  check_inside(columns.data(), columns.size(), height(dense),
               "a column of the sparse matrix is no row of the dense one");
  require(height(out) == X.rows && out.shape(1) == dense.shape(1), "the product has another shape");
  nb::gil_scoped_release free;
  if (has_avx2()) return wide::product(X, dense.data(), out.data(), width);
  plain::product(X, dense.data(), out.data(), width);
}

template <typename Index>
void run_transposed(Vector<Index> starts, Vector<int32_t> columns, Vector<double> values, Dense dense, Out out) {
  const auto X = csr<Index>(starts, columns, values);
  const auto width = static_cast<int64_t>(dense.shape(1));
  check_inside(columns.data(), columns.size(), height(out), "a column of the sparse matrix is no row of the product");
  require(height(dense) == X.rows && out.shape(1) == dense.shape(1), "the product has another shape");
  nb::gil_scoped_release free;
  if (has_avx2()) return wide::transposed(X, dense.data(), out.data(), width);
  plain::transposed(X, dense.data(), out.data(), width);
}

template <typename T>
using Stack = nb::ndarray<T, nb::ndim<3>, nb::device::cpu>;

template <typename T>
Matrix<T> matrix_of(const Stack<T>& stack, int64_t number) {
  return {stack.data() + number * stack.stride(0), stack.stride(1), stack.stride(2)};
}

// out[b] += left[b] · right[b]
template <typename T>
void run_dense_product(Stack<const T> left, Stack<const T> right, Stack<T> out) {
  require(left.shape(0) == right.shape(0) && left.shape(0) == out.shape(0) && left.shape(2) == right.shape(1) &&
              out.shape(1) == left.shape(1) && out.shape(2) == right.shape(2),
          "the shapes of a product do not match");
  const auto rows = static_cast<int64_t>(left.shape(1)), depth = static_cast<int64_t>(left.shape(2));
  const auto columns = static_cast<int64_t>(right.shape(2)), count = static_cast<int64_t>(left.shape(0));
  nb::gil_scoped_release free;
  for (int64_t b = 0; b < count; ++b) {
    const auto one = matrix_of(left, b), other = matrix_of(right, b);
    const auto target = matrix_of(out, b);
    if (has_avx512())
      widest::add_product(one, other, target, rows, depth, columns);
    else if (has_avx2())
      wide::add_product(one, other, target, rows, depth, columns);
    else
      plain::add_product(one, other, target, rows, depth, columns);
  }
}

double run_dot(Vector<double> left, Vector<double> right) {
  require(left.size() == right.size(), "the vectors of a product have other lengths");
  const auto size = static_cast<int64_t>(left.size());
  nb::gil_scoped_release free;
  if (has_avx512()) return widest::dot(left.data(), right.data(), size);
  if (has_avx2()) return wide::dot(left.data(), right.data(), size);
  return plain::dot(left.data(), right.data(), size);
}

// Turn pairs of rows by angles: rows last and last + 1, then last − 1 and last, …, one pair for each sine.
void run_turn_rows(Out rows, int64_t last, Vector<double> sines, Vector<double> cosines) {
  const auto count = static_cast<int64_t>(sines.size()), width = static_cast<int64_t>(rows.shape(1));
  require(cosines.size() == sines.size() && last + 1 < height(rows) && last - count >= -1 && last >= -1,
          "a turned row is outside of the matrix");
  nb::gil_scoped_release free;
  for (int64_t k = 0; k < count; ++k) {
    const double sine = sines.data()[k], cosine = cosines.data()[k];
    double* first = rows.data() + (last - k) * width;
    double* second = first + width;
    for (int64_t j = 0; j < width; ++j) {
      const double a = first[j], b = second[j];
      first[j] = a * cosine - sine * b;
      second[j] = sine * a + cosine * b;
    }
  }
}

template <typename Weight>
void run_add_tf_idf(Vector<int64_t> starts, Vector<int32_t> columns, Vector<double> values, Vector<int32_t> place,
                    Vector<double> idf, nb::ndarray<const Weight, nb::ndim<2>, nb::c_contig, nb::device::cpu> weights,
                    Out out, bool by_sum) {
  const auto X = csr<int64_t>(starts, columns, values);
  check_inside(columns.data(), columns.size(), height(place), "a column of the sparse matrix has no place");
  bool outside = false;
  for (size_t i = 0; i < place.size(); ++i) outside |= place.data()[i] >= height(weights);
  require(!outside && idf.size() == weights.shape(0), "a place is no row of the weights");
  require(height(out) == X.rows && out.shape(1) == weights.shape(1), "the scores have another shape");
  const auto width = static_cast<int64_t>(out.shape(1));
  nb::gil_scoped_release free;
  if (has_avx2()) return wide::add_tf_idf(X, place.data(), idf.data(), weights.data(), out.data(), width, by_sum);
  plain::add_tf_idf(X, place.data(), idf.data(), weights.data(), out.data(), width, by_sum);
}

// (row ends, columns, values) of the columns with a place ≥ 0, which is their new number; −1 drops a column.
template <typename Index, typename Value>
nb::tuple run_take_columns(Vector<Index> starts, Vector<int32_t> columns, Vector<Value> values, Vector<int32_t> place) {
  require(columns.size() == values.size(), "a sparse matrix has as many columns as values");
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a sparse matrix fall or pass its end");
  check_inside(columns.data(), columns.size(), height(place), "a column of the sparse matrix has no place");
  std::vector<Index> ends(starts.size(), 0);
  std::vector<int32_t> kept;
  std::vector<Value> found;
  {
    nb::gil_scoped_release free;
    size_t size = 0;
    for (size_t k = 0; k < columns.size(); ++k) size += place.data()[columns.data()[k]] >= 0;
    kept.resize(size + 1);  // a cell without a place is written too, and then overwritten
    found.resize(size + 1);
    size_t at = 0;
    for (size_t row = 0; row + 1 < starts.size(); ++row) {
      for (Index k = starts.data()[row]; k < starts.data()[row + 1]; ++k) {
        kept[at] = place.data()[columns.data()[k]];
        found[at] = values.data()[k];
        at += kept[at] >= 0;
      }
      ends[row + 1] = static_cast<Index>(at);
    }
    kept.resize(at);
    found.resize(at);
  }
  return nb::make_tuple(numpy_of(std::move(ends)), numpy_of(std::move(kept)), numpy_of(std::move(found)));
}

PartMatrix part_matrix(const Vector<int64_t>& starts, const Vector<int32_t>& terms, const Vector<double>& values,
                       int64_t n_terms) {
  const auto X = csr<int64_t>(starts, terms, values);
  require(starts.data()[0] == 0, "the rows of a sparse matrix do not begin with its first entry");
  check_inside(terms.data(), terms.size(), n_terms, "an entry has a term that is not there");
  return {X.starts, X.columns, X.values, X.rows, n_terms};
}

// Documents in the layout of the passes, packed if possible.
class ScalingDocuments {
 public:
  ScalingDocuments(Vector<int64_t> row_starts, Vector<int32_t> row_terms, Vector<double> row_values,
                   Vector<int64_t> list_starts, Vector<int32_t> list_terms, Vector<double> list_values,
                   Vector<int64_t> starts, Vector<int32_t> classes, int64_t n_rows, int64_t width, int64_t chunk) {
    require(chunk >= 1 && width >= 1 && width <= INT32_MAX, "a chunk has a document, and there is a class, at least");
    require(n_rows >= 0 && n_rows <= INT32_MAX && classes.size() <= INT32_MAX, "there are too many cells");
    check_starts(starts.data(), starts.size(), classes.size(), "the ends of the lists fall or pass their cells");
    check_inside(classes.data(), classes.size(), width, "a listed cell has a class that is not there");
    require(row_starts.size() == list_starts.size(), "the two parts have different numbers of documents");
    const PartMatrix in_rows = part_matrix(row_starts, row_terms, row_values, n_rows);
    const PartMatrix in_lists = part_matrix(list_starts, list_terms, list_values, height(starts) - 1);
    chunk = std::min(chunk, std::max<int64_t>(in_rows.size, 1));
    require(chunk < (int64_t{1} << 40) / (width + 3), "a chunk is too large");
    std::vector<int64_t> lists(starts.data(), starts.data() + starts.size());
    std::vector<int32_t> listed(classes.data(), classes.data() + classes.size());
    nb::gil_scoped_release free;
    const auto n_docs = static_cast<size_t>(in_rows.size);
    unnaive::LongVector<double> scales = packing_scales(in_rows, in_lists, chunk);
    if (scales.size() == n_docs)
      packed_ = std::make_unique<CellDocuments<PackedEntry>>(in_rows, in_lists, std::move(lists), std::move(listed),
                                                             width, chunk, std::move(scales));
    else
      plain_ = std::make_unique<CellDocuments<PlainEntry>>(in_rows, in_lists, std::move(lists), std::move(listed),
                                                           width, chunk, unnaive::LongVector<double>(n_docs, 1.0));
  }

  // Return the log-likelihood, and add the expected count of every cell to `expected`.
  double expectations(Vector<int32_t> targets, Vector<double> weight, Vector<double> offset, Vector<double> weights,
                      OutVector expected, int64_t threads) const {
    return packed_ ? run(*packed_, targets, weight, offset, weights, expected, threads)
                   : run(*plain_, targets, weight, offset, weights, expected, threads);
  }

 private:
  template <class Entry>
  static double run(const CellDocuments<Entry>& X, const Vector<int32_t>& targets, const Vector<double>& weight,
                    const Vector<double>& offset, const Vector<double>& weights, const OutVector& expected,
                    int64_t threads) {
    require(height(offset) == X.width, "there is not one offset for each class");
    require(height(targets) == X.size && height(weight) == X.size, "there is not one target for each document");
    check_inside(targets.data(), targets.size(), X.width, "a target is no class");
    require(height(weights) == X.n_cells() && expected.size() == weights.size(), "the weights do not fit the cells");
    require(threads >= 1 && threads <= 1024, "the number of threads is not within 1 … 1024");
    std::vector<double> padded(offset.data(), offset.data() + offset.size());
    padded.resize(static_cast<size_t>(X.stride), -INFINITY);
    const Labels labels{targets.data(), weight.data(), padded.data()};
    nb::gil_scoped_release free;
    if (has_avx2()) return wide::expectations(X, labels, weights.data(), expected.data(), threads);
    return plain::expectations(X, labels, weights.data(), expected.data(), threads);
  }

  std::unique_ptr<CellDocuments<PackedEntry>> packed_;
  std::unique_ptr<CellDocuments<PlainEntry>> plain_;
};

// Cells unpacked for Python: sums and numbers of documents.
struct Unpacked {
  std::vector<int64_t> sums, df;

  explicit Unpacked(size_t size) : sums(size), df(size) {}
  void set(const uint64_t* cells, size_t n, size_t at) {
    for (size_t i = 0; i < n; ++i) {
      sums[at + i] = sum_of(cells[i]);
      df[at + i] = df_of(cells[i]);
    }
  }
};

// (ends of the classes, terms, sums, df; sums and df of the corpus).
nb::tuple python_of(const std::vector<ClassSums>& sums, const std::vector<uint64_t>& corpus) {
  std::vector<int64_t> ends{0};
  for (const ClassSums& one : sums) ends.push_back(ends.back() + static_cast<int64_t>(one.terms.size()));
  std::vector<int32_t> terms;
  Unpacked all(corpus.size()), cells(static_cast<size_t>(ends.back()));
  {
    nb::gil_scoped_release free;
    terms.reserve(static_cast<size_t>(ends.back()));
    for (const ClassSums& one : sums) {
      cells.set(one.cells.data(), one.cells.size(), terms.size());
      terms.insert(terms.end(), one.terms.begin(), one.terms.end());
    }
    all.set(corpus.data(), corpus.size(), 0);
  }
  return nb::make_tuple(numpy_of(std::move(ends)), numpy_of(std::move(terms)), numpy_of(std::move(cells.sums)),
                        numpy_of(std::move(cells.df)), numpy_of(std::move(all.sums)), numpy_of(std::move(all.df)));
}

// The result of python_of for the documents, or None if a sum might overflow a cell. Term t becomes place[t]; terms
// keep their columns if `place` is empty.
template <typename Index, typename ClassIndex>
nb::object run_class_sums(Vector<Index> starts, Vector<int32_t> columns, Vector<int32_t> values,
                          Vector<ClassIndex> class_starts, Vector<int32_t> documents, int64_t n_terms,
                          Vector<int32_t> place, unsigned threads) {
  require(columns.size() == values.size() && n_terms >= 0, "a sparse matrix has as many columns as values");
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a sparse matrix fall or pass its end");
  const CountRows<Index> X{starts.data(), columns.data(), values.data(), height(starts) - 1, n_terms};
  check_starts(class_starts.data(), class_starts.size(), documents.size(), "the ends of the classes fall or pass");
  check_inside(documents.data(), documents.size(), X.rows, "a class has a document that is not there");
  const ClassDocuments<ClassIndex> labels{class_starts.data(), documents.data(), height(class_starts) - 1};
  if (place.size()) {
    require(height(place) == n_terms, "there is a place for every term");
    check_inside(place.data(), place.size(), n_terms, "a place is outside of the table");
  }
  const int32_t* const places = place.size() ? place.data() : nullptr;
  if (lists_twice(labels)) return nb::none();
  std::vector<ClassSums> sums;
  std::vector<uint64_t> corpus;
  Added added;
  {
    nb::gil_scoped_release free;
    sums = sums_by_class(X, labels, places, threads, added);
    corpus = sums_of_corpus(X, labels, sums, places, added);
  }
  if (!added.fits()) return nb::none();
  return python_of(sums, corpus);
}

using Cells = std::vector<nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

std::vector<CellRow> table_of(const Cells& cells) {
  std::vector<CellRow> table;
  for (const auto& row : cells) table.push_back({row.data(), static_cast<int64_t>(row.size())});
  return table;
}

// Add documents of one class each. Return the sum of their counts; if a value is not a count, return 0 and add nothing.
template <typename Index>
int64_t run_add_documents(Vector<Index> starts, Vector<int32_t> columns, Vector<int32_t> values,
                          Vector<int32_t> classes, Cells out) {
  const std::vector<CellRow> table = table_of(out);
  require(columns.size() == values.size(), "a sparse matrix has as many columns as values");
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a sparse matrix fall or pass its end");
  require(classes.size() + 1 == starts.size(), "a document has no class, or two");
  check_inside(classes.data(), classes.size(), static_cast<int64_t>(table.size()),
               "a document has a class that is not there");
  for (size_t row = 0; row < classes.size(); ++row)
    check_inside(columns.data() + starts.data()[row], static_cast<size_t>(starts.data()[row + 1] - starts.data()[row]),
                 table[classes.data()[row]].terms, "a column of the sparse matrix is no term");
  nb::gil_scoped_release free;
  return add_documents<Index>({starts.data(), columns.data(), values.data(), height(starts) - 1, 0}, classes.data(),
                              table);
}

// The result of python_of for the first `n_terms` cells of each row.
nb::tuple run_list_cells(Cells cells, int64_t n_terms) {
  const std::vector<CellRow> table = table_of(cells);
  require(n_terms >= 0, "a table has no fewer than 0 terms");
  std::vector<ClassSums> sums;
  std::vector<uint64_t> corpus;
  {
    nb::gil_scoped_release free;
    sums = list_cells(table, n_terms);
    corpus = sum_classes(sums, n_terms);
  }
  return python_of(sums, corpus);
}

// Whether a row has two cells in one column; the columns of a row may be in any order.
template <typename Index>
bool run_has_repeats(Vector<Index> starts, Vector<int32_t> columns, int64_t n_columns) {
  require(n_columns >= 0, "a table has no fewer than 0 columns");
  check_starts(starts.data(), starts.size(), columns.size(), "the rows do not lie within the cells");
  check_inside(columns.data(), columns.size(), n_columns, "a cell is in a column that is not there");
  nb::gil_scoped_release free;
  std::vector<uint32_t> last_row(static_cast<size_t>(n_columns));  // 1 + the last row with a cell in each column
  for (size_t row = 0; row + 1 < starts.size(); ++row) {
    const auto mark = static_cast<uint32_t>(row + 1);
    bool again = false;
    for (Index k = starts.data()[row]; k < starts.data()[row + 1]; ++k) {
      uint32_t& last = last_row[static_cast<size_t>(columns.data()[k])];
      again |= last == mark;
      last = mark;
    }
    if (again) return true;
  }
  return false;
}

// (columns, former position of each cell) of a matrix whose column j moves to place[j].
template <typename Index>
nb::tuple run_move_columns(Vector<Index> starts, Vector<int32_t> columns, Vector<int32_t> place) {
  require(columns.size() < size_t{1} << 31, "the matrix has too many cells");
  check_starts(starts.data(), starts.size(), columns.size(), "the row ends of a sparse matrix fall or pass its end");
  require(starts.data()[0] == 0 && static_cast<size_t>(starts.data()[starts.size() - 1]) == columns.size(),
          "the row ends of a sparse matrix do not cover its cells");
  check_inside(columns.data(), columns.size(), height(place), "a column of the sparse matrix has no place");
  check_inside(place.data(), place.size(), height(place), "a place is outside of the matrix");
  MovedCells moved;
  {
    nb::gil_scoped_release free;
    moved = move_columns(starts.data(), starts.size() - 1, columns.data(), columns.size(), place.data(), place.size());
  }
  return nb::make_tuple(numpy_of(std::move(moved.columns)), numpy_of(std::move(moved.cells)));
}

}  // namespace

NB_MODULE(_products, m) {
  set_leak_report();
  m.def("set_folder",
        [](const std::string& folder, size_t least) { unnaive::ScratchFiles::instance().set_folder(folder, least); });
  m.def("drop_pages", [] { unnaive::ScratchFiles::instance().drop_pages(); });
  const auto out = nb::arg("out").noconvert();  // without noconvert, a converted copy would be filled and discarded
  m.def("product", &run_product<int32_t>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  m.def("product", &run_product<int64_t>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  m.def("transposed", &run_transposed<int32_t>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  m.def("transposed", &run_transposed<int64_t>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  const auto left = nb::arg("left").noconvert(), right = nb::arg("right").noconvert();
  m.def("dense_product", &run_dense_product<double>, left, right, out);
  m.def("dense_product", &run_dense_product<float>, left, right, out);
  m.def("dot", &run_dot, left, right);
  m.def("turn_rows", &run_turn_rows, nb::arg("rows").noconvert(), nb::arg("last"), nb::arg("sines"),
        nb::arg("cosines"));
  // without noconvert, float32 weights would be converted for the overload of float64
  const auto weights = nb::arg("weights").noconvert();
  m.def("add_tf_idf", &run_add_tf_idf<float>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), weights, out,
        nb::arg());
  m.def("add_tf_idf", &run_add_tf_idf<double>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), weights, out,
        nb::arg());
  const auto values = nb::arg("values").noconvert();  // for the same reason
  const auto no_copy = [&](auto function) { m.def("take_columns", function, nb::arg(), nb::arg(), values, nb::arg()); };
  no_copy(&run_take_columns<int32_t, int32_t>);
  no_copy(&run_take_columns<int64_t, int32_t>);
  no_copy(&run_take_columns<int32_t, int64_t>);
  no_copy(&run_take_columns<int64_t, int64_t>);
  no_copy(&run_take_columns<int32_t, double>);
  no_copy(&run_take_columns<int64_t, double>);
  m.def("class_sums", &run_class_sums<int32_t, int32_t>);
  m.def("class_sums", &run_class_sums<int64_t, int32_t>);
  m.def("class_sums", &run_class_sums<int32_t, int64_t>);
  m.def("class_sums", &run_class_sums<int64_t, int64_t>);
  const auto documents = [&](auto function) {
    m.def("add_documents", function, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out);
  };
  documents(&run_add_documents<int32_t>);
  documents(&run_add_documents<int64_t>);
  m.def("list_cells", &run_list_cells, nb::arg("cells").noconvert(), nb::arg("n_terms"));
  m.def("has_repeats", &run_has_repeats<int32_t>);
  m.def("has_repeats", &run_has_repeats<int64_t>);
  m.def("move_columns", &run_move_columns<int32_t>);
  m.def("move_columns", &run_move_columns<int64_t>);
  nb::class_<ScalingDocuments>(m, "ScalingDocuments")
      .def(nb::init<Vector<int64_t>, Vector<int32_t>, Vector<double>, Vector<int64_t>, Vector<int32_t>, Vector<double>,
                    Vector<int64_t>, Vector<int32_t>, int64_t, int64_t, int64_t>())
      .def("expectations", &ScalingDocuments::expectations, nb::arg(), nb::arg(), nb::arg(), nb::arg(), out,
           nb::arg("threads") = 1);
}
