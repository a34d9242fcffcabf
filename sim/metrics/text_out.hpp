// Text in pieces to wherever it goes, so that a file of any length needs little memory; numbers are
// written from integers, the same everywhere.
#pragma once

#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include "units/time.hpp"

namespace servegrid::metrics {

class TextOut {
 public:
  using Sink = std::function<void(std::string_view)>;
  explicit TextOut(Sink sink)
      : sink_(std::move(sink)), buffer_(std::make_unique_for_overwrite<char[]>(size)) {}
  TextOut(const TextOut&) = delete;
  TextOut& operator=(const TextOut&) = delete;

  void put(char c) {
    make_room(1);
    buffer_[used_++] = c;
  }
  void put(std::string_view text) {
    if (text.size() > size / 2) {
      finish();
      sink_(text);
      return;
    }
    make_room(text.size());
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void put(std::int64_t value) {
    make_room(most_of_a_number);
    char* const at = buffer_.get() + used_;
    if (value >= 0 && value < 10) {
      *at = static_cast<char>('0' + value);
      ++used_;
      return;
    }
    used_ += static_cast<std::size_t>(std::to_chars(at, at + most_of_a_number, value).ptr - at);
  }
  /// The integers, each with a comma behind it.
  template <class... Integers>
  void put_fields(Integers... values) {
    ((put(static_cast<std::int64_t>(values)), put(',')), ...);
  }
  /// Seconds with 9 decimals, rounded to nearest.
  void put_time(Ticks t);
  /// Hands on what is left; not done by the destructor, because a sink may throw.
  void finish() {
    if (used_ > 0) sink_({buffer_.get(), used_});
    used_ = 0;
  }

 private:
  static void put_four(char* at, std::uint32_t number) {
    const std::uint32_t high = number / 100, low = number % 100;
    at[0] = static_cast<char>('0' + high / 10);
    at[1] = static_cast<char>('0' + high % 10);
    at[2] = static_cast<char>('0' + low / 10);
    at[3] = static_cast<char>('0' + low % 10);
  }
  static constexpr std::size_t size = std::size_t{1} << 18;
  static constexpr std::size_t most_of_a_number = 32;
  void make_room(std::size_t bytes) {
    if (used_ + bytes > size) finish();
  }

  Sink sink_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

inline void TextOut::put_time(Ticks t) {
  constexpr std::uint64_t per_second = 1'000'000'000;  // nanoseconds: the 9 decimals
  if (t < 0) {
    put('-');
    t = -t;
  }
  constexpr Ticks mask = (static_cast<Ticks>(1) << ticks_log2_per_second) - 1;
  constexpr Ticks half = static_cast<Ticks>(1) << (ticks_log2_per_second - 1);
  auto whole = static_cast<std::int64_t>(t >> ticks_log2_per_second);
  auto fraction =
      static_cast<std::uint64_t>(((t & mask) * per_second + half) >> ticks_log2_per_second);
  if (fraction == per_second) {
    ++whole;
    fraction = 0;
  }
  put(whole);
  make_room(10);
  char* const at = buffer_.get() + used_;
  at[0] = '.';
  // 1 + 4 + 4 digits: short chains of divisions.
  const auto high = static_cast<std::uint32_t>(fraction / 10'000);
  put_four(at + 6, static_cast<std::uint32_t>(fraction - std::uint64_t{high} * 10'000));
  put_four(at + 2, high % 10'000);
  at[1] = static_cast<char>('0' + high / 10'000);
  used_ += 10;
}

}  // namespace servegrid::metrics
