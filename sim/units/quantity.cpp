#include "units/quantity.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include "units/error.hpp"

namespace servegrid::units {

namespace {

/// A unit: value = number * times / per (both exact in a double, so that "10 ms" is 0.01).
struct Unit {
  std::string_view name;
  double times;
  double per = 1;
  bool write = false;  // may be chosen for output
};

constexpr double ki = 1024, mi = ki * 1024, gi = mi * 1024, ti = gi * 1024;

constexpr Unit byte_units[] = {
    {"B", 1, 1, true},    {"kB", 1e3, 1, true},  {"KB", 1e3},           {"MB", 1e6, 1, true},
    {"GB", 1e9, 1, true}, {"TB", 1e12, 1, true}, {"PB", 1e15, 1, true}, {"KiB", ki},
    {"MiB", mi},          {"GiB", gi},           {"TiB", ti},           {"byte", 1},
    {"bytes", 1},
};
constexpr Unit bandwidth_units[] = {
    {"B/s", 1, 1, true},     {"kB/s", 1e3, 1, true}, {"KB/s", 1e3},
    {"MB/s", 1e6, 1, true},  {"GB/s", 1e9, 1, true}, {"TB/s", 1e12, 1, true},
    {"PB/s", 1e15, 1, true}, {"KiB/s", ki},          {"MiB/s", mi},
    {"GiB/s", gi},           {"TiB/s", ti},          {"b/s", 1, 8},
    {"kb/s", 1e3, 8},        {"Mb/s", 1e6, 8},       {"Gb/s", 1e9, 8},
    {"Tb/s", 1e12, 8},       {"Mbit/s", 1e6, 8},     {"Gbit/s", 1e9, 8},
    {"Tbit/s", 1e12, 8},     {"Mbps", 1e6, 8},       {"Gbps", 1e9, 8},
    {"Tbps", 1e12, 8},
};
constexpr Unit flops_units[] = {
    {"FLOPS", 1, 1, true},
    {"kFLOPS", 1e3, 1, true},
    {"MFLOPS", 1e6, 1, true},
    {"GFLOPS", 1e9, 1, true},
    {"TFLOPS", 1e12, 1, true},
    {"PFLOPS", 1e15, 1, true},
    {"EFLOPS", 1e18, 1, true},
    {"FLOP/s", 1},
    {"GFLOP/s", 1e9},
    {"TFLOP/s", 1e12},
    {"PFLOP/s", 1e15},
    {"EFLOP/s", 1e18},
    {"OPS", 1},
    {"GOPS", 1e9},
    {"TOPS", 1e12},
    {"POPS", 1e15},
    {"EOPS", 1e18},
    {"OP/s", 1},
    {"TOP/s", 1e12},
    {"POP/s", 1e15},
};
constexpr Unit second_units[] = {
    {"ns", 1, 1e9, true}, {"us", 1, 1e6, true}, {"\xC2\xB5s", 1, 1e6}, {"\xCE\xBCs", 1, 1e6},
    {"ms", 1, 1e3, true}, {"s", 1, 1, true},    {"min", 60},           {"h", 3600},
    {"day", 86400},       {"days", 86400},      {"second", 1},         {"seconds", 1},
};
constexpr Unit watt_units[] = {
    {"mW", 1, 1e3}, {"W", 1, 1, true}, {"kW", 1e3, 1, true}, {"MW", 1e6, 1, true}};
constexpr Unit token_units[] = {{"tokens", 1, 1, true}, {"token", 1},      {"K tokens", ki},
                                {"K token", ki},        {"k tokens", 1e3}, {"k token", 1e3}};
constexpr Unit hertz_units[] = {
    {"/s", 1, 1, true}, {"1/s", 1},      {"req/s", 1},       {"requests/s", 1},
    {"/min", 1, 60},    {"/h", 1, 3600}, {"req/min", 1, 60}, {"requests/min", 1, 60},
    {"req/h", 1, 3600}, {"Hz", 1},       {"kHz", 1e3},       {"MHz", 1e6},
    {"GHz", 1e9},
};
constexpr Unit ratio_units[] = {{"%", 1, 100, true}, {"", 1}};

struct Kind {
  std::span<const Unit> units;
  std::string_view description;  // "a size in bytes"
  std::string_view example;      // unit of the suggestion
  std::string_view listed;       // the units accepted, in short
};

const Kind& kind_of(Dimension dimension) {
  static const Kind kinds[] = {
      {byte_units, "a size in bytes", "GB", "B, kB, MB, GB, TB (decimal), KiB, MiB, GiB, TiB"},
      {bandwidth_units, "a bandwidth", "GB/s", "B/s, MB/s, GB/s, TB/s, GiB/s, Mb/s, Gb/s (bits)"},
      {flops_units, "a rate of arithmetic", "TFLOPS", "GFLOPS, TFLOPS, PFLOPS, TOPS, POPS"},
      {second_units, "a time", "s", "ns, us, ms, s, min, h"},
      {watt_units, "a power", "W", "W, kW, MW"},
      {token_units, "a number of tokens", "tokens", "tokens, k tokens (1000), K tokens (1024)"},
      {hertz_units, "a rate", "/s", "/s, req/s, /min, /h, Hz, GHz"},
      {{}, "an amount of money", "USD/month", "USD/month, USD/h"},
      {ratio_units, "a ratio", "%", "% or a plain fraction such as 0.92"},
  };
  return kinds[static_cast<int>(dimension)];
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte != 0x7f ? c : '?';
  }
  if (text.size() > 60) out += "...";
  return out;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

double finite(double value, std::string_view text) {
  if (!std::isfinite(value)) {
    throw InputError(fmt::format("'{}' is too large a number", shown(text)));
  }
  return value;
}

std::string in_unit(double number, const Unit& unit) {
  return fmt::format("{:.4g} {}", number, unit.name);
}

/// The largest output unit that leaves a number of at least one.
const Unit& best_unit(double value, Dimension dimension) {
  const Unit* best = nullptr;
  for (const Unit& unit : kind_of(dimension).units) {
    if (!unit.write) continue;
    if (best == nullptr || value * unit.per / unit.times >= 0.99995) best = &unit;
  }
  return *best;
}

}  // namespace

std::size_t scan_number(std::string_view text, double& value) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t first = i;
  const std::size_t whole = digits();
  if (whole > 1 && text[first] == '0') return 0;  // 010: octal to some, ten to others
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    fraction = digits();
    if (fraction == 0) return 0;
  }
  if (whole == 0) return 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t before = i++;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) i = before;
  }
  const std::size_t begin = text[0] == '+' ? 1 : 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + i, value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is zero, too large is infinite; the caller refuses the latter.
    value = std::strtod(std::string(text.substr(0, i)).c_str(), nullptr);
  }
  return i;
}

double parse(std::string_view text, Dimension dimension) {
  const Kind& kind = kind_of(dimension);
  const std::string_view body = trimmed(text);
  double number = 0;
  const std::size_t used = scan_number(body, number);
  if (used == 0) {
    throw InputError(fmt::format("expected {} such as '10 {}', got '{}'", kind.description,
                                 kind.example, shown(body)));
  }
  finite(number, body);
  if (number < 0 || body.front() == '-') {
    throw InputError(fmt::format("'{}' is negative: {} cannot be", shown(body), kind.description));
  }
  std::string unit;  // inner runs of blanks as one
  for (const char c : trimmed(body.substr(used))) {
    if (c != ' ' || unit.back() != ' ') unit += c;
  }
  for (const Unit& u : kind.units) {
    if (u.name == unit) return finite(number * u.times / u.per, body);
  }
  if (unit.empty()) {
    throw InputError(fmt::format("{} needs a unit: did you mean '{} {}'? (units: {})",
                                 kind.description, shown(body), kind.example, kind.listed));
  }
  throw InputError(fmt::format("'{}' is not a unit of {} (units: {})", shown(unit),
                               kind.description, kind.listed));
}

std::string format(double value, Dimension dimension) {
  if (dimension == Dimension::money) return fmt::format("{:.4g}", value);
  if (dimension == Dimension::tokens) return fmt::format("{:.0f} tokens", value);
  return in_unit(value * best_unit(value, dimension).per / best_unit(value, dimension).times,
                 best_unit(value, dimension));
}

std::string exact(double value, Dimension dimension) {
  for (const Unit* unit : {&best_unit(value, dimension), &best_unit(1, dimension)}) {
    std::string text = fmt::format("{} {}", value * unit->per / unit->times, unit->name);
    if (parse(text, dimension) == value) return text;
  }
  // The base unit is exact except for a ratio, whose base is the bare number.
  const std::string bare = fmt::format("{}", value);
  for (const Unit& unit : kind_of(dimension).units) {
    if (unit.times == 1 && unit.per == 1) {
      return unit.name.empty() ? bare : bare + " " + std::string(unit.name);
    }
  }
  return bare;
}

std::string_view describe(Dimension dimension) {
  return kind_of(dimension).description;
}

}  // namespace servegrid::units
