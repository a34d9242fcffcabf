#include "workload/traces/json_fields.hpp"

#include <istream>
#include <nlohmann/json.hpp>

#include "units/lines.hpp"

namespace servegrid::workload {

using Json = nlohmann::json;

struct JsonFields::Handler final : Json::json_sax_t {
  explicit Handler(std::vector<JsonField>& f) : fields(f) {}

  bool null() override { return value(0, false); }
  bool boolean(bool b) override { return value(b ? 1 : 0, false); }
  bool number_integer(number_integer_t v) override {
    return value(static_cast<double>(v), true, v);
  }
  bool number_unsigned(number_unsigned_t v) override {
    return value(static_cast<double>(v), true, static_cast<std::int64_t>(v));
  }
  bool number_float(number_float_t v, const string_t&) override { return value(v, true); }
  bool string(string_t& s) override { return value(s.empty() ? 0 : 1, false); }
  bool binary(binary_t&) override { return value(0, false); }
  bool start_object(std::size_t) override { return start(false); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return start(true); }
  bool end_array() override { return end(); }
  bool key(string_t& k) override {
    if (depth != 1) return true;
    field = nullptr;
    for (JsonField& f : fields) {
      if (f.name == k) field = &f;
    }
    if (field != nullptr && field->present) return fail("has '" + field->name + "' twice");
    if (field != nullptr) field->present = true;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return fail("is not valid JSON");
  }

  bool fail(const std::string& what) {
    if (problem.empty()) problem = what;
    return false;
  }
  bool start(bool array) {
    if (depth == 0 && array) return fail("expected an object, got a list");
    if (depth == 1 && field != nullptr) field->list = array;
    inside = depth == 1 && array;
    ++depth;
    return true;
  }
  bool end() {
    --depth;
    inside = false;
    return true;
  }
  bool value(double v, bool number, std::int64_t integer = 0) {
    if (depth == 0) return fail("expected an object");
    if (field == nullptr || !(depth == 1 || (depth == 2 && inside))) return true;
    field->numbers.push_back(v);
    if (number && v == static_cast<double>(integer)) field->integers.push_back(integer);
    return true;
  }

  std::vector<JsonField>& fields;
  JsonField* field = nullptr;  // the one that is being read
  std::int64_t depth = 0;
  bool inside = false;  // a list directly under a key
  std::string problem;
};

namespace {

void clear(std::vector<JsonField>& fields) {
  for (JsonField& f : fields) {
    f.present = f.list = false;
    f.numbers.clear();
    f.integers.clear();
  }
}

}  // namespace

std::string JsonFields::read(std::string_view text) {
  clear(fields_);
  Handler handler(fields_);
  Json::sax_parse(text.begin(), text.end(), &handler);
  return handler.problem;
}

std::string JsonFields::read(std::istream& in) {
  clear(fields_);
  Handler handler(fields_);
  Json::sax_parse(in, &handler);
  return handler.problem;
}

}  // namespace servegrid::workload
