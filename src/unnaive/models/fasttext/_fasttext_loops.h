// The loops of _fasttext.cpp, compiled once for each instruction set: included there in two namespaces, so there is no
// include guard. Eight sums are computed in parallel, each in fastText's order.

template <int K>
void add_block(float* sum, const float* const* rows, size_t n, size_t from) {
  Eight sums[K];
  for (int k = 0; k < K; ++k) sums[k] = load(sum + from + 8 * k);
  for (size_t i = 0; i < n; ++i)
    for (int k = 0; k < K; ++k) sums[k] += load(rows[i] + from + 8 * k);
  for (int k = 0; k < K; ++k) store(sum + from + 8 * k, sums[k]);
}

inline void add_four(float* sum, const float* const* rows, size_t n, size_t from) {
  // not `auto`, which would drop the attribute that allows unaligned access
  Four* out = reinterpret_cast<Four*>(sum + from);
  Four four = *out;
  for (size_t i = 0; i < n; ++i) four += *reinterpret_cast<const Four*>(rows[i] + from);
  *out = four;
}

// sum[0…width) += every row in turn
inline void add_rows(float* sum, const float* const* rows, size_t n, size_t width) {
  size_t from = 0;
  for (; from + 96 <= width; from += 96) add_block<12>(sum, rows, n, from);
  if (from + 64 <= width) add_block<8>(sum, rows, n, from), from += 64;
  if (from + 32 <= width) add_block<4>(sum, rows, n, from), from += 32;
  if (from + 16 <= width) add_block<2>(sum, rows, n, from), from += 16;
  if (from + 8 <= width) add_block<1>(sum, rows, n, from), from += 8;
  if (from + 4 <= width) add_four(sum, rows, n, from), from += 4;
  for (; from < width; ++from)
    for (size_t i = 0; i < n; ++i) sum[from] += rows[i][from];
}

// Compute the outputs of T texts for B blocks of labels.
template <int T, int B>
void multiply_block(const float* output, const float* hidden, size_t width, float* out, size_t stride) {
  Eight sums[T][2 * B] = {};
  for (size_t j = 0; j < width; ++j)
    for (int b = 0; b < B; ++b) {
      const float* weights = output + (static_cast<size_t>(b) * width + j) * kLabels;
      const Eight low = load(weights), high = load(weights + 8);
      for (int t = 0; t < T; ++t) {
        const float value = hidden[static_cast<size_t>(t) * width + j];
        sums[t][2 * b] += low * value;
        sums[t][2 * b + 1] += high * value;
      }
    }
  for (int t = 0; t < T; ++t)
    for (int k = 0; k < 2 * B; ++k) store(out + static_cast<size_t>(t) * stride + 8 * k, sums[t][k]);
}

template <int T, int B>
void multiply_texts(const float* output, const float* hidden, size_t width, size_t blocks, float* out, size_t stride) {
  size_t block = 0;
  for (; block + B <= blocks; block += B)
    multiply_block<T, B>(output + block * width * kLabels, hidden, width, out + block * kLabels, stride);
  for (; block < blocks; ++block)
    multiply_block<T, 1>(output + block * width * kLabels, hidden, width, out + block * kLabels, stride);
}

// out[t, i] = Σ_j output[j, i] · hidden[t, j] for `n` texts and `blocks` consecutive blocks of kLabels labels
inline void multiply(const float* output, const float* hidden, size_t width, size_t blocks, size_t n, float* out,
                     size_t stride) {
  static_assert(kLabels == 16 && kTexts == 6, "twelve sums at a time are what sixteen registers have room for");
  switch (n) {
    case 1:
      return multiply_texts<1, 5>(output, hidden, width, blocks, out, stride);
    case 2:
      return multiply_texts<2, 3>(output, hidden, width, blocks, out, stride);
    case 3:
      return multiply_texts<3, 2>(output, hidden, width, blocks, out, stride);
    case 4:
      return multiply_texts<4, 1>(output, hidden, width, blocks, out, stride);
    case 5:
      return multiply_texts<5, 1>(output, hidden, width, blocks, out, stride);
    default:
      return multiply_texts<6, 1>(output, hidden, width, blocks, out, stride);
  }
}

inline float largest(const float* values, size_t n) {
  float most = values[0];
  size_t i = 0;
  if (n >= 8) {
    Eight eight = load(values);
    for (i = 8; i + 8 <= n; i += 8) {
      const Eight next = load(values + i);
      eight = next > eight ? next : eight;
    }
    for (int k = 0; k < 8; ++k) most = eight[k] > most ? eight[k] : most;
  }
  for (; i < n; ++i) most = values[i] > most ? values[i] : most;
  return most;
}

// exp of four numbers, rounded to 32 bits. The low 29 bits of the 64-bit result are rounded away: if they are within
// `doubt` of the midpoint of two floats, `exact` decides. The polynomial errs by at most 2 units in the last place of
// 64 bits, so `doubt` covers the error of `exact`.
inline void exp_four(float* values, int64_t doubt, float (*exact)(float)) {
  const Four in = *reinterpret_cast<const Four*>(values);
  const Doubles x = __builtin_convertvector(in, Doubles);
  // 1.5·2^52: the low bits hold the rounded number
  const Doubles shifted = x * 1.4426950408889634 + 6755399441055744.0;
  const Doubles whole = shifted - 6755399441055744.0;
  const Doubles r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b3ap-40;
  const Doubles square = r * r;
  Doubles sum = r * (1.0 / 6227020800) + 1.0 / 479001600;
  sum = sum * r + 1.0 / 39916800;
  sum = sum * r + 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  const Doubles power = (sum * square + r) + 1.0;
  const Bits bits = (Bits)power + ((Bits)shifted << 52);  // for numbers that are too large, any bits: `exact` decides
  const Whole rest = (Whole)(bits & 0x1FFFFFFF) - 0x10000000;
  const Whole unsure = ((rest < doubt) & (rest > -doubt)) | ~((x > -87.0) & (x < 88.0));
  *reinterpret_cast<Four*>(values) = __builtin_convertvector((Doubles)bits, Four);
  if (unsure[0] | unsure[1] | unsure[2] | unsure[3])
    for (int k = 0; k < 4; ++k)
      if (unsure[k]) values[k] = exact(in[k]);
}

// values[i] = exp(values[i]) for all i
inline void exponentials(float* values, size_t n, int64_t doubt, float (*exact)(float)) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) exp_four(values + i, doubt, exact);
  if (i == n) return;
  float rest[4] = {};
  for (size_t k = 0; i + k < n; ++k) rest[k] = values[i + k];
  exp_four(rest, doubt, exact);
  for (size_t k = 0; i + k < n; ++k) values[i + k] = rest[k];
}
