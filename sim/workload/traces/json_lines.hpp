// Traces of one JSON object a line, with the hash ids of the prompt's blocks.
#pragma once

#include <cmath>
#include <string>

#include "workload/traces/json_fields.hpp"
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

class JsonLines : public TraceReader {
 public:
  /// `unit`: of the timestamps [s]; `block`: tokens of a hash block.
  JsonLines(std::istream& in, const catalog::TraceSpec& spec, double unit, std::int64_t block)
      : lines_(in, spec.file), unit_(unit), block_(block) {}

  [[nodiscard]] std::int64_t hash_tokens() const final { return block_; }

  bool next(TraceRow& row) final;

 protected:
  /// Fills what the format has beside the common fields; `field`: its number of "turn",
  /// "chat_id" ..., NaN where it is absent.
  virtual void more(TraceRow& row, double chat, double parent, double turn) = 0;

 private:
  [[nodiscard]] std::int64_t tokens(std::size_t field) const;

  units::LineReader lines_;
  double unit_;
  std::int64_t block_;
  std::string text_;
  JsonFields fields_{"timestamp", "input_length",   "output_length", "hash_ids",
                     "chat_id",   "parent_chat_id", "turn"};
};

}  // namespace servegrid::workload
