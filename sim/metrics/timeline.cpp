#include "metrics/timeline.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace servegrid::metrics {

namespace {

// An epoch is packed as a word of 4-bit lengths, then each value's bytes that are not zero, least
// significant first. Ticks are two values, of which the upper one is mostly zero.
constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
constexpr std::size_t most_bytes_of_epoch = 8 + 15 * 8;  // 9 integers, 3 ticks

static_assert(std::endian::native == std::endian::little, "epochs are packed by copying words");

constexpr std::array<std::uint64_t, 9> low_bytes = {0,
                                                    0xff,
                                                    0xffff,
                                                    0xffffff,
                                                    0xffffffff,
                                                    0xffffffffff,
                                                    0xffffffffffff,
                                                    0xffffffffffffff,
                                                    ~std::uint64_t{0}};

class Packer {
 public:
  explicit Packer(unsigned char* to) : start_(to), at_(to + 8) {}
  void word(std::uint64_t value) {
    const int length = (std::bit_width(value) + 7) / 8;
    std::memcpy(at_, &value, 8);
    at_ += length;
    lengths_ |= static_cast<std::uint64_t>(length) << shift_;
    shift_ += 4;
  }
  void operator()(int value) { word(static_cast<std::uint64_t>(value)); }
  void operator()(std::int64_t value) { word(static_cast<std::uint64_t>(value)); }
  void operator()(Ticks value) {
    word(static_cast<std::uint64_t>(value));
    word(static_cast<std::uint64_t>(value >> 64));
  }
  std::size_t finish() {
    std::memcpy(start_, &lengths_, 8);
    return static_cast<std::size_t>(at_ - start_);
  }

 private:
  unsigned char *start_, *at_;
  std::uint64_t lengths_ = 0;
  int shift_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(const unsigned char* from) : start_(from), at_(from + 8) {
    std::memcpy(&lengths_, from, 8);
  }
  std::uint64_t word() {
    const std::size_t length = lengths_ & 15;
    lengths_ >>= 4;
    std::uint64_t value = 0;
    std::memcpy(&value, at_, 8);
    at_ += length;
    return value & low_bytes[length];
  }
  void operator()(int& value) { value = static_cast<int>(word()); }
  void operator()(std::int64_t& value) { value = static_cast<std::int64_t>(word()); }
  void operator()(Ticks& value) {
    const std::uint64_t low = word();
    value = (static_cast<Ticks>(static_cast<std::int64_t>(word())) << 64) | low;
  }
  [[nodiscard]] std::size_t read() const { return static_cast<std::size_t>(at_ - start_); }

 private:
  const unsigned char *start_, *at_;
  std::uint64_t lengths_ = 0;
};

}  // namespace

void Timeline::push_back(const Epoch& epoch, bool keep) {
  sums_.add(epoch);
  if (!keep) return;
  // Words are copied whole: 8 bytes of room behind the last one.
  if (chunks_.empty() || chunks_.back().used + most_bytes_of_epoch + 8 > chunk_bytes) {
    chunks_.push_back({std::make_unique_for_overwrite<unsigned char[]>(chunk_bytes), 0});
  }
  Chunk& chunk = chunks_.back();
  Packer pack(chunk.bytes.get() + chunk.used);
  pack(epoch.start - last_start_);
  Epoch::fields(epoch, pack);
  chunk.used += pack.finish();
  last_start_ = epoch.start;
  ++size_;
}

void Timeline::Iterator::read() {
  if (at_ == (*chunks_)[chunk_].used) {
    ++chunk_;
    at_ = 0;
  }
  Unpacker unpack((*chunks_)[chunk_].bytes.get() + at_);
  Ticks ahead = 0;
  unpack(ahead);
  epoch_.start += ahead;
  Epoch::fields(epoch_, unpack);
  at_ += unpack.read();
}

}  // namespace servegrid::metrics
