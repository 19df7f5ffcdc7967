// The exponential of a vector of doubles. Each namespace that is compiled for an instruction set includes this file, so
// there is no include guard.

// e^x for x ≤ 0, with an error of one or two units in the last place; 0 for x < −708, where the result would be nearly
// subnormal.
template <typename Doubles>
inline Doubles exp_of(Doubles x) {
  typedef uint64_t Bits __attribute__((vector_size(sizeof(Doubles))));
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to a whole number in the low bits
  const Doubles shifted = x * 1.4426950408889634074 + kRound, k = shifted - kRound;
  const Doubles r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;  // |r| ≤ log 2 / 2
  // Taylor series up to r^13, evaluated in pairs: a third as many dependent steps as with Horner's rule
  const Doubles r2 = r * r, r4 = r2 * r2;
  const Doubles low = (0.5 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const Doubles middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const Doubles high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const Doubles sum = r2 * (low + r4 * (middle + r4 * high)) + r + 1.0;
  const Bits power = (reinterpret_cast<Bits>(shifted) << 52) + (uint64_t{1023} << 52);  // 2^k
  const Doubles found = sum * reinterpret_cast<Doubles>(power);
  const auto large = x >= -708.0;
  const Bits kept = reinterpret_cast<Bits>(found) & reinterpret_cast<Bits>(large);
  return reinterpret_cast<Doubles>(kept);
}
