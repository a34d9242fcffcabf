#include "catalog/reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string_view kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::absent:
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a single value";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}

std::string unknown_key(const Node& child, const std::vector<std::string>& known) {
  const std::string guess = nearest(child.key, known);
  std::string message = fmt::format("unknown key '{}'", printable(child.key));
  if (!guess.empty()) message += fmt::format(": did you mean '{}'?", guess);
  return known.empty() ? message + " (nothing is expected here)"
                       : message + " (known here: " + list_of(known) + ")";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  if (word.size() > 100) return best;
  std::size_t distance = 2 + word.size() / 3;
  for (const std::string& candidate : known) {
    if (candidate.size() > 200) continue;
    const std::size_t d = edit_distance(word, candidate);
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

Value Value::from_file(const std::string& path, const ReadLimits& limits) {
  Value value;
  value.tree_ = parse_yaml(read_source(path, limits), limits);
  value.node_ = 0;
  return value;
}

Value Value::from_text(const std::string& text, const std::string& file, const ReadLimits& limits) {
  Value value;
  value.tree_ = parse_yaml(std::make_shared<const Source>(Source{file, text}), limits);
  value.node_ = 0;
  return value;
}

Node& Value::node() const {
  return tree_->nodes[static_cast<std::size_t>(node_)];
}

Value Value::view(int index) const {
  Value value;
  value.tree_ = tree_;
  value.node_ = index;
  return value;
}

bool Value::is_map() const {
  return node_ >= 0 && node().kind == Node::Kind::map;
}
bool Value::is_list() const {
  return node_ >= 0 && node().kind == Node::Kind::list;
}
bool Value::is_scalar() const {
  return node_ >= 0 && node().kind == Node::Kind::scalar;
}
bool Value::is_null() const {
  return node_ >= 0 && node().kind == Node::Kind::null;
}
bool Value::present() const {
  return node_ >= 0 && node().kind != Node::Kind::absent;
}

Value Value::find(std::string_view key) const {
  if (!is_map()) {
    throw error(fmt::format("expected a map (key: value), got {}",
                            node_ < 0 ? "nothing" : kind_name(node().kind)));
  }
  auto& asked = node().asked;
  if (std::find(asked.begin(), asked.end(), key) == asked.end()) asked.emplace_back(key);
  const int child = tree_->child(node_, key);
  if (child >= 0) {
    tree_->nodes[static_cast<std::size_t>(child)].known = true;
    return view(child);
  }
  Node missing;
  missing.key = key;
  missing.source = node().source;
  missing.line = node().line;
  missing.column = node().column;
  return view(tree_->add(std::move(missing), node_));
}

Value Value::at(std::string_view key) const {
  Value value = find(key);
  if (value.present()) return value;
  for (const int child : node().children) {  // a misspelt required key is both unknown and missing
    const Node& c = tree_->nodes[static_cast<std::size_t>(child)];
    if (!c.known && nearest(c.key, {std::string(key)}) == key) {
      throw error_at(*c.source, c.key_line, c.key_column, unknown_key(c, {std::string(key)}));
    }
  }
  throw error(fmt::format("lacks the key '{}'{}", key, path().empty() ? "" : " in " + path()));
}

void Value::no_unknown_keys() const {
  for (const int child : node().children) {
    const Node& c = tree_->nodes[static_cast<std::size_t>(child)];
    if (c.known) continue;
    throw error_at(*c.source, c.key_line, c.key_column, unknown_key(c, node().asked));
  }
}

std::vector<Value> Value::items() const {
  if (!is_list()) {
    throw error(fmt::format("expected a list ([a, b]), got {}",
                            node_ < 0 ? "nothing" : kind_name(node().kind)));
  }
  std::vector<Value> out;
  for (const int child : node().children) out.push_back(view(child));
  return out;
}

std::vector<std::pair<std::string, Value>> Value::entries() const {
  if (!is_map()) {
    throw error(fmt::format("expected a map (key: value), got {}",
                            node_ < 0 ? "nothing" : kind_name(node().kind)));
  }
  std::vector<std::pair<std::string, Value>> out;
  for (const int child : node().children) {
    Node& c = tree_->nodes[static_cast<std::size_t>(child)];
    c.known = true;
    out.emplace_back(c.key, view(child));
  }
  return out;
}

std::string Value::text() const {
  if (!is_scalar()) {
    throw error(fmt::format("expected a single value, got {}",
                            node_ < 0 ? "nothing" : kind_name(node().kind)));
  }
  return node().text;
}

bool Value::boolean() const {
  const std::string word = text();
  if (word == "true") return true;
  if (word == "false") return false;
  throw error(fmt::format("expected true or false, got '{}'", printable(word)));
}

std::int64_t Value::integer(std::int64_t low, std::int64_t high) const {
  const std::string word = text();
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::size_t sign = word.starts_with('-') ? 1 : 0;
  if (word.size() > sign + 1 && word[sign] == '0' && end == word.data() + word.size()) {
    throw error(fmt::format("'{}' has leading zeros: write it without them", printable(word)));
  }
  const std::string range = fmt::format("between {} and {}", low, high);
  if (ec == std::errc::result_out_of_range && end == word.data() + word.size()) {
    throw error(fmt::format("must be {}, got {}", range, printable(word)));
  }
  if (ec != std::errc() || end != word.data() + word.size()) {
    throw error(fmt::format("expected a whole number {}, got '{}'", range, printable(word)));
  }
  if (value < low || value > high) {
    throw error(fmt::format("must be {}, got {}", range, value));
  }
  return value;
}

double Value::number(double low, double high) const {
  const std::string word = text();
  double value = 0;
  if (word.empty() || units::scan_number(word, value) != word.size() || !std::isfinite(value)) {
    throw error(fmt::format("expected a finite number, got '{}'", printable(word)));
  }
  if (value < low || value > high) {
    throw error(fmt::format("must be between {:g} and {:g}, got {}", low, high, printable(word)));
  }
  return value;
}

double Value::quantity(units::Dimension d, double low, double high) const {
  const std::string word = text();
  double value = 0;
  try {
    value = units::parse(word, d);
  } catch (const InputError& e) {
    throw error(e.what());
  }
  if (value < low || value > high) {
    throw error(fmt::format("must be between {} and {}, got '{}'", units::format(low, d),
                            units::format(high, d), printable(word)));
  }
  return value;
}

Location Value::where() const {
  if (node_ < 0) return {};
  const Node& n = node();
  return {n.source->file, n.line, n.column};
}

InputError Value::error(const std::string& message) const {
  if (node_ < 0) return InputError(message);
  const Location place = where();
  return error_at(*node().source, place.line, place.column, message);
}

std::string Value::path() const {
  std::string out;
  for (int i = node_; i >= 0;) {
    const Node& n = tree_->nodes[static_cast<std::size_t>(i)];
    if (n.parent < 0) break;
    const Node& parent = tree_->nodes[static_cast<std::size_t>(n.parent)];
    std::string step = n.key;
    if (parent.kind == Node::Kind::list) {
      const auto at = std::find(parent.children.begin(), parent.children.end(), i);
      step = std::to_string(at - parent.children.begin());
    }
    out = out.empty() ? step : step + "." + out;
    i = n.parent;
  }
  return out;
}

std::string Value::dump() const {
  return node_ < 0 ? "" : block_text(*tree_, node_);
}
std::string Value::flow() const {
  return node_ < 0 ? "" : flow_text(*tree_, node_);
}

Value Value::clone() const {
  Value copy;
  copy.tree_ = std::make_shared<Tree>();
  copy.node_ = copy.tree_->graft(*tree_, node_, -1);
  return copy;
}

}  // namespace servegrid::catalog
