// Rows of C++ records as columns of plain numbers in memory that two processes share, so that a
// million rows cross from the run's process to NumPy without being copied there.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metrics/result.hpp"

namespace servegrid::python {

using Json = nlohmann::ordered_json;

template <typename Row>
struct Column {
  const char *name, *dtype, *unit, *about;
  std::size_t size;  // [B] an element
  std::function<void(const std::vector<Row>&, std::byte*)> write;
};

const std::vector<Column<metrics::RequestRecord>>& request_columns();
const std::vector<Column<metrics::Epoch>>& epoch_columns();

/// What the codes of the column `outcome` stand for, in order.
const std::vector<std::string>& outcome_names();

/// Writes the tables to `file` (a memfd) and describes them: name -> rows, columns with dtype, unit
/// and offset. Throws RunError.
Json write_tables(int file, const metrics::RunResult& result);

}  // namespace servegrid::python
