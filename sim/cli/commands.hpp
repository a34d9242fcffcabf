// The subcommands: one file each. A command gets the arguments after its verb and returns the exit
// code.
#pragma once

#include <string>
#include <vector>

namespace servegrid::cli {

using Args = std::vector<std::string>;

struct Command {
  const char* name;
  const char* summary;  // one line of `servegrid help`
  int (*run)(const Args& args);
};

/// All commands, in the order help lists them.
const std::vector<Command>& commands();

int run_command(const Args& args);
int size_command(const Args& args);
int capacity_command(const Args& args);
int plan_command(const Args& args);
int tune_command(const Args& args);
int import_command(const Args& args);
int compare_command(const Args& args);
int sweep_command(const Args& args);
int explain_command(const Args& args);
int platform_command(const Args& args);
int catalog_command(const Args& args);
int model_command(const Args& args);
int new_command(const Args& args);
int report_command(const Args& args);
int ui_command(const Args& args);
int diff_command(const Args& args);
int calibrate_command(const Args& args);
int validate_command(const Args& args);
int workload_command(const Args& args);
int completion_command(const Args& args);
int help_command(const Args& args);

}  // namespace servegrid::cli
