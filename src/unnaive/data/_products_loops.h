// The loops of _products.cpp, compiled once for each instruction set: included there in two namespaces, so there is no
// include guard. Blocks of 4·K columns are held in registers; fewer than four remaining columns are computed one by
// one.

// out[d, from…from+4K) = Σ_t X[d, t] · dense[t, from…from+4K)
template <int K, typename Index>
void product_block(const Csr<Index>& X, const double* dense, double* out, int64_t width, int64_t from) {
  dense += from;
  for (int64_t d = 0; d < X.rows; ++d) {
    Four sums[K] = {};
    const Index stop = X.starts[d + 1];
    for (Index k = X.starts[d]; k < stop; ++k) {
      const double* row = dense + static_cast<int64_t>(X.columns[k]) * width;
      if (k + kAhead < stop) {
        const double* later = dense + static_cast<int64_t>(X.columns[k + kAhead]) * width;
        for (int j = 0; j < K; j += 2) __builtin_prefetch(later + 4 * j);
      }
      const double x = X.values[k];
      for (int j = 0; j < K; ++j) sums[j] += x * load(row + 4 * j);
    }
    for (int j = 0; j < K; ++j) store(out + d * width + from + 4 * j, sums[j]);
  }
}

// out[t, from…from+4K) += Σ_d X[d, t] · dense[d, from…from+4K)
template <int K, typename Index>
void transposed_block(const Csr<Index>& X, const double* dense, double* out, int64_t width, int64_t from) {
  out += from;
  for (int64_t d = 0; d < X.rows; ++d) {
    Four row[K];
    for (int j = 0; j < K; ++j) row[j] = load(dense + d * width + from + 4 * j);
    const Index stop = X.starts[d + 1];
    for (Index k = X.starts[d]; k < stop; ++k) {
      double* target = out + static_cast<int64_t>(X.columns[k]) * width;
      if (k + kAhead < stop) __builtin_prefetch(out + static_cast<int64_t>(X.columns[k + kAhead]) * width, 1);
      const double x = X.values[k];
      for (int j = 0; j < K; ++j) store(target + 4 * j, load(target + 4 * j) + x * row[j]);
    }
  }
}

template <typename Index>
void product_column(const Csr<Index>& X, const double* dense, double* out, int64_t width, int64_t from) {
  for (int64_t d = 0; d < X.rows; ++d) {
    double sum = 0.0;
    for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k)
      sum += X.values[k] * dense[static_cast<int64_t>(X.columns[k]) * width + from];
    out[d * width + from] = sum;
  }
}

template <typename Index>
void transposed_column(const Csr<Index>& X, const double* dense, double* out, int64_t width, int64_t from) {
  for (int64_t d = 0; d < X.rows; ++d)
    for (Index k = X.starts[d]; k < X.starts[d + 1]; ++k)
      out[static_cast<int64_t>(X.columns[k]) * width + from] += X.values[k] * dense[d * width + from];
}

template <typename Index>
void product(const Csr<Index>& X, const double* dense, double* out, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) product_block<5>(X, dense, out, width, from);
  for (; width - from >= 12; from += 12) product_block<3>(X, dense, out, width, from);
  for (; width - from >= 8; from += 8) product_block<2>(X, dense, out, width, from);
  for (; width - from >= 4; from += 4) product_block<1>(X, dense, out, width, from);
  for (; from < width; ++from) product_column(X, dense, out, width, from);
}

template <typename Index>
void transposed(const Csr<Index>& X, const double* dense, double* out, int64_t width) {
  int64_t from = 0;
  for (; width - from >= 20; from += 20) transposed_block<5>(X, dense, out, width, from);
  for (; width - from >= 12; from += 12) transposed_block<3>(X, dense, out, width, from);
  for (; width - from >= 8; from += 8) transposed_block<2>(X, dense, out, width, from);
  for (; width - from >= 4; from += 4) transposed_block<1>(X, dense, out, width, from);
  for (; from < width; ++from) transposed_column(X, dense, out, width, from);
}
