// Words of a shell command and small readers shared by the importers. Private to the module.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"

namespace servegrid::importer {

constexpr std::size_t max_text = 64u << 20;  // [B] of any source

/// Commands of a shell text: quotes, escapes, continued lines, comments, `;`, `&&`, `|`; a here
/// document is the words of its own command "<<FILE" followed by its text. Throws InputError for an
/// unterminated quote.
std::vector<std::vector<std::string>> shell_commands(const std::string& text,
                                                     const std::string& file);

/// Lines without their line ends.
std::vector<std::string_view> lines_of(const std::string& text);

/// "8192", "8k" (1000) or "8K" (1024) as vLLM's flags take them; nullopt otherwise.
std::optional<std::int64_t> whole_number(std::string_view text);
/// "437,760" too; at the start of the text.
std::optional<double> leading_number(std::string_view text);

/// What follows `marker` in the text, or empty.
std::string_view after(std::string_view text, std::string_view marker);

/// Text that is safe to show: control characters replaced, at most 80 bytes.
std::string shown(std::string_view text);

/// Weights format that a checkpoint's name or a quantisation word says, as the catalogue writes it.
std::optional<std::string> quantisation(std::string_view word);

}  // namespace servegrid::importer
