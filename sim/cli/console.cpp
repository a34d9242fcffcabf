#include "cli/console.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "units/error.hpp"

namespace servegrid::cli {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE) {
      throw BrokenPipe{};
    } else if (errno != EINTR) {
      throw RunError(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
}

namespace {

// Bytes at `at` that a terminal would obey: control characters, C1 controls (U+0080 to U+009F) and
// what changes the direction of writing (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
std::size_t obeyed(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  if ((byte(0) < 0x20 && byte(0) != '\n' && byte(0) != '\t') || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;
  if (byte(0) != 0xe2) return 0;
  const bool marks = byte(1) == 0x80 &&
                     (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae));
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  return marks || isolates ? 3 : 0;
}

}  // namespace

std::string harmless(std::string_view text, std::size_t longest_line) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    column = text[i] == '\n' ? 0 : column + 1;
    if (column > longest_line) {
      if (column == longest_line + 1) out += "...";
      continue;
    }
    const std::size_t bytes = obeyed(text, i);
    out += bytes > 0 ? '?' : text[i];
    if (bytes > 1) i += bytes - 1;
  }
  return out;
}

Progress::Progress(std::string what, std::size_t total, bool quiet)
    : what_(std::move(what)), total_(total), on_(!quiet && ::isatty(STDERR_FILENO) == 1) {
  show();
}

Progress::~Progress() {
  if (on_) std::fputs("\r\033[K", stderr);
}

void Progress::step() {
  ++done_;
  show();
}

void Progress::show() const {
  if (on_) std::fprintf(stderr, "\r%s %zu/%zu", what_.c_str(), done_, total_);
}

namespace {
constexpr int exit_interrupted = 130;  // 128 + SIGINT, as shells report it

extern "C" void on_interrupt(int) {
  ::_exit(exit_interrupted);
}

void mask_interrupts(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(how, &set, nullptr);
}
}  // namespace

void end_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // print() sees EPIPE
}

HoldInterrupts::HoldInterrupts() {
  mask_interrupts(SIG_BLOCK);
}
HoldInterrupts::~HoldInterrupts() {
  mask_interrupts(SIG_UNBLOCK);
}

}  // namespace servegrid::cli
