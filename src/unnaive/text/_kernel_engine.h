// Many documents → rows of counts. Each thread counts a shard with its own tables; the tables are merged in document
// order, so that ids are the same as with one thread.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>

#include "_kernel_order.h"
#include "_kernel_reader.h"
#include "_kernel_threads.h"

namespace unnaive {

constexpr size_t kHead = size_t{2} << 20;   // at most this many bytes are read before threads share the rest
constexpr size_t kShort = size_t{1} << 20;  // scratch buffers are kept if no document has more bytes

// The maximum number of threads, and the bytes of text for which another thread is started.
struct Threads {
  unsigned most;
  size_t worth;

  unsigned shards(const Documents& documents) const {
    const size_t wanted = total_size(documents) / std::max<size_t>(worth, 1) + 1;
    return static_cast<unsigned>(std::min<size_t>({std::max(most, 1u), wanted, 256}));
  }
};

// Processor seconds of the slowest thread in each phase of a call.
struct Phases {
  double head, copy, shards, merge, join;
};

struct Counts {
  Rows rows;
  Array<int64_t> ends;
  Phases phases{};
};

// The number of words to reserve slots for, given the size of the texts: the table grows later if needed, but growing
// rehashes all of it.
inline size_t likely_words(size_t bytes) { return std::min<size_t>(bytes / 256, size_t{1} << 18); }

// An estimate of the number of cells, given the size of the texts and the range of n-gram lengths.
inline size_t likely_cells(size_t bytes, const Terms& terms) {
  return bytes / 8 * (terms.longest() - terms.shortest() + 1) + 64;
}

// The indices of words by expected frequency: short words first if the vocabulary is in alphabetical order; otherwise
// its own order, which may reflect frequency.
inline std::vector<uint32_t> likely_first(const std::vector<Bytes>& words) {
  std::vector<uint32_t> order(words.size());
  std::iota(order.begin(), order.end(), 0u);
  if (!std::is_sorted(words.begin(), words.end(), comes_before)) return order;
  static constexpr size_t kLong = 16;
  uint32_t next[kLong + 2] = {};
  const auto length = [](const Bytes& word) { return word.size < kLong ? word.size : kLong; };
  for (const Bytes& word : words) ++next[length(word) + 1];
  for (size_t n = 0; n < kLong; ++n) next[n + 1] += next[n];
  for (size_t i = 0; i < words.size(); ++i) order[next[length(words[i])]++] = static_cast<uint32_t>(i);
  return order;
}

struct ClassPart;
struct PlacedCell;
struct TextSums;
class CellCollector;

class Engine {
 public:
  Engine(const Settings& settings, unsigned shortest, unsigned longest, bool stemmed)
      : settings_(settings), stemmed_(stemmed), terms_(words_, 0, shortest, longest) {}

  // Add the stop words and then the vocabulary; called before anything is counted.
  void set_words(const std::vector<Bytes>& stops, const std::vector<Bytes>& vocabulary) {
    WordTable& table = stemmed_ ? surfaces_.words : words_;
    words_.reserve(vocabulary.size() + stops.size());
    for (const Bytes& stop : stops) table.insert(stop);
    stops_ = table.size();
    surfaces_.unit_of.assign(stemmed_ ? stops_ : 0, kDrop);
    terms_ = Terms(words_, stemmed_ ? 0 : stops_, terms_.shortest(), terms_.longest());
    terms_.add(vocabulary, likely_first(vocabulary));
  }

  // Count documents; if this fails, no term was added. Ids ascend in each row if it is `sorted`.
  Counts count(const Documents& documents, bool grow, bool sorted, const Threads& threads,
               const std::function<void()>& listen) {
    const Terms::Known known = terms_.known();
    try {
      return count_all(documents, grow, sorted, threads, listen);
    } catch (...) {
      if (grow) terms_.truncate(known);
      throw;
    }
  }
  TextSums sum_classes(const Documents& documents, const int32_t* classes, size_t n_classes, const Threads& threads,
                       const std::function<void()>& listen);
  void learn(const Documents& documents, bool grow, const Threads& threads, const std::function<void()>& listen);

  // The first entry of the surfaces whose stem is not known yet.
  uint32_t resolved() const { return static_cast<uint32_t>(surfaces_.unit_of.size()); }
  const WordTable& surfaces() const { return surfaces_.words; }
  void forget(const Terms::Known& known);
  void resolve(const std::vector<Bytes>& stems, bool grow);

  // A faster table of the n-grams, for counting documents of this many bytes without adding terms; null if the n-grams
  // are not pairs, or if too little text has been read to pay for building the table.
  const PairTerms* fast_pairs(size_t bytes) {
    if (terms_.longest() != 2) return nullptr;
    const std::lock_guard<std::mutex> lock(pairs_mutex_);
    const size_t version = size_t{terms_.size()} + words_.size();  // neither of them ever shrinks
    if (pairs_version_ != version) {  // the table of fewer terms must not be used, even if building another one fails
      pairs_ = PairTerms();
      read_ = 0;
      pairs_version_ = version;
    }
    const bool built = read_ >= terms_.size();
    if (!built && read_ + bytes >= terms_.size()) pairs_ = PairTerms(terms_.grams(), terms_.words().size());
    read_ += bytes;
    return pairs_.empty() ? nullptr : &pairs_;
  }
  const Terms& terms() const { return terms_; }
  std::shared_mutex& mutex() { return mutex_; }
  bool stemmed() const { return stemmed_; }

  // Call use(terms, n) for every batch of a document, where terms are single words; fetch(term) is called before for
  // each of them.
  template <class Fetch, class Use>
  void each_batch(const Document& document, Scratch& scratch, Fetch&& fetch, Use&& use) {
    Reader reader = this->reader(terms_, false);
    scratch.read(document, reader.table(), [&](const Token* tokens, unsigned n, bool) {
      const unsigned kept = reader.find(tokens, n, scratch, fetch);
      use(static_cast<const uint32_t*>(scratch.words), kept);
    });
  }
  // Count a document without new terms; `pairs` has the n-grams of the engine if it is not null. fetch(term) is called
  // for n-grams when they are found.
  template <class Fetch>
  void count_into(const Document& document, Scratch& scratch, const PairTerms* pairs, Fetch&& fetch) {
    count_document(document, scratch, reader(terms_, false, pairs), fetch);
  }

  // Call flush(tokens, n, alone) for every batch of a document's tokens, including stop words.
  template <class Flush>
  void each_token(const Document& document, Flush&& flush) {
    auto scratch = take_scratch();
    scratch->read(document, words_, flush);
    give_back(std::move(scratch), document.length <= kShort);
  }

  std::unique_ptr<Scratch> take_scratch() {
    const std::lock_guard<std::mutex> lock(pool_mutex_);
    if (pool_.empty()) return std::make_unique<Scratch>(settings_);
    auto scratch = std::move(pool_.back());
    pool_.pop_back();
    return scratch;
  }
  // Return a scratch buffer to the pool, unless long documents have made it large.
  void give_back(std::unique_ptr<Scratch> scratch, bool keep) {
    const std::lock_guard<std::mutex> lock(pool_mutex_);
    if (keep && pool_.size() < 16) pool_.push_back(std::move(scratch));
  }

 private:
  // What a thread has learnt in tables of its own; the first thread has none, because it uses the engine's.
  struct OwnTerms {
    std::unique_ptr<WordTable> words;
    std::unique_ptr<Terms> terms;
    std::vector<uint32_t> ids;  // the engine's ids of the terms that only this thread has learnt
  };

  // How threads have shared documents: thread s has read those from bounds[s] to bounds[s + 1], and the first also
  // those before. Ids below `known` are the engine's in every thread.
  struct Shared {
    std::vector<OwnTerms> own;
    std::vector<size_t> bounds;
    uint32_t known = 0;
    Phases phases{};
  };

  Reader reader(Terms& terms, bool grow, const PairTerms* pairs = nullptr) const {
    return {terms, stemmed_ ? &surfaces_ : nullptr, grow, pairs};
  }
  Counts count_all(const Documents& documents, bool grow, bool sorted, const Threads& threads,
                   const std::function<void()>& listen);
  bool learns(bool grow) const { return grow && !(stemmed_ && terms_.plain()); }
  void start_terms(OwnTerms& own, size_t bytes, bool first);
  template <class Open, class Take>
  Shared read_all(const Documents& documents, bool grow, unsigned threads, size_t head,
                  const std::function<void()>& listen, Open&& open, Take&& take);
  TextSums sums_in_order(const Shared& shared, const std::vector<CellCollector>& collectors,
                         const std::vector<std::vector<ClassPart>>& of_class, unsigned threads) const;
  void join_cells(const Shared& shared, const std::vector<CellCollector>& collectors,
                  const std::vector<ClassPart>& parts, const Array<int64_t>& place,
                  std::vector<PlacedCell>& cells) const;
  void join_rows(const OwnTerms& own, const Rows& rows, size_t first, size_t from, size_t to, uint32_t known,
                 bool sorted, Counts& counts) const;

  Settings settings_;
  bool stemmed_;
  uint32_t stops_ = 0;
  WordTable words_;
  Terms terms_;
  Surfaces surfaces_;
  std::shared_mutex mutex_;
  std::mutex pool_mutex_, pairs_mutex_;
  PairTerms pairs_;
  size_t pairs_version_ = 0;  // of the terms since read_ was set to 0
  size_t read_ = 0;           // bytes of text that were counted without adding terms
  std::vector<std::unique_ptr<Scratch>> pool_;
};

// Call each(row) for the documents from `from` to `to`, until `stop` is set.
template <class Each>
void each_document(const Documents& documents, size_t from, size_t to, Listener& listener, Stop& stop, Each&& each) {
  for (size_t row = from; row < to && !stop.now.load(std::memory_order_relaxed); ++row) {
    each(row);
    listener.after(size_of(documents, row));
  }
}

// Call work(row, space) for all documents on several threads. Each thread has its own Space, whose `scratch` belongs to
// the engine; threads take one part of the documents after another.
template <class Space, class Work>
void each_text(Engine& engine, const Documents& documents, const Threads& threads, const std::function<void()>& listen,
               Work&& work) {
  constexpr unsigned kParts = 8;  // parts of the documents for each thread
  const unsigned n = threads.shards(documents), parts = n > 1 ? n * kParts : 1;
  const std::vector<size_t> bounds = shard_bounds(documents, parts);
  const bool keep = longest_size(documents) <= kShort;
  std::atomic<unsigned> next{0};
  Stop stop;
  run_sharded(n, stop, [&](unsigned s) {
    Space space;
    space.scratch = engine.take_scratch();
    Listener listener{listen, s == 0};
    for (unsigned part = next++; part < parts; part = next++)
      each_document(documents, bounds[part], bounds[part + 1], listener, stop, [&](size_t row) { work(row, space); });
    engine.give_back(std::move(space.scratch), keep);
  });
}

// Prepare the tables of a thread. The first learns terms in the engine's own tables, every other one in a copy of them.
inline void Engine::start_terms(OwnTerms& own, size_t bytes, bool first) {
  if (first) {
    if (!stemmed_) words_.reserve(likely_words(bytes));
    if (!terms_.plain()) terms_.grams().reserve(12 * likely_words(bytes));
    return;
  }
  if (!stemmed_) own.words = std::make_unique<WordTable>(words_, likely_words(bytes));
  own.terms = std::make_unique<Terms>(terms_, stemmed_ ? words_ : *own.words);
}

// Count all documents on several threads, and merge the terms that they have learnt. open(s, bytes) is called on thread
// s before it reads about that many bytes, and take(s, row, counter, terms) after each document, which must clear the
// counter. The documents before `head` are read first, by one thread: if they contain most frequent words, the other
// threads learn few terms themselves.
template <class Open, class Take>
Engine::Shared Engine::read_all(const Documents& documents, bool grow, unsigned n, size_t head,
                                const std::function<void()>& listen, Open&& open, Take&& take) {
  const size_t bytes = total_size(documents);
  const bool keep = longest_size(documents) <= kShort, learns = this->learns(grow);
  const PairTerms* pairs = learns ? nullptr : fast_pairs(bytes);
  Shared shared;
  shared.own.resize(n);
  Phases& phases = shared.phases;
  Stop stop;
  // reading the clock takes longer than counting a short text
  const auto timed = [&](unsigned parts, const auto& work) {
    if (bytes > kShort) return longest_of(parts, stop, work);
    run_sharded(parts, stop, work);
    return 0.0;
  };
  const auto start = [&](unsigned s, size_t share) {
    open(s, share);
    if (learns) start_terms(shared.own[s], share, s == 0);
  };
  const auto read = [&](unsigned s, size_t from, size_t to) {
    Terms& terms = shared.own[s].terms ? *shared.own[s].terms : terms_;
    const Reader words = reader(terms, learns, pairs);
    auto scratch = take_scratch();
    Listener listener{listen, s == 0};
    each_document(documents, from, to, listener, stop, [&](size_t row) {
      count_document(documents.at(row), *scratch, words, [](uint32_t) {});
      take(s, row, scratch->row, terms);
    });
    give_back(std::move(scratch), keep);
  };
  start(0, bytes);
  phases.head = timed(1, [&](unsigned) { read(0, 0, head); });
  const Terms::Known known = terms_.known();
  shared.known = known.terms;
  phases.copy = timed(n, [&](unsigned s) {
    if (s) start(s, bytes / n);
  });
  shared.bounds = shard_bounds(documents, n, head);
  phases.shards = timed(n, [&](unsigned s) { read(s, shared.bounds[s], shared.bounds[s + 1]); });
  phases.merge = timed(1, [&](unsigned) {
    for (OwnTerms& own : shared.own)
      if (own.terms) own.ids = terms_.merge(*own.terms, known);
  });
  return shared;
}

inline Counts Engine::count_all(const Documents& documents, bool grow, bool sorted, const Threads& threads,
                                const std::function<void()>& listen) {
  const unsigned n = threads.shards(documents);
  const size_t bytes = total_size(documents);
  const size_t head = n > 1 && learns(grow) ? shard_bounds(documents, static_cast<unsigned>(bytes / kHead) + 16)[1] : 0;
  std::vector<Rows> rows(n);
  Counts counts;
  counts.ends = Array<int64_t>(documents.count + 1);
  // the first shard gets memory for all rows, which are appended to its own at the end: moving huge pages would take as
  // long as filling them, and untouched memory costs nothing
  const auto open = [&](unsigned s, size_t share) {
    const size_t cells = likely_cells(share, terms_);
    rows[s].ids = Array<int32_t>::unset(cells);
    rows[s].counts = Array<int32_t>::unset(cells);
  };
  const auto take = [&](unsigned s, size_t row, RowCounter& counter, const Terms&) {
    counts.ends[row + 1] = rows[s].take(counter, sorted);
  };
  const Shared shared = read_all(documents, grow, n, head, listen, open, take);
  counts.phases = shared.phases;
  for (size_t row = 0; row < documents.count; ++row) counts.ends[row + 1] += counts.ends[row];
  counts.rows = std::move(rows[0]);
  counts.rows.resize(static_cast<size_t>(counts.ends[documents.count]));
  // each thread copies a share of every later shard
  Stop stop;
  const auto join = [&](unsigned part) {
    for (unsigned s = 1; s < n; ++s) {
      const size_t first = shared.bounds[s], size = shared.bounds[s + 1] - first;
      join_rows(shared.own[s], rows[s], first, first + size * part / n, first + size * (part + 1) / n, shared.known,
                sorted, counts);
    }
  };
  if (n > 1) counts.phases.join = longest_of(n, stop, join);
  return counts;
}

// Copy some rows of a shard, which begins with row `first`, to their position among all rows. Ids below `known` are the
// engine's; the few others are mapped to the engine's ids. If rows are sorted, the others are at the end of each row,
// and are sorted again.
inline void Engine::join_rows(const OwnTerms& own, const Rows& rows, size_t first, size_t from, size_t to,
                              uint32_t known, bool sorted, Counts& counts) const {
  const int64_t *ends = counts.ends.data(), start = ends[first];
  int32_t *ids = counts.rows.ids.data(), *values = counts.rows.counts.data();
  const int32_t *own_ids = rows.ids.data() - start, *own_values = rows.counts.data() - start;
  std::copy(own_ids + ends[from], own_ids + ends[to], ids + ends[from]);
  std::copy(own_values + ends[from], own_values + ends[to], values + ends[from]);
  if (!own.terms) return;
  if (!sorted) {
    std::for_each(ids + ends[from], ids + ends[to], [&](int32_t& id) {
      if (static_cast<uint32_t>(id) >= known) id = static_cast<int32_t>(own.ids[static_cast<uint32_t>(id) - known]);
    });
    return;
  }
  RowCounter counter;
  Rows again;
  for (size_t row = from; row < to; ++row) {
    int64_t learnt = ends[row + 1];
    while (learnt > ends[row] && static_cast<uint32_t>(ids[learnt - 1]) >= known) --learnt;
    const auto n = static_cast<size_t>(ends[row + 1] - learnt);
    counter.make_room(terms_.size(), n);
    again.make_room(n);
    counter.load(ids + learnt, values + learnt, n, own.ids, known);
    counter.write_sorted(again.ids.data(), again.counts.data());
    std::copy(again.ids.data(), again.ids.data() + n, ids + learnt);
    std::copy(again.counts.data(), again.counts.data() + n, values + learnt);
  }
}

// Add every distinct word of the documents to the surfaces.
inline void Engine::learn(const Documents& documents, bool grow, const Threads& threads,
                          const std::function<void()>& listen) {
  if (grow && surfaces_.unknown)
    forget(terms_.known());  // stems that were not in the vocabulary may now be added to it
  const unsigned n = threads.shards(documents);
  const std::vector<size_t> bounds = shard_bounds(documents, n);
  const bool keep = longest_size(documents) <= kShort;
  std::vector<WordTable> own(n - 1);
  surfaces_.words.reserve(likely_words(total_size(documents) / n));
  Stop stop;
  run_sharded(n, stop, [&](unsigned s) {
    WordTable& words = s ? own[s - 1] : surfaces_.words;
    auto scratch = take_scratch();
    Listener listener{listen, s == 0};
    each_document(documents, bounds[s], bounds[s + 1], listener, stop, [&](size_t row) {
      scratch->read(documents.at(row), words, [&](const Token* tokens, unsigned m, bool) {
        for (unsigned i = 0; i < m; ++i) words.insert(tokens[i]);
      });
    });
    give_back(std::move(scratch), keep);
  });
  for (const WordTable& words : own) surfaces_.words.merge(words);
}

// Empty the surfaces, which are a cache of stems, and remove all terms that were added since `known`; needs no memory.
inline void Engine::forget(const Terms::Known& known) {
  surfaces_.words.truncate(stops_);
  surfaces_.unit_of.resize(std::min<size_t>(surfaces_.unit_of.size(), stops_));
  terms_.truncate(known);
  surfaces_.unknown = false;
}

inline void Engine::resolve(const std::vector<Bytes>& stems, bool grow) {
  surfaces_.unit_of.reserve(surfaces_.unit_of.size() + stems.size());
  for (const Bytes& stem : stems) {
    const uint32_t unit = stem.size == 0 ? kDrop : grow ? words_.insert(stem) : words_.find(stem);
    surfaces_.unknown |= unit == kNone;
    surfaces_.unit_of.push_back(unit);
  }
}

}  // namespace unnaive
