// Sums of documents of one class each: a row of cells for each class, kept between batches. _products_sums.h defines a
// cell.
#pragma once
#include <algorithm>
#include <vector>

#include "_products_sums.h"

// A row has a cell for each term up to the last one seen in the class; later terms have the sum 0.
struct CellRow {
  uint64_t* cells;
  int64_t terms;
};

// Return the sum of all values; if a value is not a count above 0, return 0 and add nothing.
template <typename Index>
int64_t add_documents(const CountRows<Index>& X, const int32_t* classes, const std::vector<CellRow>& table) {
  int64_t total = 0;
  for (int64_t k = X.starts[0]; k < X.starts[X.rows]; ++k) {
    if (X.values[k] <= 0) return 0;
    total += X.values[k];
  }
  for (int64_t row = 0; row < X.rows; ++row) add_row(X, row, table[classes[row]].cells);
  return total;
}

// The nonzero cells of each class among the first `terms`. Every cell is written, and kept only if it is not zero.
inline std::vector<ClassSums> list_cells(const std::vector<CellRow>& table, int64_t terms) {
  std::vector<ClassSums> sums;
  std::vector<int32_t> kept_terms(static_cast<size_t>(terms) + 1);
  std::vector<uint64_t> kept_cells(static_cast<size_t>(terms) + 1);
  for (const CellRow& row : table) {
    const uint64_t* cells = row.cells;
    const int64_t end = std::min(row.terms, terms);
    size_t kept = 0;
    for (int64_t t = 0; t < end; ++t) {
      kept_terms[kept] = static_cast<int32_t>(t);
      kept_cells[kept] = cells[t];
      kept += cells[t] != 0;
    }
    const auto n = static_cast<ptrdiff_t>(kept);
    sums.push_back({{kept_terms.begin(), kept_terms.begin() + n}, {kept_cells.begin(), kept_cells.begin() + n}});
  }
  return sums;
}
