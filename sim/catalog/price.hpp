// Dated sheets of offers. A price is never a property of a GPU. Filled from
// hw_profiles/prices/*.yaml.
#pragma once

#include <string>
#include <vector>

namespace servegrid::catalog {

inline constexpr double hours_per_month = 730;

struct Offer {
  std::string gpu;  // catalogue key
  std::string title;
  std::vector<int> counts;      // GPUs that can be rented together
  double per_gpu_month = 0;     // at any allowed count; 0 when priced per server
  double per_server_month = 0;  // whole server of counts.back() GPUs
  int domain = 0;               // scale-up domain of the offer; 0 = the GPU's
  std::string kind;             // "list", "from", "median", "inferred"
  std::string minimum_term;
  std::string availability, network;
  std::string source, note;
  /// Price of n GPUs a month; counts that are not sold are rounded up to the next that is; < 0 if
  /// none.
  [[nodiscard]] double month(int gpus) const;
};

struct PriceSheet {
  std::string name, title, date, currency = "USD", source;
  std::vector<Offer> offers;
  std::string file;
  /// Cheapest offer of `gpu` that sells at least `gpus` together in one scale-up domain, or
  /// nullptr.
  [[nodiscard]] const Offer* find(const std::string& gpu, int gpus) const;
};

}  // namespace servegrid::catalog
