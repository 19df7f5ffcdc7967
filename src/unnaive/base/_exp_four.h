// The exponential of four numbers at once. Each namespace that is compiled for an instruction set includes this file
// and defines Four as four doubles, so there is no include guard.

typedef uint64_t FourBits __attribute__((vector_size(32)));

// e^x for x ≤ 0, with an error of one or two units in the last place; 0 for x < −708, where the result would be nearly
// subnormal.
inline Four exp_of(Four x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to a whole number in the low bits
  const Four shifted = x * 1.4426950408889634074 + kRound, k = shifted - kRound;
  const Four r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;  // |r| ≤ log 2 / 2
  // Taylor series up to r^13, evaluated in pairs: a third as many dependent steps as with Horner's rule
  const Four r2 = r * r, r4 = r2 * r2;
  const Four low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const Four middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const Four high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const Four sum = r2 * (low + r4 * (middle + r4 * high)) + r + 1.0;
  const FourBits power = (reinterpret_cast<FourBits>(shifted) << 52) + (uint64_t{1023} << 52);  // 2^k
  const Four found = sum * reinterpret_cast<Four>(power);
  const auto large = x >= -708.0;
  const FourBits kept = reinterpret_cast<FourBits>(found) & reinterpret_cast<FourBits>(large);
  return reinterpret_cast<Four>(kept);
}
