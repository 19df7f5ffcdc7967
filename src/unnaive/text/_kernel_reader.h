// One document → its words as ids → its row of counts.
#pragma once
#include "_kernel_grams.h"
#include "_kernel_markup.h"
#include "_kernel_message.h"
#include "_kernel_rows.h"
#include "_kernel_scan.h"
#include "_kernel_sections.h"

namespace unnaive {

struct Settings {
  Rule rule;
  Message message;
  const Entities* entities;  // for text with markup, otherwise null
  Fields fields;             // for records with fields
};

constexpr uint32_t kDrop = 0xFFFFFFFEu;  // a stop word, or a word whose stem is empty

// For stemming: every distinct word as written, with the entry of its stem. Python computes each stem once.
struct Surfaces {
  WordTable words;
  std::vector<uint32_t> unit_of;  // entry of the stem, kDrop, or kNone if the vocabulary lacks it
  bool unknown = false;

  uint32_t stem_of(const Token& word) const {
    const uint32_t entry = words.find(word);
    return entry == kNone ? kNone : unit_of[entry];
  }
};

// The buffers of a thread for reading and counting documents, reused between calls.
class Scratch {
 public:
  explicit Scratch(const Settings& settings) : settings_(settings), scanner_(settings.rule) {}

  // Call flush(tokens, n, alone) for every batch of the document's tokens, which will be looked up in `table`.
  template <class Flush>
  void read(const Document& document, const WordTable& table, Flush&& flush) {
    if (!settings_.fields.on) return read_text(document, table, flush);
    // separate buffers, because a text inside the record may be converted itself
    each_section(utf8_of(document, record_), settings_.fields, [&](const Field* field, Bytes text) {
      read_section(field, {text.data, text.size, 0, document.ascii}, table, flush);
    });
  }

  // Whether a document's n-grams get their ids by length first, then by position.
  bool by_length() const { return settings_.rule.python != nullptr; }

  RowCounter row;
  Grams grams;
  std::vector<uint32_t> sequence, items;  // all words of a document, and the n-grams that begin with each
  uint32_t words[kBatch], terms[kBatch * Grams::kLongest];

 private:
  // The field's own words follow its shared ones; no n-gram spans two sections, or shared and own words.
  template <class Flush>
  void read_section(const Field* field, const Document& text, const WordTable& table, Flush& flush) {
    const Mode mode = field ? field->mode : Mode::shared;
    grams.start_sequence();
    if (mode == Mode::shared || mode == Mode::both) read_text(text, table, flush);
    if (mode == Mode::own || mode == Mode::both) {
      grams.start_sequence();
      keyed_.set_prefix(*field, ':');
      const auto send = [&](const Token* tokens, unsigned n, bool alone) {
        keyed_.send(tokens, n, alone, table, flush);
      };
      read_text(text, table, send);
    }
    if (mode == Mode::fixed) {
      keyed_.set_prefix(*field, '=');
      keyed_.send_fixed({static_cast<const uint8_t*>(text.data), text.length}, table, flush);
    }
  }

  template <class Flush>
  void read_text(const Document& document, const WordTable& table, Flush& flush) {
    if (settings_.message == Message::none && !settings_.entities) {
      scanner_.scan(document, table, flush);
      return;
    }
    const Bytes text = utf8_of(document, utf8_);
    parts_.assign(1, text);
    if (settings_.message != Message::none) message_parts(text, settings_.message, parts_);
    if (!settings_.entities) {
      for (const Bytes& part : parts_) scanner_.scan({part.data, part.size, 0, document.ascii}, table, flush);
      return;
    }
    size_t used = 0;
    for (const Bytes& part : parts_) used = Markup(*settings_.entities).clean(part, cleaned_, used);
    scanner_.scan({cleaned_.data(), used, 0, false}, table, flush);
  }

  Settings settings_;
  Scanner scanner_;
  KeyedWords keyed_;
  std::vector<uint8_t> utf8_, record_;
  std::vector<Bytes> parts_;
  Array<uint8_t> cleaned_;
};

// Collect the result of find(token) for the words of a batch, without stop words; unknown words are left out, or kept
// as kNone if `unknown` is set. Returns the number of words. Entries are counted from `base`, which is 0 or the first
// entry after the stop words.
template <class Find>
unsigned words_of(const Token* tokens, unsigned n, uint32_t stops, uint32_t base, bool unknown, uint32_t* out,
                  Find&& find) {
  unsigned kept = 0;
  const uint32_t most = kNone - stops - !unknown;
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t entry = find(tokens[i]);
    out[kept] = entry - base;  // kNone stays kNone, because base is 0 if unknown words are kept
    kept += entry - stops <= most;
  }
  return kept;
}

// Turns the words of documents into entries, which are looked up or added.
struct Reader {
  Terms& terms;
  const Surfaces* surfaces;  // null without stemming
  bool grow;
  const PairTerms* pairs;  // the n-grams of `terms` if they are pairs and no terms are added; or null

  const WordTable& table() const { return surfaces ? surfaces->words : terms.words(); }

  // Write word entries, for n-grams, to scratch.words.
  unsigned read(const Token* tokens, unsigned n, Scratch& scratch) {
    uint32_t* out = scratch.words;
    if (surfaces) return stems_of(tokens, n, true, out);
    const uint32_t stops = terms.stops();
    WordTable& words = terms.words();
    if (grow) return words_of(tokens, n, stops, 0, true, out, [&](const Token& token) { return words.insert(token); });
    return words_of(tokens, n, stops, 0, true, out, [&](const Token& token) { return words.find(token); });
  }

  // Write known terms, if terms are single words, to scratch.words. fetch(term) is called as soon as a word has been
  // looked up, also for words that turn out not to be terms.
  template <class Fetch>
  unsigned find(const Token* tokens, unsigned n, Scratch& scratch, Fetch&& fetch) const {
    uint32_t* out = scratch.words;
    if (surfaces) {
      const unsigned kept = stems_of(tokens, n, false, out);
      std::for_each(out, out + kept, fetch);
      return kept;
    }
    const uint32_t stops = terms.stops();
    const WordTable& words = terms.words();
    return words_of(tokens, n, stops, stops, false, out, [&](const Token& token) {
      const uint32_t entry = words.find(token);
      fetch(entry - stops);
      return entry;
    });
  }

  // Count the terms of a batch, if terms are single words.
  void count(const Token* tokens, unsigned n, RowCounter& row) const {
    WordTable& words = terms.words();
    row.make_room(size_t{terms.size()} + n, n);
    // stop words, unknown words and empty stems become negative
    const auto id_of = [stops = terms.stops()](uint32_t entry) {
      return std::max(static_cast<int32_t>(entry - stops), -1);
    };
    if (surfaces) {
      row.count(n, [&](size_t i) { return id_of(surfaces->stem_of(tokens[i])); });
    } else if (grow) {
      row.count(n, [&](size_t i) { return id_of(words.insert(tokens[i])); });
    } else {
      row.count(n, [&](size_t i) { return id_of(words.find(tokens[i])); });
    }
  }

 private:
  unsigned stems_of(const Token* tokens, unsigned n, bool unknown, uint32_t* out) const {
    unsigned kept = 0;
    for (unsigned i = 0; i < n; ++i) {
      out[kept] = surfaces->stem_of(tokens[i]);
      kept += out[kept] < kDrop || (unknown && out[kept] == kNone);
    }
    return kept;
  }
};

// Write the terms of a batch of words, in scratch.words, to scratch.terms; return their number. fetch(term) is called
// for each of them before it is counted.
template <class Fetch>
unsigned terms_of_words(unsigned n, bool alone, const Reader& reader, Scratch& scratch, Fetch&& fetch) {
  Terms& terms = reader.terms;
  Grams& grams = scratch.grams;
  const uint32_t* words = scratch.words;
  if (reader.pairs && !alone) return grams.terms_of_pairs(words, n, terms, *reader.pairs, scratch.terms, fetch);
  const unsigned found = alone && reader.grow ? grams.single_terms_of<true>(words, n, terms, scratch.terms)
                         : alone              ? grams.single_terms_of<false>(words, n, terms, scratch.terms)
                         : reader.grow        ? grams.terms_of<true>(words, n, terms, scratch.terms)
                                              : grams.terms_of<false>(words, n, terms, scratch.terms);
  scratch.row.make_room(terms.size(), found);
  std::for_each(scratch.terms, scratch.terms + found, fetch);
  return found;
}

// Count one document, and give ids to its new n-grams by length first, then by position.
inline void count_by_length(const Document& document, Scratch& scratch, Reader& reader) {
  Terms& terms = reader.terms;
  std::vector<uint32_t>& words = scratch.sequence;
  words.clear();
  scratch.read(document, reader.table(), [&](const Token* tokens, unsigned n, bool) {
    const unsigned kept = reader.read(tokens, n, scratch);
    words.insert(words.end(), scratch.words, scratch.words + kept);
  });
  scratch.items = words;
  uint32_t* items = scratch.items.data();
  for (size_t from = 0; terms.shortest() == 1 && from < words.size(); from += kBatch) {
    const size_t n = std::min<size_t>(kBatch, words.size() - from);
    terms.make_room(n);
    scratch.row.make_room(terms.size() + n, n);
    scratch.row.count(n, [&](size_t i) { return static_cast<int32_t>(terms.give_word(words[from + i])); });
  }
  uint64_t pairs[kBatch];
  for (size_t length = 2; length <= terms.longest() && length <= words.size(); ++length)
    for (size_t from = 0; from + length <= words.size(); from += kBatch) {
      const size_t n = std::min<size_t>(kBatch, words.size() - length + 1 - from);
      terms.make_room(n);
      PairTable& grams = terms.grams();
      const Ahead ahead = grams.ahead();
      for (size_t i = 0; i < n; ++i) {
        pairs[i] = Terms::pair_of(items[from + i], words[from + i + length - 1]);
        ahead.fetch(PairTable::hash_of_pair(pairs[i]));
      }
      unsigned found = 0;
      for (size_t i = 0; i < n; ++i) {
        const size_t place = grams.insert(pairs[i]);
        items[from + i] = grams.at(place).entry | kGram;
        if (length < terms.shortest()) continue;
        scratch.terms[found] = terms.give_gram(place);
        scratch.row.fetch(scratch.terms[found++]);
      }
      scratch.row.make_room(terms.size(), found);
      scratch.row.count(found, [&](size_t i) { return static_cast<int32_t>(scratch.terms[i]); });
    }
}

// Count one document into scratch.row. If terms are n-grams, fetch(term) is called for each of them before it is
// counted.
template <class Fetch>
void count_document(const Document& document, Scratch& scratch, Reader reader, Fetch&& fetch) {
  Terms& terms = reader.terms;
  if (reader.grow && !terms.plain() && scratch.by_length()) return count_by_length(document, scratch, reader);
  const auto fetch_all = [&](uint32_t term) {
    scratch.row.fetch(term);
    fetch(term);
  };
  scratch.grams.start_sequence();
  scratch.read(document, reader.table(), [&](const Token* tokens, unsigned n, bool alone) {
    if (terms.plain()) return reader.count(tokens, n, scratch.row);
    scratch.row.make_room(terms.size(), 0);
    const unsigned words = reader.read(tokens, n, scratch);
    const unsigned found = terms_of_words(words, alone, reader, scratch, fetch_all);
    scratch.row.make_room(terms.size(), found);
    scratch.row.count(found, [&](size_t i) { return static_cast<int32_t>(scratch.terms[i]); });
  });
}

}  // namespace unnaive
