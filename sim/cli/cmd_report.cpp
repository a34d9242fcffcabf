// `servegrid report` and `servegrid ui`: parts of the Python package.
#include "cli/external.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

int python_command(const std::string& name, const std::string& extra, const Args& args) {
  const std::string program = find_external(name);
  if (program.empty())
    throw RunError("`servegrid " + name + "` is part of the Python package, and servegrid-" + name +
                   " is neither beside this program nor on PATH: pip install 'servegrid[" + extra +
                   "]' (in the source tree: pip install '.[" + extra + "]')");
  run_external(program, args);
}

}  // namespace

int report_command(const Args& args) {
  return python_command("report", "report", args);
}

int ui_command(const Args& args) {
  return python_command("ui", "ui", args);
}

}  // namespace servegrid::cli
