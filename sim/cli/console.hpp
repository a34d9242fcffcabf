// What reaches the terminal: standard output checked for errors, progress on standard error.
#pragma once

#include <string>
#include <string_view>

namespace servegrid::cli {

/// Thrown when the reader of standard output has gone away; main() ends quietly.
struct BrokenPipe {};

/// Writes to standard output. Throws BrokenPipe, or RunError when it cannot be written (disk full).
void print(std::string_view text);

/// The same for a terminal: nothing in it can move the cursor, change colours or reverse the
/// writing, whatever names it holds; longer lines are cut.
std::string harmless(std::string_view text, std::size_t longest_line = std::string_view::npos);

/// A line "points done/total" on standard error, only when that is a terminal and not `quiet`.
class Progress {
 public:
  Progress(std::string what, std::size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();

 private:
  void show() const;
  std::string what_;
  std::size_t total_, done_ = 0;
  bool on_;
};

/// Terminal interrupts end the process with exit code 130. While a guard lives they wait, so that a
/// result folder is renamed into place whole or not at all.
void end_on_interrupt();
class HoldInterrupts {
 public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;
};

}  // namespace servegrid::cli
