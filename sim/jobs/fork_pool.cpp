#include "jobs/fork_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>

#include "units/error.hpp"

namespace servegrid::jobs {

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;  // the signal, 0 = none

// Pipe and fork are one act: a child forked by another thread in between would hold the pipe's
// writing end, and its end would not be seen.
std::mutex fork_mutex;

constexpr off_t log_limit = 64 << 10;  // [B] of a worker's log that are kept

void on_interrupt(int signal) {
  interrupted = signal;
}

// SIGINT and SIGTERM set `interrupted` while this lives.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~InterruptGuard() { restore(); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  void restore() const {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }

 private:
  struct sigaction interrupt_ {
  }, terminate_{};
};

struct Worker {
  std::size_t job = 0;
  pid_t pid = -1;
  int pipe = -1;
  int log = -1;
  std::string received;
  Clock::time_point deadline;
  bool timed_out = false;
};

// A message starts with one of these; what follows is the result or the error.
constexpr char tag_result = 'R', tag_error = 'E';

bool write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(file, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool send(int file, char tag, const std::string& text) {
  return write_all(file, &tag, 1) && write_all(file, text.data(), text.size());
}

[[noreturn]] void work(int file, int log, pid_t parent, std::size_t index,
                       const std::function<std::string(std::size_t)>& job, const Options& options) {
  // A worker ends with its parent, and by the default action of a signal.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  std::signal(SIGINT, options.handle_signals ? SIG_DFL : SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  if (log >= 0) ::dup2(log, STDERR_FILENO);
  const struct rlimit no_core { 0, 0 };
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (options.memory_limit > 0) {
    const struct rlimit limit { options.memory_limit, options.memory_limit };
    ::setrlimit(RLIMIT_AS, &limit);
  }
  bool sent = false;
  try {
    if (options.after_fork_child) options.after_fork_child();
    sent = send(file, tag_result, job(index));
  } catch (const std::bad_alloc&) {
    sent = send(file, tag_error, "out of memory");
  } catch (const std::exception& e) {
    sent = send(file, tag_error, e.what());
  } catch (...) {
    sent = send(file, tag_error, "unknown exception");
  }
  std::fflush(nullptr);
  ::_exit(sent ? 0 : 1);  // no destructors of what the parent owns
}

std::string describe_end(const Worker& worker, int status, const Options& options) {
  const std::string who = "worker of job " + std::to_string(worker.job);
  if (worker.timed_out) {
    return who + " was stopped after its time limit of " + std::to_string(options.time_limit) +
           " s";
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    std::string text =
        who + " was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
    if (signal == SIGKILL) text += "; the system may have run out of memory";
    return text;
  }
  return who + " ended with exit code " + std::to_string(WEXITSTATUS(status)) +
         " before it sent its whole result";
}

class Pool {
 public:
  Pool(const std::function<std::string(std::size_t)>& job, const Options& options)
      : job_(job), options_(options) {}
  ~Pool() { kill_all(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::vector<Outcome> run(std::size_t n_jobs, std::size_t n_workers) {
    outcomes_.resize(n_jobs);
    std::size_t next = 0;
    while (next < n_jobs || !workers_.empty()) {
      while (!stopped() && next < n_jobs && workers_.size() < n_workers) start(next++);
      if (stopped()) return {};
      wait();
      if (options_.poll) options_.poll();
    }
    return std::move(outcomes_);
  }

  void kill_all() {
    for (Worker& worker : workers_) ::kill(worker.pid, SIGKILL);
    for (Worker& worker : workers_) {
      reap(worker);
      ::close(worker.pipe);
      if (worker.log >= 0) ::close(worker.log);
    }
    workers_.clear();
  }

 private:
  [[nodiscard]] bool stopped() const { return options_.handle_signals && interrupted != 0; }

  void start(std::size_t index) {
    Worker worker;
    worker.job = index;
    if (options_.keep_log) worker.log = ::memfd_create("servegrid-log", MFD_CLOEXEC);
    if (options_.before_fork) options_.before_fork();
    std::string failure;
    {
      const std::lock_guard<std::mutex> lock(fork_mutex);
      failure = spawn(worker);
    }
    if (options_.after_fork_parent) options_.after_fork_parent();
    if (!failure.empty()) {
      if (worker.log >= 0) ::close(worker.log);
      throw RunError(failure);
    }
    worker.deadline = Clock::now() + std::chrono::milliseconds(
                                         static_cast<std::int64_t>(options_.time_limit * 1e3));
    workers_.push_back(std::move(worker));
  }

  // Makes the pipe and the child; what went wrong, or empty.
  std::string spawn(Worker& worker) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return std::string("cannot make a pipe for a worker: ") + std::strerror(errno);
    }
    std::fflush(nullptr);  // or the child would print what is buffered again
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
      const int error = errno;
      ::close(ends[0]);
      ::close(ends[1]);
      return std::string("cannot start a worker: ") + std::strerror(error);
    }
    if (pid == 0) {
      fork_mutex.unlock();  // taken by this thread; the job may have workers of its own
      ::close(ends[0]);
      for (const Worker& other : workers_) ::close(other.pipe);
      work(ends[1], worker.log, parent, worker.job, job_, options_);
    }
    ::close(ends[1]);
    worker.pid = pid;
    worker.pipe = ends[0];
    return {};
  }

  // Until a pipe has something, a deadline passes or a signal comes.
  void wait() {
    std::vector<pollfd> polled;
    int timeout = 1000;  // [ms]; a signal just before poll() is noticed after this at the latest
    if (options_.poll) timeout = std::max(1, static_cast<int>(options_.poll_interval * 1e3));
    for (const Worker& worker : workers_) {
      polled.push_back({worker.pipe, POLLIN, 0});
      if (options_.time_limit > 0 && !worker.timed_out) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(worker.deadline - Clock::now());
        const auto ms = static_cast<int>(std::min<std::int64_t>(left.count() + 1, timeout));
        timeout = std::max(0, ms);
      }
    }
    const int ready = ::poll(polled.data(), polled.size(), timeout);
    if (ready < 0 && errno != EINTR) {
      throw RunError(std::string("cannot wait for workers: ") + std::strerror(errno));
    }
    if (stopped()) return;
    std::vector<std::size_t> ended;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (ready > 0 && polled[i].revents != 0 && !receive(workers_[i])) ended.push_back(i);
    }
    for (std::size_t k = ended.size(); k > 0; --k) finish(ended[k - 1]);
    enforce_deadlines();
  }

  void enforce_deadlines() {
    if (options_.time_limit <= 0) return;
    for (Worker& worker : workers_) {
      if (worker.timed_out || Clock::now() < worker.deadline) continue;
      worker.timed_out = true;
      ::kill(worker.pid, SIGKILL);
    }
  }

  // False at the end of the stream.
  static bool receive(Worker& worker) {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t n = ::read(worker.pipe, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      worker.received.append(buffer, static_cast<std::size_t>(n));
      return true;
    }
  }

  static int reap(const Worker& worker) {
    int status = 0;
    while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  static std::string end_of_log(int file) {
    const off_t size = ::lseek(file, 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, log_limit)), '\0');
    const ssize_t n = ::pread(file, text.data(), text.size(), std::max<off_t>(0, size - log_limit));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, n)));
    return text;
  }

  void finish(std::size_t place) {
    Worker worker = std::move(workers_[place]);
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(place));
    ::close(worker.pipe);
    const int status = reap(worker);
    Outcome& outcome = outcomes_[worker.job];
    if (worker.log >= 0) {
      outcome.log = end_of_log(worker.log);
      ::close(worker.log);
    }
    const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !worker.received.empty();
    if (!whole) {
      outcome.error = describe_end(worker, status, options_);
    } else {
      outcome.ok = worker.received.front() == tag_result;
      (outcome.ok ? outcome.bytes : outcome.error) = worker.received.substr(1);
    }
    if (options_.done) options_.done(worker.job, outcome);
  }

  const std::function<std::string(std::size_t)>& job_;
  const Options& options_;
  std::vector<Worker> workers_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::vector<Outcome> run_in_workers(std::size_t n_jobs, std::size_t n_workers,
                                    const std::function<std::string(std::size_t)>& job,
                                    const Options& options) {
  if (n_workers == 0) throw RunError("the fork pool needs at least one worker");
  std::optional<InterruptGuard> guard;
  if (options.handle_signals) guard.emplace();
  Pool pool(job, options);
  std::vector<Outcome> outcomes = pool.run(n_jobs, n_workers);
  if (options.handle_signals && interrupted != 0) {
    const int signal = interrupted;
    pool.kill_all();
    guard->restore();
    std::raise(signal);
    throw RunError("interrupted");  // when the caller's handler returned
  }
  return outcomes;
}

}  // namespace servegrid::jobs
