// Commands that live outside this program, found as git finds its own: `servegrid-NAME` beside it
// or on PATH.
#pragma once

#include <string>

#include "cli/commands.hpp"

namespace servegrid::cli {

/// Path of the program `servegrid-NAME`; empty when there is none. A name with a slash has none.
std::string find_external(const std::string& name);

/// Replaces this process by it. Throws RunError when it cannot be started.
[[noreturn]] void run_external(const std::string& program, const Args& args);

}  // namespace servegrid::cli
