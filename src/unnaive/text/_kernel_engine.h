// Documents → rows of counts: a map per shard, merged in document order, so that ids are those of one thread.
#pragma once
#include <functional>
#include <mutex>
#include <shared_mutex>

#include "_kernel_rows.h"
#include "_kernel_threads.h"

namespace unnaive {

constexpr uint32_t kDrop = 0xFFFFFFFEu;  // a stop word, or a word whose stem is empty

// Stemming: every distinct word as written, with the entry of its stem. Python fills it in, once per word.
struct Surfaces {
  WordTable words;
  std::vector<uint32_t> unit_of;  // entry of the stem, kDrop, or kNone if the vocabulary lacks it
  bool unknown = false;
};

// Word entries of a batch: kNone for unknown ones, none for stop words; gives how many.
inline unsigned words_of(const Token* tokens, unsigned n, WordTable& words, uint32_t stops, bool grow, uint32_t* out) {
  unsigned kept = 0;
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t entry = grow ? words.insert(tokens[i]) : words.find(tokens[i]);
    out[kept] = entry;
    kept += entry >= stops;
  }
  return kept;
}

inline unsigned words_of(const Token* tokens, unsigned n, const Surfaces& surfaces, uint32_t* out) {
  unsigned kept = 0;
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t entry = surfaces.words.find(tokens[i]);
    out[kept] = entry == kNone ? kNone : surfaces.unit_of[entry];
    kept += out[kept] != kDrop;
  }
  return kept;
}

// Counts a batch of word entries where terms are single words.
inline void count_words(Scratch& scratch, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t word = scratch.words[i];
    if (word != kNone && !scratch.again(word)) scratch.first(word);
  }
}

// Counts the items of one length; those that are new to the vocabulary are noted, to get ids in the order of the text.
inline void count_items(Scratch& scratch, const Terms& terms, unsigned n, unsigned length, bool grow) {
  if (length < terms.shortest()) return;
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t item = scratch.items[i];
    if (item == kNone || scratch.again(item)) continue;
    const bool known = terms.term_of(item) != kNone;
    if (!known && !grow) continue;
    scratch.first(item);
    if (!known) scratch.fresh.push_back(static_cast<uint64_t>(i * Scratch::kLongest + length) << 32 | item);
  }
}

// scratch.items[i] for the n-gram of one length that ends with word i becomes that of the next length.
inline void lengthen(Scratch& scratch, Terms& terms, unsigned n, unsigned length, bool grow) {
  uint32_t before = scratch.previous[length - 1];
  scratch.previous[length - 1] = scratch.items[n - 1];
  PairTable& grams = terms.grams();
  constexpr uint64_t none = ~0ull;
  for (unsigned i = 0; i < n; ++i) {
    const bool whole = before != kNone && scratch.words[i] != kNone;
    scratch.pairs[i] = whole ? Terms::pair_of(before, scratch.words[i]) : none;
    if (whole) grams.prefetch(scratch.pairs[i]);
    before = scratch.items[i];
  }
  for (unsigned i = 0; i < n; ++i) {
    uint32_t entry = kNone;
    if (scratch.pairs[i] != none) entry = grow ? grams.insert(scratch.pairs[i]) : grams.find(scratch.pairs[i]);
    scratch.items[i] = entry == kNone ? kNone : entry | kGram;
  }
}

// Counts a batch of word entries where terms may be n-grams.
inline void count_grams(Scratch& scratch, Terms& terms, unsigned n, bool grow) {
  if (n == 0) return;
  scratch.fresh.clear();
  std::copy(scratch.words, scratch.words + n, scratch.items);
  for (unsigned length = 1;; ++length) {
    scratch.make_room(terms);
    count_items(scratch, terms, n, length, grow);
    if (length == terms.longest()) break;
    lengthen(scratch, terms, n, length, grow);
  }
  std::sort(scratch.fresh.begin(), scratch.fresh.end());
  for (const uint64_t fresh : scratch.fresh) terms.assign(static_cast<uint32_t>(fresh));
}

// Counts one document into scratch.row.
inline void count_document(const Document& document, Scratch& scratch, Terms& terms, const Surfaces* surfaces,
                           bool grow) {
  scratch.start_document();
  const WordTable& table = surfaces ? surfaces->words : terms.words();
  scratch.read(document, table, [&](const Token* tokens, unsigned n) {
    const unsigned kept = surfaces ? words_of(tokens, n, *surfaces, scratch.words)
                                   : words_of(tokens, n, terms.words(), terms.stops(), grow, scratch.words);
    if (terms.plain()) {
      scratch.make_room(terms);
      count_words(scratch, kept);
    } else {
      count_grams(scratch, terms, kept, grow);
    }
  });
}

constexpr size_t kListen = size_t{4} << 20;  // bytes between two looks for Ctrl-C
constexpr size_t kShort = size_t{1} << 20;   // bytes up to which a call's scratch space is kept

inline size_t total_size(const Documents& documents) {
  size_t total = 0;
  for (size_t row = 0; row < documents.count; ++row) total += documents.at(row).length + 16;
  return total;
}

// How many threads a call may have, and how many bytes are worth one.
struct Threads {
  unsigned most;
  size_t worth;

  unsigned shards(const Documents& documents) const {
    const size_t wanted = total_size(documents) / std::max<size_t>(worth, 1) + 1;
    return static_cast<unsigned>(std::min<size_t>({std::max(most, 1u), wanted, 256}));
  }
};

struct Counts {
  Array<int32_t> data, ids;
  Array<int64_t> ends;
  size_t cells = 0;
};

class Engine {
 public:
  Engine(const Settings& settings, unsigned shortest, unsigned longest, bool stemmed)
      : settings_(settings), stemmed_(stemmed), terms_(words_, 0, shortest, longest) {}

  // The stop words come first, the vocabulary second, before anything is counted.
  void set_words(const std::vector<Bytes>& stops, const std::vector<Bytes>& vocabulary) {
    WordTable& table = stemmed_ ? surfaces_.words : words_;
    words_.reserve(vocabulary.size() + stops.size());
    for (const Bytes& stop : stops) table.insert(stop);
    stops_ = table.size();
    surfaces_.unit_of.assign(stemmed_ ? stops_ : 0, kDrop);
    terms_ = Terms(words_, stemmed_ ? 0 : stops_, terms_.shortest(), terms_.longest());
    for (const Bytes& term : vocabulary) terms_.add(term);
  }

  Counts count(const Documents& documents, bool grow, const Threads& threads, const std::function<void()>& listen);
  void learn(const Documents& documents, bool grow, const Threads& threads, const std::function<void()>& listen);

  // Words that wait for their stems start at this entry of the surfaces.
  uint32_t resolved() const { return static_cast<uint32_t>(surfaces_.unit_of.size()); }
  const WordTable& surfaces() const { return surfaces_.words; }
  void forget();
  void resolve(const std::vector<Bytes>& stems, bool grow);

  const Terms& terms() const { return terms_; }
  std::shared_mutex& mutex() { return mutex_; }
  bool stemmed() const { return stemmed_; }

  // Reads one document through to word entries, for scoring.
  template <class Use>
  void each_batch(const Document& document, Scratch& scratch, Use&& use) {
    scratch.read(document, stemmed_ ? surfaces_.words : words_, [&](const Token* tokens, unsigned n) {
      use(stemmed_ ? words_of(tokens, n, surfaces_, scratch.words)
                   : words_of(tokens, n, words_, stops_, false, scratch.words));
    });
  }
  void count_into(const Document& document, Scratch& scratch) {
    count_document(document, scratch, terms_, stemmed_ ? &surfaces_ : nullptr, false);
  }

  // flush(tokens, n) for every batch of one document's tokens, stop words and all.
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
  // Scratch space is kept for short calls; long ones can afford a new one.
  void give_back(std::unique_ptr<Scratch> scratch, bool keep) {
    const std::lock_guard<std::mutex> lock(pool_mutex_);
    if (keep && pool_.size() < 16) pool_.push_back(std::move(scratch));
  }

 private:
  struct Shard {
    std::unique_ptr<WordTable> own_words;
    std::unique_ptr<Terms> own_terms;
    std::unique_ptr<Scratch> scratch;
    std::vector<uint32_t> ids;  // its terms' ids in the engine
    Cells cells;
  };

  void start_shard(Shard& shard, bool grow, bool first);
  void write_rows(Shard& shard, const int64_t* ends, size_t from, size_t to, Counts& counts) const;

  Settings settings_;
  bool stemmed_;
  uint32_t stops_ = 0;
  WordTable words_;
  Terms terms_;
  Surfaces surfaces_;
  std::shared_mutex mutex_;
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Scratch>> pool_;
};

// each(row) for the documents of one shard; the first shard listens.
template <class Each>
void each_document(const Documents& documents, size_t from, size_t to, bool listener,
                   const std::function<void()>& listen, Stop& stop, Each&& each) {
  size_t heard = 0;
  for (size_t row = from; row < to && !stop.now.load(std::memory_order_relaxed); ++row) {
    each(row);
    heard += documents.at(row).length + 16;
    if (listener && heard >= kListen) {
      listen();
      heard = 0;
    }
  }
}

inline void Engine::start_shard(Shard& shard, bool grow, bool first) {
  shard.scratch = take_scratch();
  if (first || !grow || (stemmed_ && terms_.plain())) return;
  WordTable* words = &words_;
  if (!stemmed_) {
    shard.own_words = std::make_unique<WordTable>();
    words = shard.own_words.get();
    for (uint32_t stop = 0; stop < stops_; ++stop) words->insert(words_[stop]);
  }
  shard.own_terms = std::make_unique<Terms>(*words, terms_.stops(), terms_.shortest(), terms_.longest());
}

inline Counts Engine::count(const Documents& documents, bool grow, const Threads& threads,
                            const std::function<void()>& listen) {
  const unsigned n = threads.shards(documents);
  const std::vector<size_t> bounds = shard_bounds(documents, n);
  std::vector<Shard> shards(n);
  for (unsigned s = 0; s < n; ++s) start_shard(shards[s], grow, s == 0);
  Counts counts;
  counts.ends = Array<int64_t>(documents.count + 1);
  counts.ends[0] = 0;
  Stop stop;
  run_sharded(n, stop, [&](unsigned s) {
    Shard& shard = shards[s];
    Terms& terms = shard.own_terms ? *shard.own_terms : terms_;
    // single words have all got their ids from their stems already
    const bool may_grow = grow && !(stemmed_ && terms.plain());
    each_document(documents, bounds[s], bounds[s + 1], s == 0, listen, stop, [&](size_t row) {
      count_document(documents.at(row), *shard.scratch, terms, stemmed_ ? &surfaces_ : nullptr, may_grow);
      counts.ends[row + 1] = static_cast<int64_t>(shard.scratch->row.size());
      shard.cells.push(shard.scratch->row);
    });
    give_back(std::move(shard.scratch), total_size(documents) <= kShort);
  });
  for (Shard& shard : shards)
    if (shard.own_terms) shard.ids = terms_.merge(*shard.own_terms);
  for (size_t row = 0; row < documents.count; ++row) counts.ends[row + 1] += counts.ends[row];
  counts.cells = static_cast<size_t>(counts.ends[documents.count]);
  counts.data = Array<int32_t>(counts.cells);
  counts.ids = Array<int32_t>(counts.cells);
  run_sharded(n, stop,
              [&](unsigned s) { write_rows(shards[s], counts.ends.data(), bounds[s], bounds[s + 1], counts); });
  return counts;
}

inline void Engine::write_rows(Shard& shard, const int64_t* ends, size_t from, size_t to, Counts& counts) const {
  const Terms& terms = shard.own_terms ? *shard.own_terms : terms_;
  unsigned bits = 1;
  while (bits < 32 && terms_.size() >> bits) ++bits;
  std::vector<uint64_t> row, space;
  for (size_t r = from; r < to; ++r) {
    row.resize(static_cast<size_t>(ends[r + 1] - ends[r]));
    for (uint64_t& cell : row) {
      const Cell counted = shard.cells.pop_front();
      const uint32_t term = terms.term_of(counted.item);
      cell = static_cast<uint64_t>(shard.own_terms ? shard.ids[term] : term) << 32 | counted.count;
    }
    sort_by_term(row, space, bits);
    int32_t *ids = counts.ids.data() + ends[r], *data = counts.data.data() + ends[r];
    for (size_t i = 0; i < row.size(); ++i) {
      ids[i] = static_cast<int32_t>(row[i] >> 32);
      data[i] = static_cast<int32_t>(row[i]);
    }
  }
}

// Every distinct word of the documents joins the surfaces.
inline void Engine::learn(const Documents& documents, bool grow, const Threads& threads,
                          const std::function<void()>& listen) {
  if (grow && surfaces_.unknown) forget();  // what the vocabulary lacked may join it now
  const unsigned n = threads.shards(documents);
  const std::vector<size_t> bounds = shard_bounds(documents, n);
  std::vector<WordTable> own(n - 1);
  Stop stop;
  run_sharded(n, stop, [&](unsigned s) {
    WordTable& words = s ? own[s - 1] : surfaces_.words;
    auto scratch = take_scratch();
    each_document(documents, bounds[s], bounds[s + 1], s == 0, listen, stop, [&](size_t row) {
      scratch->read(documents.at(row), words,
                    [&](const Token* tokens, unsigned m) { words_of(tokens, m, words, 0, true, scratch->words); });
    });
    give_back(std::move(scratch), total_size(documents) <= kShort);
  });
  for (const WordTable& words : own) surfaces_.words.merge(words);
}

// The surfaces are a cache of stems: without them words are stemmed again.
inline void Engine::forget() {
  WordTable stops;
  for (uint32_t stop = 0; stop < stops_; ++stop) stops.insert(surfaces_.words[stop]);
  surfaces_.words = std::move(stops);
  surfaces_.unit_of.resize(stops_);
  surfaces_.unknown = false;
}

inline void Engine::resolve(const std::vector<Bytes>& stems, bool grow) {
  for (const Bytes& stem : stems) {
    const uint32_t unit = stem.size == 0 ? kDrop : grow ? words_.insert(stem) : words_.find(stem);
    surfaces_.unknown |= unit == kNone;
    surfaces_.unit_of.push_back(unit);
  }
}

}  // namespace unnaive
