// The weights of all arcs of an OR gate by eq. 15, in one loop over the arcs of each class and one over its weights;
// the formula in numpy, in or_gate.py, is the specification.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../base/_checks.h"
#include "../base/_leak_report.h"

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int kSmall = 64;  // smaller counts, which most arcs have, are looked up in a table instead of divided

// For a count n in a class of N_i• tokens: r = 1 − n/N_i• and n/r.
struct Share {
  double rest, over;

  Share() = default;
  Share(double n, double tokens) : rest(1 - n / tokens), over(n / rest) {}
};

class Shares {
 public:
  explicit Shares(double of_class) : tokens_(of_class) {
    for (int n = 0; n < kSmall; ++n) small_[n] = Share(n, tokens_);
  }
  Share operator()(int64_t n) const {
    return static_cast<uint64_t>(n) < kSmall ? small_[n] : Share(static_cast<double>(n), tokens_);
  }
  Share operator()(double n) const {
    return n >= 0 && n < kSmall && n == static_cast<int>(n) ? small_[static_cast<int>(n)] : Share(n, tokens_);
  }

 private:
  Share small_[kSmall];
  double tokens_;
};

// For a term: the odds that a token is this term, and the odds against it; stored together because they are read
// together.
struct Odds {
  double of, against;
};

// The odds of each term, above 0 also for the only term of the corpus. Each quotient has its own loop, so that the
// processor divides several at a time.
std::vector<Odds> odds_of(const double* overall, size_t size, double total) {
  std::vector<double> others(size), of(size);
  for (size_t k = 0; k < size; ++k) others[k] = std::max(total - overall[k], total * 0x1p-53);
  for (size_t k = 0; k < size; ++k) of[k] = overall[k] / others[k];
  for (size_t k = 0; k < size; ++k) others[k] /= overall[k];
  std::vector<Odds> out(size);
  for (size_t k = 0; k < size; ++k) out[k] = {of[k], others[k]};
  return out;
}

// Write n / (r · odds) of some arcs, and return Π (r + r · odds) as the product of four independent products, so that
// multiplications need not wait for each other.
template <typename Index, typename Count>
double walk_arcs(const Count* inside, const Index* terms, int64_t size, const Odds* odds, const Shares& shares,
                 double* out) {
  const auto factor = [&](int64_t a) {
    const Share share = shares(inside[a]);
    const Odds term = odds[terms[a]];
    out[a] = share.over * term.against;
    return share.rest + share.rest * term.of;
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

// out = scale_i · Π_i · n / (r · odds · total); false if a product is not above 0, in which case another formula is
// needed.
template <typename Index, typename Count>
bool scaled_products(Vector<Index> starts, Vector<Index> terms, Vector<Count> inside, Vector<double> overall,
                     Vector<double> totals, Vector<double> scale, double total, Out out) {
  check_starts(starts.data(), starts.size(), terms.size(), "the row ends of a matrix fall or pass its end");
  check_inside(terms.data(), terms.size(), static_cast<int64_t>(overall.size()),
               "a column of the matrix is outside of it");
  require(starts.size() == totals.size() + 1 && scale.size() == totals.size(), "there is one total for each class");
  require(inside.size() == terms.size() && out.size() == terms.size(), "there is one weight for each arc");
  nb::gil_scoped_release free;
  const std::vector<Odds> odds = odds_of(overall.data(), overall.size(), total);
  const auto n_classes = static_cast<int64_t>(totals.size());
  for (int64_t i = 0; i < n_classes; ++i) {
    const int64_t start = starts.data()[i], size = starts.data()[i + 1] - start;
    double* own = out.data() + start;
    const double whole =
        walk_arcs(inside.data() + start, terms.data() + start, size, odds.data(), Shares(totals.data()[i]), own);
    if (!(whole > 0)) return false;
    const double factor = scale.data()[i] * whole / total;
    for (int64_t a = 0; a < size; ++a) own[a] *= factor;
  }
  return true;
}

template <typename Index, typename Count>
void define(nb::module_& m) {
  m.def("scaled_products", &scaled_products<Index, Count>, nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg("out").noconvert());
}

}  // namespace

NB_MODULE(_gates, m) {
  set_leak_report();
  define<int32_t, int64_t>(m);
  define<int32_t, double>(m);
  define<int64_t, int64_t>(m);
  define<int64_t, double>(m);
}
