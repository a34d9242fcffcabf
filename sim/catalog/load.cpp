#include "catalog/load.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "catalog/tree.hpp"

namespace servegrid::catalog {

std::string text_or(const Value& map, std::string_view key, const std::string& otherwise) {
  const Value v = map.find(key);
  return v.present() && !v.is_null() ? v.text() : otherwise;
}

std::vector<std::string> texts_or(const Value& map, std::string_view key) {
  std::vector<std::string> out;
  const Value v = map.find(key);
  if (!v.present()) return out;
  for (const Value& item : v.items()) out.push_back(word(item));
  return out;
}

std::string word(const Value& v) {
  std::string out = v.text();
  if (out.empty()) throw v.error("expected a text, got an empty one");
  return out;
}

Format read_format(const Value& v) {
  try {
    return parse_format(v.text());
  } catch (const InputError& e) {
    if (e.where().line > 0) throw;  // it was no text at all
    throw v.error(e.what());
  }
}

std::vector<Fact> read_facts(const Value& map) {
  std::vector<Fact> out;
  const Value facts = map.find("facts");
  if (!facts.present()) return out;
  for (const Value& item : facts.items()) {
    Fact fact;
    fact.path = word(item.at("path"));
    fact.value = text_or(item, "value");
    fact.source = word(item.at("source"));
    fact.date = text_or(item, "date");
    fact.note = text_or(item, "note");
    item.no_unknown_keys();
    out.push_back(std::move(fact));
  }
  return out;
}

int choice(const Value& v, const std::vector<std::string>& names) {
  const std::string text = v.text();
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<int>(it - names.begin());
  const std::string guess = nearest(text, names);
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  throw v.error(fmt::format("'{}' is none of {}{}", printable(text), all,
                            guess.empty() ? "" : ": did you mean '" + guess + "'?"));
}

}  // namespace servegrid::catalog
