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
