// Products of dense matrices with one order of additions on every processor, compiled once for each instruction set:
// included in several namespaces, so there is no include guard. `Bytes` is the size of a vector register.
//
// A sum over k runs in blocks of kDepth: each block is summed in the order of k from 0, and the sums of blocks are
// added in their order. Vectors run over columns, so their width does not change a sum.

template <typename T>
struct Lanes {
  typedef T type __attribute__((vector_size(Bytes)));
};

// out[i, j] += Σ_k left[i, k] · panel[k, j] for R rows and 2 vectors of columns, of which `wide` columns are stored
template <int R, typename T>
inline void add_tile(const Matrix<const T>& left, int64_t row, int64_t first, int64_t depth, const T* panel,
                     const Matrix<T>& out, int64_t column, int64_t wide) {
  using Vector = typename Lanes<T>::type;
  constexpr int64_t width = Bytes / sizeof(T);
  Vector sums[R][2] = {};
  const T* own = left.data + row * left.by_row + first * left.by_column;
  for (int64_t k = 0; k < depth; ++k, own += left.by_column, panel += 2 * width) {
    Vector a, b;
    __builtin_memcpy(&a, panel, sizeof(Vector));
    __builtin_memcpy(&b, panel + width, sizeof(Vector));
    for (int r = 0; r < R; ++r) {
      const T x = own[r * left.by_row];
      sums[r][0] += x * a;
      sums[r][1] += x * b;
    }
  }
  for (int r = 0; r < R; ++r) {
    T found[2 * width];
    __builtin_memcpy(found, sums[r], sizeof(found));
    T* target = out.data + (row + r) * out.by_row + column * out.by_column;
    if (out.by_column == 1)
      for (int64_t j = 0; j < wide; ++j) target[j] += found[j];
    else
      for (int64_t j = 0; j < wide; ++j) target[j * out.by_column] += found[j];
  }
}

template <typename T>
void add_product(const Matrix<const T>& left, const Matrix<const T>& right, const Matrix<T>& out, int64_t rows,
                 int64_t depth, int64_t columns) {
  constexpr int64_t wide = 2 * Bytes / sizeof(T);
  alignas(64) T panel[kDepth * wide];
  for (int64_t column = 0; column < columns; column += wide) {
    const int64_t n = std::min(wide, columns - column);
    for (int64_t first = 0; first < depth; first += kDepth) {
      const int64_t some = std::min(kDepth, depth - first);
      for (int64_t k = 0; k < some; ++k) {
        const T* from = right.data + (first + k) * right.by_row + column * right.by_column;
        for (int64_t j = 0; j < wide; ++j) panel[k * wide + j] = j < n ? from[j * right.by_column] : T{};
      }
      int64_t row = 0;
      for (; rows - row >= 4; row += 4) add_tile<4>(left, row, first, some, panel, out, column, n);
      for (; row < rows; ++row) add_tile<1>(left, row, first, some, panel, out, column, n);
    }
  }
}

// Σ left · right in eight lanes, which are added in pairs
inline double dot(const double* left, const double* right, int64_t size) {
  typedef double Eight __attribute__((vector_size(64)));
  Eight sums = {}, a, b;
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    __builtin_memcpy(&a, left + i, sizeof(Eight));
    __builtin_memcpy(&b, right + i, sizeof(Eight));
    sums += a * b;
  }
  if (i < size) {
    a = b = Eight{};
    __builtin_memcpy(&a, left + i, static_cast<size_t>(size - i) * sizeof(double));
    __builtin_memcpy(&b, right + i, static_cast<size_t>(size - i) * sizeof(double));
    sums += a * b;
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}
