// Value -> typed structs, one loader a kind of file. For the catalog and the readers of plans.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catalog/engine.hpp"
#include "catalog/gpu.hpp"
#include "catalog/graph_sizes.hpp"
#include "catalog/model.hpp"
#include "catalog/price.hpp"
#include "catalog/reader.hpp"

namespace servegrid::catalog {

Gpu load_gpu(const Value& v, const std::string& name, const std::string& file);
Model load_model(const Value& v, const std::string& name, const std::string& file);
EngineProfile load_engine(const Value& v, const std::string& name, const std::string& file);
PriceSheet load_prices(const Value& v, const std::string& name, const std::string& file);

/// "1409 USD/month", "2.59 USD/h", "9000 USD/year" -> a month. A bare number is an error.
double load_money(const Value& v, const std::string& currency);

/// Knobs of `v` (a map) by the engine's own names over `knobs`. `skip` are keys that are no knobs
/// ("profile", "memory_at_least"). kv_cache_dtype "auto" is bf16. Throws InputError for a knob the
/// policy does not have.
void read_knobs(const Value& v, Policy policy, const std::vector<std::string>& skip, Knobs& knobs);

/// The knobs as YAML lines "name: value" in a fixed order, by the engine's own names.
std::vector<std::pair<std::string, std::string>> write_knobs(const Knobs& knobs, Policy policy);

/// Whether any policy has a knob of that name; of a path, its first part counts.
bool is_knob(const std::string& path);

/// The name of that policy's knob for the longest sequence, for messages.
std::string length_knob(Policy policy);

/// The name of the knob that lists the CUDA-graph batch sizes.
std::string graph_knob(Policy policy);

// Small readers shared by the loaders.
std::string text_or(const Value& map, std::string_view key, const std::string& otherwise = {});
std::vector<std::string> texts_or(const Value& map, std::string_view key);
/// A non-empty text.
std::string word(const Value& v);
Format read_format(const Value& v);
std::vector<Fact> read_facts(const Value& map);
/// Picks one of `names`; the index.
int choice(const Value& v, const std::vector<std::string>& names);

}  // namespace servegrid::catalog
