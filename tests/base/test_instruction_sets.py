"""Loops that are compiled for several instruction sets give the same bits: any width, subnormals and infinities too."""

import shutil
import subprocess
from pathlib import Path

import pytest

import unnaive

SOURCE = Path(unnaive.__file__).parent
COMPILER = shutil.which("g++")
PROGRAM = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/_avx2.h"
#include "text/_weighted.h"

typedef double One __attribute__((vector_size(8)));
typedef double Eight __attribute__((vector_size(64)));

namespace unnaive {
namespace plain {
#include "base/_exp_vector.h"
// sums of rows
#include "text/_weighted_rows.h"
}  // namespace plain
#ifdef UNNAIVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2")
namespace wide {
#include "base/_exp_vector.h"
// sums of rows
#include "text/_weighted_rows.h"
}  // namespace wide
#pragma GCC pop_options
#endif
}  // namespace unnaive
using namespace unnaive;

#ifdef UNNAIVE_AVX512
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512dq,avx512vl")
namespace widest {
#include "base/_exp_vector.h"
void exp_of_eight(const double* x, double* out) {
  Eight values;
  __builtin_memcpy(&values, x, 64);
  values = exp_of(values);
  __builtin_memcpy(out, &values, 64);
}
}  // namespace widest
#pragma GCC pop_options
#endif

std::mt19937_64 engine(0);

double draw() {  // often a number at the border of what doubles can be
  static const double odd[] = {0.0, -0.0, 5e-324, -2.2e-310, 1e308, -1e-308, 1e-160,
                               std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const auto random = engine();
  return random % 4 ? (static_cast<double>(random >> 11) / (1ull << 53) - 0.5) : odd[random / 4 % 9];
}

bool same(double a, double b) { return std::memcmp(&a, &b, 8) == 0 || (std::isnan(a) && std::isnan(b)); }

template <typename Weight>
int compare_sums() {
  int wrong = 0;
  for (int64_t width = 1; width <= 65; ++width)
    for (int64_t size = 0; size <= 33; ++size) {
      std::vector<Weighted> cells(static_cast<size_t>(size));
      std::vector<Weight> weights(static_cast<size_t>(width * 7));
      for (Weight& weight : weights) weight = static_cast<Weight>(draw());
      for (Weighted& cell : cells) cell = {static_cast<int64_t>(engine() % 7), draw()};
      std::vector<double> sums(static_cast<size_t>(width)), one(sums), two(sums), by_hand(sums);
      plain::add_rows(cells.data(), size, 3.0, weights.data(), sums.data(), one.data(), width);
#ifdef UNNAIVE_AVX2
      if (has_avx2()) wide::add_rows(cells.data(), size, 3.0, weights.data(), sums.data(), two.data(), width);
      else two = one;
#else
      two = one;
#endif
      for (size_t c = 0; c < sums.size(); ++c) {
        double sum = 0;
        for (const Weighted& cell : cells)
          sum += cell.value * static_cast<double>(weights[static_cast<size_t>(cell.row * width) + c]);
        by_hand[c] += sum / 3.0;
        wrong += !same(one[c], two[c]) || !same(one[c], by_hand[c]);
      }
    }
  return wrong;
}

int compare_exponentials() {
  int wrong = 0;
  std::vector<double> values = {0.0, -0.0, -5e-324, -2.2e-310, -708.0, -708.0000001, -745.2, -1e300,
                                -std::numeric_limits<double>::infinity(), -1e-17, -0.34657, -0.34658, -1, -700, -2, -3};
  while (values.size() < 1 << 16) values.push_back(-std::fabs(draw()) * std::exp2(static_cast<double>(engine() % 12)));
  for (size_t at = 0; at + 8 <= values.size(); at += 8) {
    double out[8];
#ifdef UNNAIVE_AVX512
    const bool wide = has_avx512();
    if (wide) widest::exp_of_eight(values.data() + at, out);
#else
    const bool wide = false;
#endif
    for (size_t k = 0; k < 8; ++k) {
      const double x = values[at + k], exact = std::exp(x), found = plain::exp_of(One{x})[0];
      const bool close = x < -708 ? found == 0 : std::fabs(found - exact) <= 4.5e-16 * exact;
      wrong += !close || (wide && !same(found, out[k]));
    }
  }
  return wrong;
}

int main() {
  std::printf("%d %d %d", compare_sums<float>(), compare_sums<double>(), compare_exponentials());
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="there is no g++ on this machine")
def test_every_instruction_set_gives_the_bits_of_the_plain_loops(tmp_path):
    (tmp_path / "widths.cpp").write_text(PROGRAM)
    flags = ["-std=c++17", "-O3", "-ffp-contract=off", "-Wno-psabi", f"-I{SOURCE}"]
    subprocess.run([COMPILER, *flags, "widths.cpp", "-o", "widths"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "widths"], capture_output=True, check=True, text=True).stdout == "0 0 0"
