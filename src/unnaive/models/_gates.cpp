// The weights of all arcs of an OR gate by eq. 15, in two walks over the arcs of each class; or_gate.py has the formula
// in numpy, which is the specification.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "../core/_checks.h"

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int kSmall = 64;  // counts below have their 1 − n/N_i• and n/(1 − n/N_i•) in a table: most arcs, no division

// r = 1 − n/N_i• and n/r of one class.
struct Shares {
  double rest[kSmall], over[kSmall], tokens;

  explicit Shares(double of_class) : tokens(of_class) {
    for (int n = 0; n < kSmall; ++n) {
      rest[n] = 1 - n / tokens;
      over[n] = n / rest[n];
    }
  }
  static bool small(int64_t n) { return static_cast<uint64_t>(n) < kSmall; }
  static bool small(double n) { return n >= 0 && n < kSmall && n == static_cast<int>(n); }
  template <typename Count>
  double rest_of(Count n) const {
    return small(n) ? rest[static_cast<int>(n)] : 1 - static_cast<double>(n) / tokens;
  }
  template <typename Count>
  double over_rest(Count n) const {
    return small(n) ? over[static_cast<int>(n)] : static_cast<double>(n) / rest_of(n);
  }
};

// Π (r + r·odds) over some arcs, four products at a time since each waits for the one before.
template <typename Index, typename Count>
double product_of(const Count* inside, const Index* terms, int64_t size, const double* odds, const Shares& shares) {
  const auto factor = [&](int64_t a) {
    const double rest = shares.rest_of(inside[a]);
    return rest + rest * odds[terms[a]];
  };
  double one = 1, two = 1, three = 1, four = 1;
  int64_t a = 0;
  for (; a + 4 <= size; a += 4) {
    one *= factor(a);
    two *= factor(a + 1);
    three *= factor(a + 2);
    four *= factor(a + 3);
  }
  for (; a < size; ++a) one *= factor(a);
  return one * two * (three * four);
}

// out = scale_i · Π_i · n / (r · odds · total); false if a product is not above 0, which takes another formula.
template <typename Index, typename Count>
bool scaled_products(Vector<Index> starts, Vector<Index> terms, Vector<Count> inside, Vector<double> odds,
                     Vector<double> against, Vector<double> totals, Vector<double> scale, double total, Out out) {
  check_starts(starts.data(), starts.size(), terms.size(), "the row ends of a matrix fall or pass its end");
  check_inside(terms.data(), terms.size(), static_cast<int64_t>(odds.size()),
               "a column of the matrix is outside of it");
  require(starts.size() == totals.size() + 1 && scale.size() == totals.size(), "there is one total for each class");
  require(inside.size() == terms.size() && out.size() == terms.size(), "there is one weight for each arc");
  require(odds.size() == against.size(), "there are odds for and against each term");
  nb::gil_scoped_release free;
  const auto n_classes = static_cast<int64_t>(totals.size());
  for (int64_t i = 0; i < n_classes; ++i) {
    const int64_t start = starts.data()[i], size = starts.data()[i + 1] - start;
    const Count* own = inside.data() + start;
    const Index* parents = terms.data() + start;
    const Shares shares(totals.data()[i]);
    const double whole = product_of(own, parents, size, odds.data(), shares);
    if (!(whole > 0)) return false;
    const double factor = scale.data()[i] * whole / total;
    double* to = out.data() + start;
    for (int64_t a = 0; a < size; ++a) to[a] = shares.over_rest(own[a]) * factor * against.data()[parents[a]];
  }
  return true;
}

template <typename Index, typename Count>
void define(nb::module_& m) {
  m.def("scaled_products", &scaled_products<Index, Count>, nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg("out").noconvert());
}

}  // namespace

NB_MODULE(_gates, m) {
  define<int32_t, int64_t>(m);
  define<int32_t, double>(m);
  define<int64_t, int64_t>(m);
  define<int64_t, double>(m);
}
