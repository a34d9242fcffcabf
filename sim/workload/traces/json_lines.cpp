#include "workload/traces/json_lines.hpp"

#include <limits>

namespace servegrid::workload {

std::int64_t JsonLines::tokens(std::size_t field) const {
  const JsonField& f = fields_[field];
  if (!f.present || f.list || f.integers.size() != 1 || f.integers[0] < 0 ||
      f.integers[0] > 1'000'000'000) {
    throw lines_.error("'" + f.name + "': expected a whole number of tokens from 0 to 1e9");
  }
  return f.integers[0];
}

bool JsonLines::next(TraceRow& row) {
  do {
    if (!lines_.next(text_)) return false;
  } while (text_.empty() || text_.front() == '#');
  if (const std::string problem = fields_.read(text_); !problem.empty()) {
    throw lines_.error(problem);
  }
  const JsonField& time = fields_[0];
  if (!time.present || time.list || time.numbers.size() != 1 || !(time.numbers[0] >= 0) ||
      time.numbers[0] * unit_ > 1e9) {
    throw lines_.error("'timestamp': expected a time from 0 to 1e9 s");
  }
  row.line = lines_.line();
  row.arrival = time.numbers[0] * unit_;
  row.prompt = tokens(1);
  row.output = tokens(2);
  row.unusable = unusable(row.prompt, row.output);
  const JsonField& hashes = fields_[3];
  if (hashes.present && (!hashes.list || hashes.integers.size() != hashes.numbers.size())) {
    throw lines_.error("'hash_ids': expected a list of whole numbers");
  }
  if (hashes.integers.size() > static_cast<std::size_t>(row.prompt / block_ + 1)) {
    throw lines_.error("has " + std::to_string(hashes.integers.size()) + " hash_ids of " +
                       std::to_string(block_) + " tokens for a prompt of " +
                       std::to_string(row.prompt));
  }
  row.hashes = hashes.integers;
  const auto number = [&](std::size_t i) {
    return fields_[i].numbers.size() == 1 ? fields_[i].numbers[0]
                                          : std::numeric_limits<double>::quiet_NaN();
  };
  more(row, number(4), number(5), number(6));
  return true;
}

}  // namespace servegrid::workload
