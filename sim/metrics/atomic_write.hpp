// Files that appear whole or not at all.
#pragma once

#include <string>

namespace servegrid::metrics {

/// Writes `content` to a temporary file beside `path`, then renames it over. Throws RunError that
/// names the path and the cause (disk full, read-only, ...); the temporary file is removed then.
void write_file_atomically(const std::string& path, const std::string& content);

}  // namespace servegrid::metrics
