// Reorder the columns of a sparse matrix in linear time, by two counting sorts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

struct MovedCells {
  std::vector<int32_t> columns;  // ascending in each row
  std::vector<int32_t> cells;    // former position of each cell
};

// Column j of the matrix moves to place[j].
template <typename Index>
MovedCells move_columns(const Index* starts, size_t rows, const int32_t* columns, size_t size, const int32_t* place,
                        size_t n_columns) {
  std::vector<int32_t> next(n_columns + 1), row_of(size), cell_of(size);
  for (size_t k = 0; k < size; ++k) ++next[static_cast<size_t>(place[columns[k]]) + 1];
  for (size_t j = 0; j < n_columns; ++j) next[j + 1] += next[j];
  for (size_t row = 0; row < rows; ++row)
    for (auto k = static_cast<size_t>(starts[row]); k < static_cast<size_t>(starts[row + 1]); ++k) {
      const auto at = static_cast<size_t>(next[static_cast<size_t>(place[columns[k]])]++);
      row_of[at] = static_cast<int32_t>(row);
      cell_of[at] = static_cast<int32_t>(k);
    }
  // next[j] is now where column j ends
  MovedCells moved{std::vector<int32_t>(size), std::vector<int32_t>(size)};
  std::vector<size_t> end(starts, starts + rows);
  for (size_t j = 0, at = 0; j < n_columns; ++j)
    for (; at < static_cast<size_t>(next[j]); ++at) {
      const size_t to = end[static_cast<size_t>(row_of[at])]++;
      moved.columns[to] = static_cast<int32_t>(j);
      moved.cells[to] = cell_of[at];
    }
  return moved;
}
