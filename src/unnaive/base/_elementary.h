// Logarithm and exponential of vectors of doubles, after fdlibm (Sun Microsystems, 1993), without branches; the error
// is below one unit in the last place. Only additions, multiplications and divisions that IEEE 754 defines: the bits
// are the same on every processor, and those of elementary_reference.py. Each namespace that is compiled for an
// instruction set includes this file, so there is no include guard.

template <typename Doubles>
struct BitsOf {
  typedef uint64_t type __attribute__((vector_size(sizeof(Doubles))));
};

template <typename Doubles>
inline typename BitsOf<Doubles>::type bits(Doubles x) {
  return reinterpret_cast<typename BitsOf<Doubles>::type>(x);
}

// chosen where the comparison `mask` holds, otherwise `other`
template <typename Mask, typename Doubles>
inline Doubles pick(Mask mask, Doubles chosen, Doubles other) {
  const auto m = reinterpret_cast<typename BitsOf<Doubles>::type>(mask);
  return reinterpret_cast<Doubles>((bits(chosen) & m) | (bits(other) & ~m));
}

constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
constexpr double kOneOverLn2 = 1.44269504088896338700e+00;
constexpr double kWhole = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to a whole number in the low bits
constexpr uint64_t kMantissa = 0x000fffffffffffff, kHalfRoot = 0x3fe6a09e00000000;  // the upper bits of √½
constexpr double kInfinity = __builtin_inf(), kNaN = __builtin_nan("");

// The exponent k of x = 2^k · m with √½ ≤ m < √2, and m − 1, of positive normal numbers.
template <typename Doubles>
inline Doubles split_power(Doubles x, Doubles& rest) {
  const auto raised = bits(x) + (0x3ff0000000000000 - kHalfRoot);
  rest = reinterpret_cast<Doubles>((raised & kMantissa) + kHalfRoot) - 1.0;
  return reinterpret_cast<Doubles>((raised >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
}

// log(1 + f) + k · log 2 + correction
template <typename Doubles>
inline Doubles log_of_parts(Doubles k, Doubles f, Doubles correction) {
  const Doubles half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
  const Doubles even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const Doubles odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  return s * (half + (odd + even)) + (k * kLn2Low + correction) - half + f + k * kLn2High;
}

template <typename Doubles>
inline Doubles log_of(Doubles x) {
  const auto tiny = x < 0x1p-1022;
  Doubles rest;
  const Doubles k = split_power(pick(tiny, x * 0x1p54, x), rest) - pick(tiny, Doubles{} + 54.0, Doubles{});
  const Doubles found = pick(x == kInfinity, x, log_of_parts(k, rest, Doubles{}));
  return pick(x > 0.0, found, pick(x == 0.0, Doubles{} - kInfinity, Doubles{} + kNaN));
}

template <typename Doubles>
inline Doubles log1p_of(Doubles x) {
  const Doubles u = 1.0 + x;
  Doubles rest;
  const Doubles k = split_power(u, rest);
  const Doubles lost = pick(k >= 2.0, 1.0 - (u - x), x - (u - 1.0)) / u;  // what rounding took from 1 + x
  const auto near = (x > -0.29289) & (x < 0.41421);                       // there k is 0, and x is exact
  const Doubles zero = {};
  Doubles found = log_of_parts(pick(near, zero, k), pick(near, x, rest), pick(near | (k >= 54.0), zero, lost));
  found = pick((x < 0x1p-54) & (x > -0x1p-54), x, found);
  found = pick(x == kInfinity, x, found);
  return pick(x > -1.0, found, pick(x == -1.0, zero - kInfinity, zero + kNaN));
}

// 2^k of whole numbers −1022 ≤ k ≤ 1023
template <typename Doubles>
inline Doubles power_of_two(Doubles k) {
  return reinterpret_cast<Doubles>((bits(k + kWhole) << 52) + (uint64_t{1023} << 52));
}

template <typename Doubles>
inline Doubles whole_part(Doubles x) {
  return (x + kWhole) - kWhole;
}

template <typename Doubles>
inline Doubles exponential_of(Doubles given) {
  const Doubles zero = {};
  Doubles x = pick(given < 710.0, given, zero + 710.0);
  x = pick(x > -750.0, x, zero - 750.0);
  const Doubles k = whole_part(x * kOneOverLn2), high = x - k * kLn2High, low = k * kLn2Low, r = high - low, z = r * r;
  const Doubles c =
      r -
      z * (1.66666666666666019037e-01 +
           z * (-2.77777777770155933842e-03 +
                z * (6.61375632143793436117e-05 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))));
  const Doubles found = 1.0 + (r * c / (2.0 - c) - low + high);
  const Doubles half = whole_part(k * 0.5);  // in two steps, so that a subnormal result is rounded once
  return pick(given == given, found * power_of_two(half) * power_of_two(k - half), given);
}

template <typename Doubles>
inline Doubles expm1_of(Doubles given) {
  const Doubles zero = {};
  Doubles x = pick(given < 710.0, given, zero + 710.0);
  x = pick(x > -60.0, x, zero - 60.0);
  const Doubles k = whole_part(x * kOneOverLn2), high = x - k * kLn2High, low = k * kLn2Low, r = high - low;
  const Doubles lost = (high - r) - low, half = 0.5 * r, z = r * half;
  const Doubles q =
      1.0 +
      z * (-3.33333333333331316428e-02 +
           z * (1.58730158725481460165e-03 + z * (-7.93650757867487942473e-05 +
                                                  z * (4.00821782732936239552e-06 + z * -2.01099218183624371326e-07))));
  const Doubles t = 3.0 - q * half, e = z * ((q - t) / (6.0 - r * t));
  const Doubles d = (r * (e - lost) - lost) - z;
  const Doubles doubled = power_of_two(k - 1.0), inverse = power_of_two(pick(k > 0.0, zero - k, k));
  Doubles found = ((r - d) + 1.0) * 2.0 * doubled - 1.0;
  found = pick((k >= 20.0) & (k <= 56.0), ((r - (d + inverse)) + 1.0) * 2.0 * doubled, found);
  found = pick((k >= 2.0) & (k < 20.0), ((1.0 - inverse) - (d - r)) * 2.0 * doubled, found);
  found = pick(k == 1.0, pick(r < -0.25, -2.0 * (d - (r + 0.5)), 1.0 + 2.0 * (r - d)), found);
  found = pick(k == -1.0, 0.5 * (r - d) - 0.5, found);
  found = pick(k == 0.0, r - (r * e - z), found);
  return pick(given == given, found, given);
}

// Any of the functions for all values.
template <typename Doubles, Doubles (*function)(Doubles)>
void for_all(const double* in, double* out, int64_t size) {
  constexpr int64_t width = sizeof(Doubles) / sizeof(double);
  Doubles x;
  int64_t i = 0;
  for (; i + width <= size; i += width) {
    __builtin_memcpy(&x, in + i, sizeof(Doubles));
    x = function(x);
    __builtin_memcpy(out + i, &x, sizeof(Doubles));
  }
  if (i == size) return;
  x = Doubles{} + 1.0;
  __builtin_memcpy(&x, in + i, static_cast<size_t>(size - i) * sizeof(double));
  x = function(x);
  __builtin_memcpy(out + i, &x, static_cast<size_t>(size - i) * sizeof(double));
}

template <typename Doubles>
void run_function(int which, const double* in, double* out, int64_t size) {
  if (which == 0) return for_all<Doubles, log_of<Doubles>>(in, out, size);
  if (which == 1) return for_all<Doubles, log1p_of<Doubles>>(in, out, size);
  if (which == 2) return for_all<Doubles, exponential_of<Doubles>>(in, out, size);
  for_all<Doubles, expm1_of<Doubles>>(in, out, size);
}
