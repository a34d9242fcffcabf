// One GPU platform as its data sheet, driver and measurements describe it. Filled from
// hw_profiles/*.yaml.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/format.hpp"

namespace servegrid::catalog {

/// Where a value comes from. Every value of a profile has one (or its section's).
struct Fact {
  std::string path;    // "memory.bandwidth"
  std::string value;   // as written
  std::string source;  // publication, document or repository
  std::string date;    // ISO date or month
  std::string note;    // conflicts, readings; may be empty
};

enum class FabricKind { switched, full_mesh, pcie, none };

/// Scale-up fabric inside one domain (server or rack).
struct Fabric {
  FabricKind kind = FabricKind::pcie;
  std::string name;                   // "NVLink 5", "xGMI 4", "PCIe 5 x16"
  int links = 1;                      // links per GPU
  double link_bandwidth = 0;          // [B/s] per link and direction
  int domain = 8;                     // GPUs in one domain
  bool in_network_reduction = false;  // NVLS / SHARP
  /// Of a fabric given as links: rates [B/s] found by simulating the flows of each algorithm for a
  /// group of `gpus`, before any achieved fraction. Measured collectives of the GPU do not apply.
  struct Derived {
    int gpus = 1;
    double one_shot = 0, two_shot = 0;  // message bytes over time
    double all_to_all = 0, pair = 0;    // what leaves one GPU
    double latency = 0;                 // [s] the longest route
  };
  std::optional<Derived> derived;
  /// Peak one-way bandwidth of a GPU [B/s] over all links.
  [[nodiscard]] double one_way() const { return links * link_bandwidth; }
};

struct Memory {
  std::string type;                    // "HBM3e"
  double label_bytes = 0;              // the number on the box in decimal GB [B]
  std::optional<double> driver_bytes;  // what nvidia-smi / amd-smi report [B]
  std::optional<double>
      torch_bytes;         // what torch sees [B]; measured or by the rule of the memory ledger
  double bandwidth = 0;    // data sheet [B/s]
  double cache_bytes = 0;  // last-level cache [B], 0 = not known
};

/// How an engine runs a weight format on this GPU.
enum class Support { native, dequantised, emulated, refused };

struct FormatSupport {
  Format format;
  std::string engine;   // "vllm", "sglang", "trtllm", "atom" or "*"
  std::string version;  // minimum version, may be empty
  Support support = Support::native;
  Format compute = Format::bf16;  // type whose peak rate the math runs at
  std::string source;
};

struct Software {
  std::string stack;                           // "CUDA", "ROCm"
  std::string target;                          // "sm_100", "gfx950"
  std::string minimum;                         // "CUDA 12.8"
  std::string collectives;                     // "NCCL", "RCCL"
  std::map<std::string, std::string> engines;  // engine -> "yes", "no", or "ROCm 7.0" style minimum
  std::vector<std::string> operating_systems;
  std::vector<std::string> caveats;
};

/// Achieved fractions of the data sheet, used until kernels are fitted (facts with source).
struct Achieved {
  double gemm = 0.75;                // of dense peak, large GEMM
  double bandwidth = 0.80;           // of data-sheet bandwidth, decode GEMV
  double collective = 0.75;          // of fabric one-way bandwidth, large messages
  double layer_fixed = 50e-6;        // per-layer fixed cost of a step [s]
  double collective_latency = 7e-6;  // small all-reduce [s]
};

struct Gpu {
  std::string name;          // catalogue key: "b200"
  std::string title;         // "NVIDIA B200 (HGX)"
  std::string vendor;        // "NVIDIA", "AMD"
  std::string architecture;  // "Blackwell", "CDNA 4"
  std::vector<std::string> aliases;
  std::string status = "shipping";  // or "announced", "data-sheet"
  int compute_units = 0;            // SMs or CUs
  Memory memory;
  std::map<std::string, double>
      peak;  // dense FLOP/s by arithmetic: fp64, fp64_matrix, fp32, tf32, bf16, fp8, int8, fp6, fp4
  std::vector<Format> hardware_formats;
  std::string fp8_variant;  // "OCP", "FNUZ" or empty
  Fabric fabric;
  std::string host_link;      // "PCIe 5 x16"
  double host_bandwidth = 0;  // [B/s] each way
  std::string nic;
  double nic_bandwidth = 0;  // [B/s] per GPU and direction
  double power = 0;          // board maximum [W]
  Software software;
  std::vector<FormatSupport> format_support;
  Achieved achieved;
  std::string fits;                // name of the fit file this GPU uses; empty = its own name
  std::string inherits_fits_from;  // nearest relative when it has no fits of its own
  // What this GPU achieves of its peaks over what the relative does of its own: scales inherited
  // efficiencies.
  double inherited_gemm = 1, inherited_bandwidth = 1;
  std::vector<Fact> facts;
  std::string file;                     // where it was read
  std::vector<std::string> overridden;  // paths changed by --set: results are labelled what-if

  /// Dense peak [FLOP/s] of the arithmetic that `f` runs in natively; 0 when the GPU has none.
  [[nodiscard]] double native_peak(Format f) const;
  /// How `engine` runs weights in `f` here; derived from hardware_formats unless format_support
  /// says otherwise.
  [[nodiscard]] FormatSupport support_of(Format f, const std::string& engine,
                                         const std::string& version) const;
  /// Bytes the fraction of an engine applies to [B]: torch_bytes, else driver_bytes by rule, else
  /// label.
  [[nodiscard]] double engine_bytes() const;
};

}  // namespace servegrid::catalog
