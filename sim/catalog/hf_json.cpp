#include "catalog/hf_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "units/json.hpp"

namespace servegrid::catalog {

using nlohmann::json;

namespace {

constexpr std::size_t max_bytes = 4u << 20;

}  // namespace

std::string plain(const std::string& text) {
  std::string out = text.substr(0, 100);
  for (char& c : out) {
    const auto u = static_cast<unsigned char>(c);
    const bool ok = u < 128 && (std::isalnum(u) != 0 ||
                                std::string_view("-_./ +").find(c) != std::string_view::npos);
    if (!ok) c = '?';
  }
  return out;
}

json parse_config(const std::string& text, const std::string& file, bool& odd_numbers) {
  json parsed = units::parse_json(text, file, max_bytes, odd_numbers);
  if (!parsed.is_object()) {
    throw InputError(fmt::format("{}: expected an object, as config.json of a model has", file));
  }
  return parsed;
}

ConfigObject::ConfigObject(const json& object, std::string file, std::string path)
    : object_(&object), file_(std::move(file)), path_(std::move(path)) {}

InputError ConfigObject::error(const std::string& message) const {
  return InputError(fmt::format("{}: {}", file_, message));
}

const json* ConfigObject::find(const std::string& key) const {
  asked_.insert(key);
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

std::optional<std::int64_t> ConfigObject::number(const std::string& key, std::int64_t low,
                                                 std::int64_t high) const {
  const json* v = find(key);
  if (v == nullptr) return {};
  const bool whole = v->is_number_integer();
  const bool large = v->is_number_unsigned() && v->get<std::uint64_t>() > std::uint64_t(high);
  if (!whole || large || v->get<std::int64_t>() < low || v->get<std::int64_t>() > high) {
    throw error(fmt::format("'{}{}' must be a whole number from {} to {}", path_, key, low, high));
  }
  return v->get<std::int64_t>();
}

std::optional<std::int64_t> ConfigObject::number_of(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (const auto n = number(key)) return n;
  }
  return {};
}

std::int64_t ConfigObject::required(const std::vector<std::string>& keys, std::int64_t low) const {
  const auto n = number_of(keys);
  if (!n) throw error(fmt::format("has no '{}{}'", path_, keys.front()));
  if (*n < low) throw error(fmt::format("'{}{}' must be at least {}", path_, keys.front(), low));
  return *n;
}

bool ConfigObject::flag(const std::string& key, bool otherwise) const {
  const json* v = find(key);
  if (v == nullptr) return otherwise;
  if (!v->is_boolean()) throw error(fmt::format("'{}{}' must be true or false", path_, key));
  return v->get<bool>();
}

std::string ConfigObject::text(const std::string& key, const std::string& otherwise) const {
  const json* v = find(key);
  if (v == nullptr) return otherwise;
  if (!v->is_string()) throw error(fmt::format("'{}{}' must be text", path_, key));
  return v->get<std::string>();
}

std::vector<std::string> ConfigObject::texts(const std::string& key) const {
  std::vector<std::string> out;
  const json* v = find(key);
  if (v == nullptr) return out;
  if (!v->is_array()) throw error(fmt::format("'{}{}' must be a list of texts", path_, key));
  for (const json& item : *v) {
    if (!item.is_string()) throw error(fmt::format("'{}{}' must hold texts", path_, key));
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<std::int64_t> ConfigObject::numbers(const std::string& key) const {
  std::vector<std::int64_t> out;
  const json* v = find(key);
  if (v == nullptr) return out;
  if (!v->is_array()) throw error(fmt::format("'{}{}' must be a list of numbers", path_, key));
  for (const json& item : *v) {
    if (!item.is_number_integer()) {
      throw error(fmt::format("'{}{}' must hold whole numbers", path_, key));
    }
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

std::vector<std::string> ConfigObject::unread() const {
  // What is 0, false or empty asks for nothing.
  const auto asks = [](const json& v) {
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number()) return v.get<double>() != 0;
    return !v.empty() && !(v.is_string() && v.get_ref<const std::string&>().empty());
  };
  std::vector<std::string> out;
  for (const auto& [key, value] : object_->items()) {
    if (!asked_.contains(key) && asks(value)) out.push_back(key);
  }
  return out;
}

}  // namespace servegrid::catalog
