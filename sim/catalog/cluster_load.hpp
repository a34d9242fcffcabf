// Pieces of reading a cluster. Private to the catalog.
#pragma once

#include "catalog/catalog.hpp"
#include "catalog/cluster.hpp"
#include "catalog/reader.hpp"

namespace servegrid::catalog {

NetworkSpec load_network(const Value& v, const Catalog& catalog);
FaultSpec load_faults(const Value& v);
/// `cluster` and `s` have their pools.
OperationsSpec load_operations(const Value& v, const ClusterSpec& cluster, const Scenario& s);
/// A file of fabrics/.
FabricSpec load_fabric(const Value& v, const std::string& name, const std::string& file);

/// "network", "faults" and "operations" as YAML.
std::string network_text(const NetworkSpec& network, const Catalog& catalog);
std::string faults_text(const FaultSpec& faults);
std::string operations_text(const OperationsSpec& operations);

}  // namespace servegrid::catalog
