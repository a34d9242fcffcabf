// The one exception family. Each error says where, what is wrong and what to do about it.
#pragma once

#include <stdexcept>
#include <string>

namespace servegrid {

/// Exit codes of the command.
enum class Exit { done = 0, run_failed = 1, bad_input = 2, infeasible = 3 };

/// A place in an input file; line and column count from 1, 0 means "not known".
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

/// Base of all errors that a user is meant to read; `what()` is the whole message.
class Error : public std::runtime_error {
 public:
  Error(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

/// Bad input: file:line:column, the line with a caret (when known), what was expected, what to do.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message, Location where = {})
      : Error(Exit::bad_input, message), where_(std::move(where)) {}
  [[nodiscard]] const Location& where() const { return where_; }

 private:
  Location where_;
};

/// What was asked for cannot be: does not fit in memory, engine does not run on the GPU, ...
class InfeasibleError : public Error {
 public:
  explicit InfeasibleError(const std::string& message) : Error(Exit::infeasible, message) {}
};

/// A run failed for a reason that is not the input's: disk full, worker killed, internal invariant
/// broken.
class RunError : public Error {
 public:
  explicit RunError(const std::string& message) : Error(Exit::run_failed, message) {}
};

}  // namespace servegrid
