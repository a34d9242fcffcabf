#include "jobs/fork_pool.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <vector>

using namespace servegrid::jobs;
using Catch::Matchers::Contains;

namespace {

bool no_child_left() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
}

}  // namespace

TEST_CASE("results come back whole and in job order", "[jobs]") {
  std::size_t done = 0;
  Options options;
  options.done = [&](std::size_t, const Outcome& outcome) { done += outcome.ok ? 1 : 0; };
  const auto outcomes = run_in_workers(
      9, 3, [](std::size_t i) { return std::string(i * 300000, static_cast<char>('a' + i)); },
      options);
  REQUIRE(outcomes.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(outcomes[i].ok);
    CHECK(outcomes[i].bytes == std::string(i * 300000, static_cast<char>('a' + i)));
  }
  CHECK(done == 9);
  CHECK(no_child_left());
  CHECK(run_in_workers(0, 1, [](std::size_t) { return std::string(); }).empty());
}

TEST_CASE("a worker that fails says how, and the others go on", "[jobs]") {
  const auto outcomes = run_in_workers(5, 2, [](std::size_t i) -> std::string {
    if (i == 0) {
      ::signal(SIGSEGV, SIG_DFL);  // not the handler of Catch2
      ::raise(SIGSEGV);
    }
    if (i == 1) throw std::runtime_error("bad scenario");
    if (i == 2) ::raise(SIGKILL);
    if (i == 3) ::_exit(3);
    return "fine";
  });
  CHECK_FALSE(outcomes[0].ok);
  CHECK_THAT(outcomes[0].error, Contains("signal 11"));
  CHECK(outcomes[1].error == "bad scenario");
  CHECK_THAT(outcomes[2].error, Contains("signal 9") && Contains("memory"));
  CHECK_THAT(outcomes[3].error, Contains("exit code 3"));
  CHECK(outcomes[4].ok);
  CHECK(outcomes[4].bytes == "fine");
  CHECK(no_child_left());
}

TEST_CASE("limits of time and memory are kept", "[jobs]") {
  Options options;
  options.time_limit = 0.1;
  const auto late = run_in_workers(
      1, 1,
      [](std::size_t) {
        ::sleep(30);
        return std::string();
      },
      options);
  CHECK_THAT(late[0].error, Contains("time limit"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes
  options.time_limit = 0;
  options.memory_limit = 512U << 20;
  const auto large = run_in_workers(
      1, 1, [](std::size_t) { return std::string(std::size_t{1} << 30, 'x'); }, options);
  CHECK(large[0].error == "out of memory");
#endif
  CHECK(no_child_left());
}

TEST_CASE("a signal ends the workers and then the caller", "[jobs]") {
  const auto start = std::chrono::steady_clock::now();
  const pid_t caller = ::fork();
  if (caller == 0) {
    ::signal(SIGINT, SIG_DFL);
    run_in_workers(2, 2, [](std::size_t i) {
      if (i == 0) ::kill(::getppid(), SIGINT);
      ::sleep(30);
      return std::string();
    });
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(caller, &status, 0) == caller);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("a host with its own signal handling stops a pool by throwing from poll", "[jobs]") {
  Options options;
  options.handle_signals = false;
  options.poll_interval = 0.01;
  int polls = 0;
  options.poll = [&] {
    if (++polls > 3) throw std::runtime_error("cancelled");
  };
  const auto sleep = [](std::size_t) {
    ::sleep(30);
    return std::string();
  };
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(run_in_workers(2, 2, sleep, options), "cancelled");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(no_child_left());
}

TEST_CASE("the log of a worker that dies comes with its outcome", "[jobs]") {
  Options options;
  options.keep_log = true;
  std::string forks;
  options.before_fork = [&] { forks += 'b'; };
  options.after_fork_parent = [&] { forks += 'p'; };
  options.after_fork_child = [] { static_cast<void>(::write(STDERR_FILENO, "child\n", 6)); };
  const auto outcomes = run_in_workers(
      1, 1,
      [](std::size_t) -> std::string {
        static_cast<void>(::write(STDERR_FILENO, "last words\n", 11));
        ::_exit(7);
      },
      options);
  CHECK_FALSE(outcomes[0].ok);
  CHECK(outcomes[0].log == "child\nlast words\n");
  CHECK(forks == "bp");
}

TEST_CASE("a job may have workers of its own", "[jobs]") {
  const auto inner = [](std::size_t i) { return std::to_string(i); };
  const auto outcomes = run_in_workers(2, 2, [&](std::size_t) {
    std::string all;
    for (const Outcome& one : run_in_workers(3, 2, inner)) all += one.bytes;
    return all;
  });
  REQUIRE(outcomes.size() == 2);
  for (const auto& one : outcomes) CHECK(one.bytes == "012");
}
