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
  struct Shard {
    std::unique_ptr<WordTable> own_words;
    std::unique_ptr<Terms> own_terms;
    std::vector<uint32_t> ids;  // the engine's ids of the terms that only this shard has learnt
    Rows rows;

    // Append the row of a document; return its size.
    int64_t take(RowCounter& row, bool sorted) {
      const size_t n = row.size();
      rows.make_room(n);
      int32_t *ids = rows.ids.data() + rows.used, *counts = rows.counts.data() + rows.used;
      sorted ? row.write_sorted(ids, counts) : row.write(ids, counts);
      rows.used += n;
      return static_cast<int64_t>(n);
    }
  };

  Reader reader(Terms& terms, bool grow, const PairTerms* pairs = nullptr) const {
    return {terms, stemmed_ ? &surfaces_ : nullptr, grow, pairs};
  }
  Counts count_all(const Documents& documents, bool grow, bool sorted, const Threads& threads,
                   const std::function<void()>& listen);
  void start_shard(Shard& shard, size_t bytes, bool learns, bool first);
  void join_rows(const Shard& shard, size_t first, size_t from, size_t to, uint32_t known, bool sorted,
                 Counts& counts) const;

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

// Prepare a shard. The first learns terms in the engine's own tables, every other one in a copy of them.
inline void Engine::start_shard(Shard& shard, size_t bytes, bool learns, bool first) {
  // the first shard gets memory for all rows, which are appended to its own at the end: moving huge pages would take as
  // long as filling them, and untouched memory costs nothing
  const size_t cells = likely_cells(bytes, terms_);
  shard.rows.ids = Array<int32_t>::unset(cells);
  shard.rows.counts = Array<int32_t>::unset(cells);
  if (!learns) return;
  if (first) {
    if (!stemmed_) words_.reserve(likely_words(bytes));
    if (!terms_.plain()) terms_.grams().reserve(12 * likely_words(bytes));
    return;
  }
  if (!stemmed_) shard.own_words = std::make_unique<WordTable>(words_, likely_words(bytes));
  shard.own_terms = std::make_unique<Terms>(terms_, stemmed_ ? words_ : *shard.own_words);
}

inline Counts Engine::count_all(const Documents& documents, bool grow, bool sorted, const Threads& threads,
                                const std::function<void()>& listen) {
  const unsigned n = threads.shards(documents);
  const size_t bytes = total_size(documents);
  const bool keep = longest_size(documents) <= kShort;
  // terms that are single stems have got their ids from resolve()
  const bool learns = grow && !(stemmed_ && terms_.plain());
  const PairTerms* pairs = learns ? nullptr : fast_pairs(bytes);
  std::vector<Shard> shards(n);
  Counts counts;
  counts.ends = Array<int64_t>(documents.count + 1);
  Phases& phases = counts.phases;
  Stop stop;
  // reading the clock takes longer than counting a short text
  const auto timed = [&](unsigned parts, const auto& work) {
    if (bytes > kShort) return longest_of(parts, stop, work);
    run_sharded(parts, stop, work);
    return 0.0;
  };
  const auto read = [&](unsigned s, size_t from, size_t to) {
    const Reader words = reader(shards[s].own_terms ? *shards[s].own_terms : terms_, learns, pairs);
    auto scratch = take_scratch();
    Listener listener{listen, s == 0};
    each_document(documents, from, to, listener, stop, [&](size_t row) {
      count_document(documents.at(row), *scratch, words, [](uint32_t) {});
      counts.ends[row + 1] = shards[s].take(scratch->row, sorted);
    });
    give_back(std::move(scratch), keep);
  };
  start_shard(shards[0], bytes, learns, true);
  // the first documents contain most frequent words, so that the other shards learn few terms themselves
  const size_t head = n > 1 && learns ? shard_bounds(documents, static_cast<unsigned>(bytes / kHead) + 16)[1] : 0;
  phases.head = timed(1, [&](unsigned) { read(0, 0, head); });
  const Terms::Known known = terms_.known();
  phases.copy = timed(n, [&](unsigned s) {
    if (s) start_shard(shards[s], bytes / n, learns, false);
  });
  const std::vector<size_t> bounds = shard_bounds(documents, n, head);
  phases.shards = timed(n, [&](unsigned s) { read(s, bounds[s], bounds[s + 1]); });
  phases.merge = timed(1, [&](unsigned) {
    for (Shard& shard : shards)
      if (shard.own_terms) shard.ids = terms_.merge(*shard.own_terms, known);
  });
  for (size_t row = 0; row < documents.count; ++row) counts.ends[row + 1] += counts.ends[row];
  counts.rows = std::move(shards[0].rows);
  counts.rows.resize(static_cast<size_t>(counts.ends[documents.count]));
  // each thread copies a share of every later shard
  phases.join = timed(n, [&](unsigned part) {
    for (unsigned s = 1; s < n; ++s) {
      const size_t rows = bounds[s + 1] - bounds[s];
      const size_t from = bounds[s] + rows * part / n, to = bounds[s] + rows * (part + 1) / n;
      join_rows(shards[s], bounds[s], from, to, known.terms, sorted, counts);
    }
  });
  return counts;
}

// Copy some rows of a shard, which begins with row `first`, to their position among all rows. Ids below `known` are the
// engine's; the few others are mapped to the engine's ids. If rows are sorted, the others are at the end of each row,
// and are sorted again.
inline void Engine::join_rows(const Shard& shard, size_t first, size_t from, size_t to, uint32_t known, bool sorted,
                              Counts& counts) const {
  const int64_t *ends = counts.ends.data(), start = ends[first];
  int32_t *ids = counts.rows.ids.data(), *values = counts.rows.counts.data();
  const int32_t *own_ids = shard.rows.ids.data() - start, *own_values = shard.rows.counts.data() - start;
  std::copy(own_ids + ends[from], own_ids + ends[to], ids + ends[from]);
  std::copy(own_values + ends[from], own_values + ends[to], values + ends[from]);
  if (!shard.own_terms) return;
  if (!sorted) {
    std::for_each(ids + ends[from], ids + ends[to], [&](int32_t& id) {
      if (static_cast<uint32_t>(id) >= known) id = static_cast<int32_t>(shard.ids[static_cast<uint32_t>(id) - known]);
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
    counter.load(ids + learnt, values + learnt, n, shard.ids, known);
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
