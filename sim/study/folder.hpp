// Result folders: written whole or not at all, and never over anything that is not a result.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/text_out.hpp"
#include "study/run.hpp"

namespace servegrid::study {

/// Throws InputError when `path` exists and is not an empty folder or a result folder.
void check_output_folder(const std::string& path);

/// What a file holds: text, or something that writes it in pieces (long tables).
class Content {
 public:
  Content(std::string text) : text_(std::move(text)) {}  // NOLINT: a text is a content
  Content(const char* text) : text_(text) {}             // NOLINT
  template <std::invocable<metrics::TextOut&> Write>
  Content(Write write) : write_(std::move(write)) {}  // NOLINT
  void write(metrics::TextOut& out) const { write_ ? write_(out) : out.put(text_); }

 private:
  std::string text_;
  std::function<void(metrics::TextOut&)> write_;
};

/// Name and content of each file. Replaces a result folder that is there. Throws RunError when it
/// cannot be written; nothing is left behind then.
using Files = std::vector<std::pair<std::string, Content>>;
void write_folder(const std::string& path, const Files& files);

/// summary.json, requests.csv, timeline.csv, scenario.resolved.yaml of one run; the tables only
/// when it kept them.
void write_run(const std::string& path, const catalog::Scenario& scenario, const Point& point,
               const metrics::RunResult& result);

}  // namespace servegrid::study
