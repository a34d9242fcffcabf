#include "catalog/gpu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "catalog/load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

Memory load_memory(const Value& v) {
  Memory m;
  m.type = text_or(v, "type");
  m.label_bytes = v.at("label").quantity(Dimension::bytes, 1e9, 1e14);
  if (const Value x = v.find("driver"); x.present()) {
    m.driver_bytes = x.quantity(Dimension::bytes, 1e9, 1e14);
  }
  if (const Value x = v.find("torch"); x.present()) {
    m.torch_bytes = x.quantity(Dimension::bytes, 1e9, 1e14);
  }
  m.bandwidth = v.at("bandwidth").quantity(Dimension::bytes_per_second, 1e9, 1e15);
  if (const Value x = v.find("cache"); x.present()) {
    m.cache_bytes = x.quantity(Dimension::bytes, 0, 1e12);
  }
  v.no_unknown_keys();
  return m;
}

std::map<std::string, double> load_peak(const Value& v) {
  std::map<std::string, double> peak;
  (void)v.at("bf16");  // the one rate every engine needs
  for (const char* key :
       {"fp64", "fp64_matrix", "fp32", "tf32", "bf16", "fp8", "int8", "fp6", "fp4"}) {
    if (const Value x = v.find(key); x.present()) {
      peak[key] = x.quantity(Dimension::flops, 1e9, 1e18);
    }
  }
  v.no_unknown_keys();
  return peak;
}

Fabric load_fabric(const Value& v) {
  Fabric f;
  f.kind = static_cast<FabricKind>(choice(v.at("kind"), {"switched", "full_mesh", "pcie", "none"}));
  f.name = text_or(v, "name");
  if (const Value x = v.find("links"); x.present()) {
    f.links = static_cast<int>(x.integer(1, 1024));
  }
  if (f.kind != FabricKind::none) {
    f.link_bandwidth = v.at("link_bandwidth").quantity(Dimension::bytes_per_second, 1e6, 1e14);
  } else {
    f.domain = 1;
  }
  if (const Value x = v.find("domain"); x.present()) {
    f.domain = static_cast<int>(x.integer(1, 100000));
  }
  if (const Value x = v.find("in_network_reduction"); x.present()) {
    f.in_network_reduction = x.boolean();
  }
  v.no_unknown_keys();
  return f;
}

Software load_software(const Value& v) {
  Software s;
  s.stack = text_or(v, "stack");
  s.target = text_or(v, "target");
  s.minimum = text_or(v, "minimum");
  s.collectives = text_or(v, "collectives");
  if (const Value engines = v.find("engines"); engines.present()) {
    for (const auto& [key, value] : engines.entries()) s.engines[key] = word(value);
  }
  s.operating_systems = texts_or(v, "operating_systems");
  s.caveats = texts_or(v, "caveats");
  v.no_unknown_keys();
  return s;
}

FormatSupport load_support(const Value& v) {
  FormatSupport s{};
  s.format = read_format(v.at("format"));
  s.engine = text_or(v, "engine", "*");
  s.version = text_or(v, "version");
  s.support = static_cast<Support>(
      choice(v.at("support"), {"native", "dequantised", "emulated", "refused"}));
  const Value compute = v.find("compute");
  if (compute.present()) {
    s.compute = read_format(compute);
  } else {
    s.compute = s.support == Support::native ? s.format : Format::bf16;
  }
  s.source = word(v.at("source"));
  v.no_unknown_keys();
  return s;
}

Achieved load_achieved(const Value& v, std::vector<Fact>& facts) {
  Achieved a;
  const auto ratio = [&](const char* key, double& to) {
    if (const Value x = v.find(key); x.present()) to = x.quantity(Dimension::ratio, 0.01, 1);
  };
  ratio("gemm", a.gemm);
  ratio("bandwidth", a.bandwidth);
  ratio("collective", a.collective);
  if (const Value x = v.find("layer_fixed"); x.present()) {
    a.layer_fixed = x.quantity(Dimension::seconds, 0, 1);
  }
  if (const Value x = v.find("collective_latency"); x.present()) {
    a.collective_latency = x.quantity(Dimension::seconds, 0, 1);
  }
  facts.push_back({"achieved", "", word(v.at("source")), text_or(v, "date"), text_or(v, "note")});
  v.no_unknown_keys();
  return a;
}

/// -1, 0, 1 as version a is older than, equal to or newer than b; numbers compare as numbers.
int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto take = [](std::string_view& s) {
      const std::string_view part = s.substr(0, s.find('.'));
      s.remove_prefix(std::min(s.size(), part.size() + 1));
      long number = 0;
      std::from_chars(part.data(), part.data() + part.size(), number);
      return number;
    };
    const long x = take(a), y = take(b);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

/// The arithmetic whose peak a format's native math runs at.
std::string_view arithmetic(Format f) {
  switch (f) {
    case Format::bf16:
    case Format::fp16:
      return "bf16";
    case Format::fp32:
      return "fp32";
    case Format::fp8:
    case Format::fp8_block:
    case Format::mxfp8:
      return "fp8";
    case Format::int8:
      return "int8";
    case Format::mxfp6:
      return "fp6";
    case Format::mxfp4:
    case Format::nvfp4:
      return "fp4";
    case Format::int4_g32:
    case Format::int4_g128:
      return "";
  }
  return "";
}

bool always_native(Format f) {
  return f == Format::bf16 || f == Format::fp16 || f == Format::fp32;
}

}  // namespace

Gpu load_gpu(const Value& v, const std::string& name, const std::string& file) {
  Gpu gpu;
  gpu.name = name;
  gpu.file = file;
  gpu.title = text_or(v, "title", name);
  gpu.vendor = word(v.at("vendor"));
  gpu.architecture = text_or(v, "architecture");
  gpu.aliases = texts_or(v, "aliases");
  if (const Value x = v.find("status"); x.present()) {
    choice(x, {"shipping", "announced", "data-sheet"});
    gpu.status = x.text();
  }
  gpu.facts.push_back({"", "", word(v.at("source")), word(v.at("date")), text_or(v, "note")});
  if (const Value x = v.find("compute_units"); x.present()) {
    gpu.compute_units = static_cast<int>(x.integer(1, 100000));
  }
  gpu.memory = load_memory(v.at("memory"));
  gpu.peak = load_peak(v.at("peak"));
  if (const Value x = v.find("formats"); x.present()) {
    for (const Value& item : x.items()) {
      const Format f = read_format(item);
      if (!always_native(f) && !gpu.peak.contains(std::string(arithmetic(f)))) {
        throw item.error(fmt::format("'{}' is said to be in hardware, but peak has no '{}'",
                                     catalog::name(f), arithmetic(f)));
      }
      gpu.hardware_formats.push_back(f);
    }
  }
  if (const Value x = v.find("fp8_variant"); x.present()) {
    choice(x, {"OCP", "FNUZ", ""});
    gpu.fp8_variant = x.text();
  }
  if (const Value x = v.find("fabric"); x.present()) {
    gpu.fabric = load_fabric(x);
  } else {
    gpu.fabric.kind = FabricKind::none;
    gpu.fabric.domain = 1;
  }
  if (const Value host = v.find("host"); host.present()) {
    gpu.host_link = text_or(host, "link");
    gpu.host_bandwidth = host.at("bandwidth").quantity(Dimension::bytes_per_second, 1e6, 1e14);
    host.no_unknown_keys();
  }
  if (const Value nic = v.find("nic"); nic.present()) {
    gpu.nic = text_or(nic, "name");
    gpu.nic_bandwidth = nic.at("bandwidth").quantity(Dimension::bytes_per_second, 1e6, 1e14);
    nic.no_unknown_keys();
  }
  if (const Value x = v.find("power"); x.present()) {
    gpu.power = x.quantity(Dimension::watts, 1, 1e6);
  }
  if (const Value x = v.find("software"); x.present()) gpu.software = load_software(x);
  if (const Value x = v.find("format_support"); x.present()) {
    for (const Value& item : x.items()) gpu.format_support.push_back(load_support(item));
  }
  if (const Value x = v.find("achieved"); x.present()) {
    gpu.achieved = load_achieved(x, gpu.facts);
  }
  gpu.fits = text_or(v, "fits");
  gpu.inherits_fits_from = text_or(v, "inherits_fits_from");
  if (const Value x = v.find("inherited_efficiency"); x.present()) {
    if (gpu.inherits_fits_from.empty()) {
      throw x.error("inherited_efficiency without inherits_fits_from: name the relative first");
    }
    gpu.inherited_gemm = x.at("gemm").number(0.05, 2);
    gpu.inherited_bandwidth = x.at("bandwidth").number(0.05, 2);
    gpu.facts.push_back({"inherited_efficiency",
                         x.at("gemm").text() + ", " + x.at("bandwidth").text(),
                         x.at("source").text(), "", ""});
    x.no_unknown_keys();
  }
  for (Fact& fact : read_facts(v)) gpu.facts.push_back(std::move(fact));
  v.no_unknown_keys();
  return gpu;
}

double Gpu::native_peak(Format f) const {
  const bool native =
      always_native(f) ||
      std::find(hardware_formats.begin(), hardware_formats.end(), f) != hardware_formats.end();
  const auto it = peak.find(std::string(arithmetic(f)));
  return native && it != peak.end() ? it->second : 0;
}

FormatSupport Gpu::support_of(Format f, const std::string& engine,
                              const std::string& version) const {
  const FormatSupport* best = nullptr;
  for (const FormatSupport& s : format_support) {
    if (s.format != f || (s.engine != engine && s.engine != "*")) continue;
    if (compare_versions(version, s.version) < 0) continue;
    const bool better =
        best == nullptr || (best->engine == "*" && s.engine != "*") ||
        (best->engine == s.engine && compare_versions(best->version, s.version) < 0);
    if (better) best = &s;
  }
  if (best != nullptr) return *best;
  FormatSupport derived{f,
                        engine,
                        "",
                        Support::dequantised,
                        Format::bf16,
                        "no hardware units listed: dequantised to bf16"};
  if (native_peak(f) > 0) {
    derived.support = Support::native;
    derived.compute = f;
    derived.source = "formats of the profile";
  }
  return derived;
}

// What torch sees is less than nvidia-smi reports: 0.42 GiB and 0.16 % on NVIDIA, 0.8 GiB on A100;
// HIP reports the whole (docs/memory.md).
double Gpu::engine_bytes() const {
  if (memory.torch_bytes) return *memory.torch_bytes;
  const double reported = memory.driver_bytes.value_or(memory.label_bytes);
  if (vendor != "NVIDIA") return reported;
  if (name.starts_with("a100")) return reported - 0.8 * gib;
  return reported - (0.42 * gib + 0.0016 * reported);
}

}  // namespace servegrid::catalog
