// Scores of tf-idf documents by a part of the columns, compiled once for each instruction set: included in two
// namespaces of _products.cpp, so no guard. Documents are weighted as they are read; nothing is written but scores.

typedef float FourSingles __attribute__((vector_size(16), aligned(4), may_alias));

inline Four load(const float* at) { return __builtin_convertvector(*reinterpret_cast<const FourSingles*>(at), Four); }

// sums[from…from+4K) = Σ_k value_k · weights[row_k, from…from+4K)
template <int K, typename Weight>
void sum_rows(const std::vector<Weighted>& cells, const Weight* weights, double* sums, int64_t width, int64_t from) {
  weights += from;
  Four found[K] = {};
  const auto size = static_cast<int64_t>(cells.size());
  for (int64_t k = 0; k < size; ++k) {
    const Weight* row = weights + cells[k].row * width;
    if (k + kAhead < size) {
      const Weight* later = weights + cells[k + kAhead].row * width;
      __builtin_prefetch(later);
      __builtin_prefetch(later + 4 * K - 1);
    }
    for (int j = 0; j < K; ++j) found[j] += cells[k].value * load(row + 4 * j);
  }
  for (int j = 0; j < K; ++j) store(sums + from + 4 * j, found[j]);
}

template <typename Weight>
void sum_column(const std::vector<Weighted>& cells, const Weight* weights, double* sums, int64_t width, int64_t from) {
  double sum = 0.0;
  for (const Weighted& cell : cells) sum += cell.value * static_cast<double>(weights[cell.row * width + from]);
  sums[from] = sum;
}

// out[d] += Σ_t z_t · weights[place_t] / √Σ_t z_t² with z_t = (1 + log n_t) · idf[place_t], over the terms with a place
template <typename Weight>
void add_tf_idf(const Csr<int64_t>& X, const int32_t* place, const double* idf, const Weight* weights, double* out,
                int64_t width) {
  std::vector<Weighted> cells;
  std::vector<double> sums(width);
  double logs[kLogs];
  for (int n = 0; n < kLogs; ++n) logs[n] = n ? 1.0 + std::log(static_cast<double>(n)) : 0.0;
  for (int64_t d = 0; d < X.rows; ++d) {
    cells.clear();
    double squares = 0.0;
    for (int64_t k = X.starts[d]; k < X.starts[d + 1]; ++k) {
      const int32_t row = place[X.columns[k]];
      const double n = X.values[k];
      if (row < 0 || !(n > 0)) continue;
      const bool small = n < kLogs && n == static_cast<int>(n);
      const double z = (small ? logs[static_cast<int>(n)] : 1.0 + std::log(n)) * idf[row];
      squares += z * z;
      cells.push_back({row, z});
    }
    if (!(squares > 0)) continue;
    int64_t from = 0;
    for (; width - from >= 20; from += 20) sum_rows<5>(cells, weights, sums.data(), width, from);
    for (; width - from >= 12; from += 12) sum_rows<3>(cells, weights, sums.data(), width, from);
    for (; width - from >= 8; from += 8) sum_rows<2>(cells, weights, sums.data(), width, from);
    for (; width - from >= 4; from += 4) sum_rows<1>(cells, weights, sums.data(), width, from);
    for (; from < width; ++from) sum_column(cells, weights, sums.data(), width, from);
    const double length = std::sqrt(squares);
    for (int64_t c = 0; c < width; ++c) out[d * width + c] += sums[c] / length;
  }
}
