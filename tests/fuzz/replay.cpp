// A fuzz target without a fuzzer, for any compiler: its corpus, and each file of it changed a
// number of times by the same dice. replay_NAME FOLDER TIMES
#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

class Dice {
 public:
  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : boost::random::uniform_int_distribution<std::size_t>(0, n - 1)(rng_);
  }

 private:
  boost::random::mt19937 rng_{1};
};

const std::vector<std::string> tokens = {"-1",
                                         "0",
                                         "1e308",
                                         "9223372036854775808",
                                         ".nan",
                                         "null",
                                         "[",
                                         "{",
                                         "}",
                                         "]",
                                         ":",
                                         ",",
                                         "\n",
                                         "\"",
                                         "&a ",
                                         "*a ",
                                         "#",
                                         std::string(1, '\0'),
                                         "\xff",
                                         "\\u0",
                                         "<<: ",
                                         "!!binary ",
                                         "? ",
                                         "---",
                                         "\t",
                                         " ",
                                         "0x7fffffffffffffff"};

// One to four changes: a piece gone, doubled, from elsewhere or overwritten, a byte or a token put
// in.
std::string changed(std::string text, const std::string& other, Dice& dice) {
  for (std::size_t n = 1 + dice.below(4); n > 0; --n) {
    const std::size_t at = dice.below(text.size() + 1);
    const std::size_t length = dice.below(std::min<std::size_t>(text.size() - at, 24) + 1);
    switch (dice.below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.insert(at, other.substr(dice.below(other.size() + 1), dice.below(24)));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(dice.below(256));
        break;
      case 4:
        text.insert(at, tokens[dice.below(tokens.size())]);
        break;
      default:
        text.replace(at, length, tokens[dice.below(tokens.size())]);
        break;
    }
  }
  return text;
}

void live(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::string> names, corpus;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    std::ifstream in(name, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    live(corpus.back());
  }
  if (corpus.empty()) return 2;
  Dice dice;
  const long times = std::atol(argv[2]);
  for (long i = 0; i < times; ++i) {
    live(changed(corpus[dice.below(corpus.size())], corpus[dice.below(corpus.size())], dice));
  }
  std::printf("%zu files, %ld changed ones\n", corpus.size(), times);
  return 0;
}
