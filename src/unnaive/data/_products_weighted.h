// Scores of tf-idf documents by some of the columns, compiled once for each instruction set: included in two namespaces
// of _products.cpp, so there is no include guard. Documents are weighted while they are read; only scores are written.

// out[d] += Σ_t z_t · weights[place_t] / length with z_t = (1 + log n_t) · idf[place_t], over the terms with place_t ≥
// 0; the length is √Σ_t z_t², or Σ_t |z_t| if `by_sum`
template <typename Weight>
void add_tf_idf(const Csr<int64_t>& X, const int32_t* place, const double* idf, const Weight* weights, double* out,
                int64_t width, bool by_sum) {
  std::vector<Weighted> cells;
  std::vector<double> sums(width);
  const LogCounts log_count;
  for (int64_t d = 0; d < X.rows; ++d) {
    cells.clear();
    double squares = 0.0, total = 0.0;
    for (int64_t k = X.starts[d]; k < X.starts[d + 1]; ++k) {
      const int32_t row = place[X.columns[k]];
      const double n = X.values[k];
      if (row < 0 || !(n > 0)) continue;
      const double z = log_count(n) * idf[row];
      squares += z * z;
      total += std::fabs(z);
      cells.push_back({row, z});
    }
    if (squares > 0)
      add_rows(cells.data(), static_cast<int64_t>(cells.size()), by_sum ? total : std::sqrt(squares), weights,
               sums.data(), out + d * width, width);
  }
}
