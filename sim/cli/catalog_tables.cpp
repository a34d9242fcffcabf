#include "cli/catalog_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catalog/reader.hpp"
#include "cli/table.hpp"
#include "memory/ledger.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;
using catalog::Catalog;
using catalog::Gpu;

Json to_json(const catalog::Value& value) {
  if (value.is_map()) {
    Json map = Json::object();
    for (const auto& [key, item] : value.entries()) map[key] = to_json(item);
    return map;
  }
  if (value.is_list()) {
    Json list = Json::array();
    for (const auto& item : value.items()) list.push_back(to_json(item));
    return list;
  }
  return value.is_null() ? Json(nullptr) : Json(value.text());
}

void rows_of(const catalog::Value& value, const std::string& path, Table& table) {
  if (value.is_map()) {
    for (const auto& [key, item] : value.entries())
      rows_of(item, path.empty() ? key : path + '.' + key, table);
  } else if (value.is_list()) {
    std::size_t i = 0;
    for (const auto& item : value.items())
      rows_of(item, path + '[' + std::to_string(i++) + ']', table);
  } else {
    table.row({path, value.is_null() ? "" : value.text()});
  }
}

std::string gb(double bytes) {
  return bytes > 0 ? fixed(bytes / 1e9, 2) + " GB" : "-";
}

std::string fabric_text(const catalog::Fabric& f) {
  static const std::map<catalog::FabricKind, const char*> kinds = {
      {catalog::FabricKind::switched, "switched"},
      {catalog::FabricKind::full_mesh, "full mesh"},
      {catalog::FabricKind::pcie, "PCIe"},
      {catalog::FabricKind::none, "none"}};
  if (f.kind == catalog::FabricKind::none) return "none";
  return fmt::format("{} ({}, {} x {} GB/s each way, {} GPUs)", f.name, kinds.at(f.kind), f.links,
                     number(f.link_bandwidth / 1e9), f.domain);
}

struct Row {
  std::string name;
  std::function<std::string(const Gpu&)> value;
};

std::string peak(const Gpu& gpu, const std::string& format) {
  const auto it = gpu.peak.find(format);
  return it == gpu.peak.end() || it->second <= 0 ? "-" : number(it->second / 1e12) + " TFLOPS";
}

std::vector<Row> data_sheet_rows() {
  std::vector<Row> rows = {
      {"title", [](const Gpu& g) { return g.title; }},
      {"status", [](const Gpu& g) { return g.status; }},
      {"architecture", [](const Gpu& g) { return g.architecture; }},
      {"memory, label",
       [](const Gpu& g) { return gb(g.memory.label_bytes) + " " + g.memory.type; }},
      {"memory, driver", [](const Gpu& g) { return gb(g.memory.driver_bytes.value_or(0)); }},
      {"memory, engine", [](const Gpu& g) { return gb(g.engine_bytes()); }},
      {"bandwidth", [](const Gpu& g) {
         return units::format(g.memory.bandwidth, units::Dimension::bytes_per_second);
       }}};
  for (const char* format :
       {"fp64", "fp64_matrix", "fp32", "tf32", "bf16", "fp8", "int8", "fp6", "fp4"})
    rows.push_back(
        {std::string(format) + ", dense", [format](const Gpu& g) { return peak(g, format); }});
  const std::vector<Row> rest = {
      {"formats in hardware",
       [](const Gpu& g) {
         std::string text;
         for (const auto f : g.hardware_formats) {
           if (!text.empty()) text += ' ';
           text += catalog::name(f);
         }
         return text.empty() ? std::string("-") : text;
       }},
      {"FP8 variant", [](const Gpu& g) { return g.fp8_variant.empty() ? "-" : g.fp8_variant; }},
      {"fabric", [](const Gpu& g) { return fabric_text(g.fabric); }},
      {"host link", [](const Gpu& g) { return g.host_link.empty() ? "-" : g.host_link; }},
      {"NIC", [](const Gpu& g) { return g.nic.empty() ? "-" : g.nic; }},
      {"power", [](const Gpu& g) { return g.power > 0 ? fixed(g.power, 0) + " W" : "-"; }},
      {"software", [](const Gpu& g) {
         const auto& software = g.software;
         const bool named = software.minimum.rfind(software.stack, 0) == 0;
         return named ? software.minimum : software.stack + " " + software.minimum;
       }}};
  rows.insert(rows.end(), rest.begin(), rest.end());
  return rows;
}

// Price a GPU and month: in the smallest number that is sold.
double per_gpu_month(const catalog::PriceSheet& sheet, const Gpu& gpu, int& sold) {
  const catalog::Offer* offer = sheet.find(gpu.name, 1);
  if (offer == nullptr) return -1;
  sold = offer->counts.empty() ? 1 : *std::min_element(offer->counts.begin(), offer->counts.end());
  return offer->month(sold) / sold;
}

void add_prices(const Catalog& catalog, const std::vector<Gpu>& gpus, Table& table) {
  for (const auto& name : catalog.price_names()) {
    const auto sheet = catalog.prices(name);
    std::vector<std::string> price = {sheet.name + ": a GPU-month"}, memory = {"  per GB-month"},
                             rate = {"  per bf16 TFLOPS-month"};
    for (const auto& gpu : gpus) {
      int sold = 1;
      const double month = per_gpu_month(sheet, gpu, sold);
      const double tflops = gpu.native_peak(catalog::Format::bf16) / 1e12;
      const bool known = month > 0;
      price.push_back(known ? fixed(month, 0) + " " + sheet.currency +
                                  (sold > 1 ? fmt::format(" (sold in {})", sold) : "")
                            : "-");
      memory.push_back(known ? fixed(month / (gpu.memory.label_bytes / 1e9), 2) : "-");
      rate.push_back(known && tflops > 0 ? fixed(month / tflops, 2) : "-");
    }
    table.row(price);
    table.row(memory);
    table.row(rate);
  }
}

std::string title_of(const std::string& path) {
  try {
    const auto value = catalog::Value::from_file(path);
    for (const char* key : {"title", "description"})
      if (const auto title = value.find(key); title.present()) return title.text();
  } catch (const InputError& e) {
    return std::string("cannot be read: ") + e.what();
  }
  return "";
}

}  // namespace

std::string catalog_text(const Catalog& catalog) {
  std::string out;
  const auto section = [&](const std::string& title, const std::string& kind,
                           const std::vector<std::string>& names) {
    out += fmt::format("{}{} ({})\n", out.empty() ? "" : "\n", title, names.size());
    for (const auto& name : names)
      out += fmt::format("  {:<32} {}\n", name, title_of(catalog.find_file(kind, name)));
  };
  section("GPUs", "hw_profiles", catalog.gpu_names());
  section("Models", "models", catalog.model_names());
  section("Price sheets", "hw_profiles/prices", catalog.price_names());
  section("Engines", "engines", catalog.engine_names());
  section("Scenarios", "scenarios", catalog.scenario_names());
  return out;
}

std::string show_text(const std::string& path, OutputFormat format) {
  if (format == OutputFormat::table) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) throw InputError("cannot read " + path);
    return "# " + path + '\n' + text.str();
  }
  const auto value = catalog::Value::from_file(path);
  if (format == OutputFormat::json) return to_json(value).dump(2) + '\n';
  Table table({"path", "value"});
  rows_of(value, "", table);
  return table.csv();
}

std::string compare_text(const Catalog& catalog, const std::vector<Gpu>& gpus,
                         OutputFormat format) {
  std::vector<std::string> header = {""};
  for (const auto& gpu : gpus)
    header.push_back(gpu.name + (gpu.overridden.empty() ? "" : " (what-if)"));
  Table table(header);
  for (const auto& row : data_sheet_rows()) {
    std::vector<std::string> cells = {row.name};
    for (const auto& gpu : gpus) cells.push_back(row.value(gpu));
    table.row(cells);
  }
  add_prices(catalog, gpus, table);
  if (format == OutputFormat::table) return table.text();
  if (format == OutputFormat::csv) return table.csv();
  Json json = {{"command", "catalog compare"}, {"rows", Json::array()}};
  for (const auto& cells : table.rows()) {
    Json row = {{"name", cells[0]}};
    for (std::size_t i = 1; i < cells.size(); ++i) row[header[i]] = cells[i];
    json["rows"].push_back(row);
  }
  return json.dump(2) + '\n';
}

}  // namespace servegrid::cli
