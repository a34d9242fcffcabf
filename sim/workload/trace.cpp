// A recorded trace: one row a request, in the order of arrival.
#include <fstream>
#include <initializer_list>
#include <string>

#include "units/csv.hpp"
#include "units/error.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

namespace {

struct Row {
  Ticks arrival = 0;
  std::int64_t prompt = 0, output = 0;
};

std::string column_of(const units::CsvReader& csv, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (csv.has(name)) return name;
  }
  throw csv.error(std::string("lacks the column '") + *names.begin() +
                  "'; a trace has arrival_s [s], prompt and output [tokens]");
}

std::int64_t tokens_of(const units::CsvReader& csv, const std::string& column) {
  const double value = csv.number(column, 1, 1e9);
  const auto tokens = static_cast<std::int64_t>(value);
  if (static_cast<double>(tokens) != value) {
    throw csv.error("column '" + column + "': expected a whole number of tokens, got '" +
                    csv.text(column) + "'");
  }
  return tokens;
}

// At most `limit` rows, 0 = all.
std::vector<Row> read_rows(const std::string& path, std::int64_t limit) {
  std::ifstream in(path);
  if (!in) throw InputError(path + ": cannot open the trace", {path, 0, 0});
  units::CsvReader csv(in, path);
  const std::string arrival = column_of(csv, {"arrival_s", "arrival"});
  const std::string prompt = column_of(csv, {"prompt", "prompt_tokens", "input_tokens"});
  const std::string output = column_of(csv, {"output", "output_tokens"});
  std::vector<Row> rows;
  while ((limit == 0 || static_cast<std::int64_t>(rows.size()) < limit) && csv.next()) {
    Row row;
    row.arrival = to_ticks(csv.number(arrival, 0, 1e9));
    row.prompt = tokens_of(csv, prompt);
    row.output = tokens_of(csv, output);
    if (!rows.empty() && row.arrival < rows.back().arrival) {
      throw csv.error("arrives before the row above it: sort the trace by " + arrival);
    }
    rows.push_back(row);
  }
  if (rows.empty()) throw csv.error("ends with no request: expected at least one row");
  if (static_cast<std::int64_t>(rows.size()) < limit) {
    throw InputError(path + ": has " + std::to_string(rows.size()) +
                         " requests, the workload asks for " + std::to_string(limit) +
                         "; lower `requests` or leave it out",
                     {path, csv.line(), 0});
  }
  return rows;
}

class Trace final : public Source {
 public:
  explicit Trace(const catalog::WorkloadSpec& spec)
      : rows_(read_rows(spec.trace, spec.requests)), shared_prefix_(spec.shared_prefix) {}

  std::optional<Request> next_arrival() override {
    if (issued_ >= total()) return std::nullopt;
    const Row& row = rows_[static_cast<std::size_t>(issued_)];
    Request request;
    request.id = issued_++;
    request.arrival = row.arrival;
    request.prompt_tokens = row.prompt;
    request.output_tokens = row.output;
    share_prefix(request, shared_prefix_);
    return request;
  }
  std::optional<Request> on_end(const Request&, Ticks, bool) override { return std::nullopt; }
  [[nodiscard]] std::int64_t total() const override {
    return static_cast<std::int64_t>(rows_.size());
  }

 private:
  std::vector<Row> rows_;
  std::int64_t shared_prefix_;
  std::int64_t issued_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_trace(const catalog::WorkloadSpec& spec) {
  return std::make_unique<Trace>(spec);
}

}  // namespace servegrid::workload
