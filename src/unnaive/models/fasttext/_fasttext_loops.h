// The sums of _fasttext.cpp, compiled once for each instruction set: included there in two namespaces, so no guard.
// Columns stand side by side, eight at a time, so that each number is added in fastText's order.

template <int K>
void add_block(float* sum, const float* const* rows, size_t n, size_t from) {
  Eight sums[K];
  for (int k = 0; k < K; ++k) sums[k] = load(sum + from + 8 * k);
  for (size_t i = 0; i < n; ++i)
    for (int k = 0; k < K; ++k) sums[k] += load(rows[i] + from + 8 * k);
  for (int k = 0; k < K; ++k) store(sum + from + 8 * k, sums[k]);
}

// sum[0…width) += every row in turn
inline void add_rows(float* sum, const float* const* rows, size_t n, size_t width) {
  size_t from = 0;
  for (; from + 32 <= width; from += 32) add_block<4>(sum, rows, n, from);
  if (from + 16 <= width) add_block<2>(sum, rows, n, from), from += 16;
  if (from + 8 <= width) add_block<1>(sum, rows, n, from), from += 8;
  for (; from < width; ++from)
    for (size_t i = 0; i < n; ++i) sum[from] += rows[i][from];
}

// out[i] = Σ_j output[j, i] · hidden[j] for `blocks` of kLabels labels, which lie one behind another
inline void multiply(const float* output, const float* hidden, size_t width, size_t blocks, float* out) {
  for (size_t block = 0; block < blocks; ++block, out += kLabels) {
    Eight sums[kLabels / 8] = {};
    for (size_t j = 0; j < width; ++j, output += kLabels)
      for (size_t k = 0; k < kLabels / 8; ++k) sums[k] += load(output + 8 * k) * hidden[j];
    for (size_t k = 0; k < kLabels / 8; ++k) store(out + 8 * k, sums[k]);
  }
}
