// Stage two of `servegrid calibrate`: serving costs of each (GPU, engine) from measured runs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "calibrate/calibrate.hpp"
#include "catalog/engine.hpp"

namespace servegrid::calibrate {

struct ServingOptions {
  std::string measured;           // --serving: CSV of runs (docs/validation.md)
  std::vector<std::string> gpus;  // --gpu: catalogue names; empty = all that the runs name
  std::string output;             // --output: folder of the fit files; empty = only the table
  std::string date;               // written into the files; empty = today
  unsigned threads = 2;           // --jobs; the numbers do not depend on it
  bool bands = true;              // refit without each model in turn, for the error bands
};

/// One line of a `serving` section.
struct ServingLine {
  std::string engine;
  std::string gpu;  // written where it is not the file's own; empty = the file's
  std::size_t rows = 0;
  std::vector<std::string> models;  // catalogue names, sorted; of --bench, what was measured
  catalog::ServingCosts costs;      // with the bands
};

/// Nine numbers, rounded as written.
std::string serving_line_text(const ServingLine& line, const std::string& date);

/// `text` (a fit file) with a `serving` section of `lines`; lines of other engines and GPUs stay.
std::string with_serving(const std::string& text, const std::vector<ServingLine>& lines,
                         const std::string& date);

/// Fits, prints a table of numbers and errors, and writes. Returns the exit code. Throws InputError
/// as validate::read_measured does, and for a GPU that no run names.
int run_calibrate_serving(const ServingOptions& options, std::ostream& out);

}  // namespace servegrid::calibrate
