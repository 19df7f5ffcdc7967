// Characters → terms where not only spaces separate them: emoji, symbols, and scripts without spaces. scripts.py has
// the same steps as regular expressions.
#pragma once
#include <array>

#include "_kernel_memory.h"
#include "_kernel_spell.h"
#include "_kernel_token.h"

namespace unnaive {

inline bool has_kind(uint32_t code, unsigned kind) { return kinds[code] & kind; }
inline bool is_flag_letter(uint32_t code) { return code >= 0x1F1E6 && code <= 0x1F1FF; }
inline bool is_selector(uint32_t code) { return code == 0xFE0E || code == 0xFE0F; }
inline bool is_skin_tone(uint32_t code) { return code >= 0x1F3FB && code <= 0x1F3FF; }
inline bool is_tag(uint32_t code) { return code >= 0xE0020 && code <= 0xE007F; }
inline bool is_one_of(uint32_t code, const char* some) { return code < 0x80 && code && std::strchr(some, int(code)); }

// The end of the keycap (a digit in a box) at i; i if there is none.
inline size_t keycap_end(Codes codes, size_t i) {
  if (codes[i] - '0' > 9) return i;
  const size_t box = i + 1 + (codes[i + 1] == 0xFE0F);
  return codes[box] == 0x20E3 ? box + 1 : i;
}

// The end of the pictograph at i, with its selector, skin tone and tags; i if there is none.
inline size_t picture_end(Codes codes, size_t i) {
  const bool text = has_kind(codes[i], kTextPictograph) && codes[i + 1] == 0xFE0F;
  if (!text && !has_kind(codes[i], kPictograph)) return i;
  ++i;
  i += is_selector(codes[i]);
  i += is_skin_tone(codes[i]);
  while (is_tag(codes[i])) ++i;
  return i;
}

// The end of the emoji at i: a flag, a keycap, or pictographs joined by U+200D; i if there is none.
inline size_t emoji_end(Codes codes, size_t i) {
  if (is_flag_letter(codes[i])) return is_flag_letter(codes[i + 1]) ? i + 2 : i;
  if (codes[i] < 0x80) return keycap_end(codes, i);
  size_t end = picture_end(codes, i);
  while (end > i && codes[end] == 0x200D) {
    const size_t next = picture_end(codes, end + 1);
    if (next == end + 1) break;
    end = next;
  }
  return end;
}

// The end of the symbol at i; i if there is none. :) and ;-( are symbols anywhere; =) :D :/ and <3 only if no word
// touches them.
inline size_t symbol_end(Codes codes, size_t i) {
  const auto in_word = [&](size_t at) { return has_kind(codes[at], kLetter | kNumber); };
  const bool free = i == 0 || !in_word(i - 1);
  if (codes[i] == '<') {
    const size_t three = i + 1 + (codes[i + 1] == '/');
    return codes[three] == '3' && free && !in_word(three + 1) ? three + 1 : i;
  }
  if (!is_one_of(codes[i], ":;=")) return i;
  const size_t mouth = i + 1 + is_one_of(codes[i + 1], "-'");
  if (codes[i] != '=' && is_one_of(codes[mouth], "()")) return mouth + 1;
  return is_one_of(codes[mouth], "()dDpPoO/\\|*") && free && !in_word(mouth + 1) ? mouth + 1 : i;
}

// The origin of a term. Words have a minimum length and form n-grams; signs form n-grams; terms of runs do neither.
enum class Origin : uint8_t { word, sign, run };

class Cutter {
 public:
  explicit Cutter(const Rule& rule) : rule_(rule) {}

  // Call flush(tokens, n, alone) for batches of tokens; tokens of runs come with alone = true and are in no n-gram of
  // words.
  template <class Table, class Flush>
  void cut(Codes codes, const Table& table, Flush& flush) {
    const auto send = [&] { this->send(table, flush); };
    for (size_t i = 0; i < codes.size;) {
      const size_t end = sign_end(codes, i);
      if (end > i) {
        add(codes, i, end, Origin::sign, send);
        i = end;
      } else if (is_word(codes[i])) {
        i = cut_word(codes, i, send);
      } else {
        ++i;
      }
    }
    send();
  }

 private:
  bool is_word(uint32_t code) const { return has_kind(code, rule_.digits ? kLetter | kNumber : kLetter); }
  bool is_unspaced(uint32_t code) const { return rule_.cut_runs && has_kind(code, kUnspaced); }

  // The end of the emoji or symbol at i; i if there is none.
  size_t sign_end(Codes codes, size_t i) const {
    const size_t end = rule_.emoji ? emoji_end(codes, i) : i;
    return end == i && rule_.symbols ? symbol_end(codes, i) : end;
  }

  // Add the words and runs of one stretch of letters, marks and numbers; return its end.
  template <class Send>
  size_t cut_word(Codes codes, size_t i, Send& send) {
    const auto goes_on = [&](size_t at) {
      return at < codes.size && is_word(codes[at]) && !(rule_.emoji && keycap_end(codes, at) > at);
    };
    while (goes_on(i)) {
      const size_t start = i;
      if (is_unspaced(codes[i])) {
        while (goes_on(i) && has_kind(codes[i], kUnspaced | kMark)) ++i;
        add_grams(codes, start, i, send);
      } else {
        while (goes_on(i) && !is_unspaced(codes[i])) ++i;
        if (i - start >= rule_.min_length) add(codes, start, i, Origin::word, send);
      }
    }
    return i;
  }

  // Add the 1- and 2-grams of a run; marks stay with their character.
  template <class Send>
  void add_grams(Codes codes, size_t start, size_t end, Send& send) {
    const auto next = [&](size_t at) {
      for (++at; at < end && has_kind(codes[at], kMark); ++at) {
      }
      return at;
    };
    size_t middle = next(start);
    while (middle < end) {
      const size_t last = next(middle);
      add(codes, start, middle, Origin::run, send);
      add(codes, start, last, Origin::run, send);
      start = middle;
      middle = last;
    }
    add(codes, start, end, Origin::run, send);
  }

  template <class Send>
  void add(Codes codes, size_t from, size_t to, Origin origin, Send& send) {
    const bool alone = origin == Origin::run;
    if (count_ == kBatch || alone != alone_) send();
    alone_ = alone;
    text_.make_room(used_ + 4 * (to - from) + 16);  // keys are read 16 bytes at a time
    starts_[count_++] = used_;
    for (size_t i = from; i < to; ++i)
      if (origin != Origin::sign || !is_selector(codes[i])) used_ += encode(lower(codes[i]), text_.data() + used_);
    starts_[count_] = used_;
  }

  uint32_t lower(uint32_t code) const {
    if (!rule_.lowercase) return code;
    if (code == 'I' && rule_.turkish) return 0x131;  // ı
    if (code < 0x80) return code - 'A' < 26 ? code | 0x20 : code;
    return folded(code);
  }

  template <class Table, class Flush>
  void send(const Table& table, Flush& flush) {
    const auto ahead = table.ahead();
    for (unsigned i = 0; i < count_; ++i) {
      set_token(text_.data() + starts_[i], static_cast<uint32_t>(starts_[i + 1] - starts_[i]), batch_[i]);
      ahead.fetch(batch_[i].hash);
    }
    const unsigned n = count_;
    count_ = 0;
    used_ = 0;
    if (n) flush(static_cast<const Token*>(batch_.data()), n, alone_);
  }

  Rule rule_;
  Array<uint8_t> text_;
  std::array<size_t, kBatch + 1> starts_;
  std::array<Token, kBatch> batch_;
  unsigned count_ = 0;
  size_t used_ = 0;
  bool alone_ = false;
};

}  // namespace unnaive
