// The quantitative claims of three published articles on renting GPUs, by ID: what the catalogue,
// the sizing rules and the price sheets give against the value stated. docs/seed-claims.md lists
// the formulas, and the claims that cannot be reproduced.
#include "seed_claims.hpp"

using namespace servegrid;
using namespace servegrid::seed;

TEST_CASE("S0: hardware and prices", "[seed]") {
  check({
      {"S0-01", 288, 0, [] { return label("mi355x"); }},
      {"S0-03", 256, 0, [] { return gpu("mi355x").compute_units; }},
      {"S0-03", 8 * 32, 0, [] { return gpu("mi355x").compute_units; }},
      {"S0-05", 1, 0, [] { return label("mi355x") / label("b300"); }},
      {"S0-06", 1.67, 0.01, [] { return bandwidth("mi355x") / bandwidth("h200"); }},
      {"S0-07", 67, 0.1, [] { return peak("h200", "fp64_matrix"); }},
      {"S0-07", 67, 0.1, [] { return peak("h100", "fp64_matrix"); }},
      {"S0-07", 78.6, 0.1, [] { return peak("mi355x", "fp64"); }},
      {"S0-08", 8, 0, [] { return bandwidth("mi355x"); }},
      {"S0-09", 1070, -0.006, [] { return scale_up("mi355x"); }},  // 7 x 153 or 153.6
      {"S0-10", 900, 1, [] { return scale_up("h100"); }},
      {"S0-10", 900, 1, [] { return scale_up("h200"); }},
      {"S0-11", 1800, 1, [] { return scale_up("b200"); }},
      {"S0-11", 1800, 1, [] { return scale_up("b300"); }},
      {"S0-13", 4, 0,
       [] {
         return has("mi355x", Format::fp8) + has("mi355x", Format::mxfp8) +
                has("mi355x", Format::mxfp6) + has("mi355x", Format::mxfp4) +
                10 * has("mi355x", Format::nvfp4);
       }},
      {"S0-19", 1, 0, [] { return engine_refused("trtllm", "mi355x"); }},
      {"S0-19", 0, 0, [] { return engine_refused("trtllm", "b200"); }},
      {"S0-30", 1409, 0, [] { return price("mi355x"); }},
      {"S0-31", 1779, 0, [] { return price("h100"); }},
      {"S0-32", 2279, 0, [] { return price("h200"); }},
      {"S0-33", 4019, 0, [] { return price("b300"); }},
      {"S0-34", 1918, 0, [] { return price(rtx, 2); }},
      {"S0-35", 0.7, 0.01, [] { return price("h100") / (median_h100() * 730); }},
      {"S0-38", 1779, 0, [] { return ends_in_nine(0.7 * median_h100() * 730); }},
      {"S0-36", 2.59, 0.001, [] { return market("mi355x", "from").at(0); }},
      {"S0-36", 2.95, 0.001, [] { return market("mi355x", "from").at(1); }},
      {"S0-37", 3.49, 0.001, [] { return median_h100(); }},
      {"S0-39", 1409, 0,
       [] {
         const auto starts = market("mi355x", "from");
         return ends_in_nine(0.7 * (starts.at(0) + starts.at(1)) / 2 * 730);
       }},
      {"S0-40", 4.460, 0.001, [] { return price("h200") / (0.7 * 730); }},
      {"S0-40", 7.865, 0.001, [] { return price("b300") / (0.7 * 730); }},
      {"S0-40", 6.730, 0.001, [] { return price("b200") / (0.7 * 730); }},
      {"S0-40", 1.877, 0.001, [] { return price(rtx) / (0.7 * 730); }},
      {"S0-43", 30, 1,
       [] { return 100 * price("mi355x") / label("mi355x") / (price("h200") / label("h200")); }},
      {"S0-44", 22, 1,
       [] { return 100 * price("mi355x") / label("mi355x") / (price("h100") / label("h100")); }},
      {"S0-45", 3.3, 0.1,
       [] { return label("mi355x") / price("mi355x") / (label("h200") / price("h200")); }},
      {"S0-46", 4.5, 0.1,
       [] { return label("mi355x") / price("mi355x") / (label("h100") / price("h100")); }},
      {"S0-47", 21, 1, [] { return 100 * (1 - price("mi355x") / price("h100")); }},
      {"S0-48", 3.6, 0, [] { return label("mi355x") / label("h100"); }},
      {"S0-49", 0.792, 0.001, [] { return price("mi355x") / price("h100"); }},
      {"S0-50", 2 * 1409, 0, [] { return price("mi355x", 2); }},
      {"S0-50", 4 * 1409, 0, [] { return price("mi355x", 4); }},
      {"S0-50", 8 * 1409, 0, [] { return price("mi355x", 8); }},
  });
}

TEST_CASE("S0: rankings", "[seed]") {
  for (const char* nvidia : {"h100", "h200", "b200", "b300"}) {  // S0-07
    const auto g = gpu(nvidia);
    double best = 0;
    for (const char* a : {"fp64", "fp64_matrix"}) {
      if (g.peak.count(a) > 0) best = std::max(best, g.peak.at(a));
    }
    INFO("S0-07 " << nvidia);
    CHECK(best < gpu("mi355x").peak.at("fp64"));
  }
  CHECK(scale_up("h200") < scale_up("mi355x"));  // S0-12
  CHECK(scale_up("mi355x") < scale_up("b200"));
  for (const double start : market("mi355x", "from")) CHECK(start < median_h100());  // S0-41
}

TEST_CASE("S0: sizing", "[seed]") {
  check({
      {"S0-61", 486, 0, [] { return need(m405, fp8); }},
      {"S0-62", 2, 0, [] { return group(m405, "mi355x", fp8); }},
      {"S0-63", 2, 0, [] { return group(m405, "b300", fp8); }},
      {"S0-64", 4, 0, [] { return group(m405, "h200", fp8); }},
      {"S0-65", 8, 0, [] { return group(m405, "h100", fp8); }},
      {"S0-66", 35, 1, [] { return 100 * cost(m405, "mi355x", fp8) / cost(m405, "b300", fp8); }},
      {"S0-67", 31, 1, [] { return 100 * cost(m405, "mi355x", fp8) / cost(m405, "h200", fp8); }},
      {"S0-68", 20, 1, [] { return 100 * cost(m405, "mi355x", fp8) / cost(m405, "h100", fp8); }},
      {"S0-69", 805, 1, [] { return need(ds, fp8); }},
      {"S0-70", 4, 0, [] { return group(ds, "mi355x", fp8); }},
      {"S0-70", 5636, 0, [] { return cost(ds, "mi355x", fp8); }},
      {"S0-71", 4, 0, [] { return group(ds, "b300", fp8); }},
      {"S0-71", 16076, 0, [] { return cost(ds, "b300", fp8); }},
      {"S0-72", 8, 0, [] { return group(ds, "h200", fp8); }},
      {"S0-72", 18232, 0, [] { return cost(ds, "h200", fp8); }},
      {"S0-73", 168, 0, [] { return need(m70, bf16); }},
      {"S0-74", 1, 0, [] { return group(m70, "mi355x", bf16); }},
      {"S0-74", 1409, 0, [] { return cost(m70, "mi355x", bf16); }},
      {"S0-75", 2, 0, [] { return group(m70, rtx, bf16); }},
      {"S0-75", 1918, 0, [] { return cost(m70, rtx, bf16); }},
      {"S0-76", 1, 0, [] { return group(m70, "b300", bf16); }},
      {"S0-76", 4019, 0, [] { return cost(m70, "b300", bf16); }},
      {"S0-77", 2, 0, [] { return group(m70, "h200", bf16); }},
      {"S0-77", 4558, 0, [] { return cost(m70, "h200", bf16); }},
      {"S0-78", 2, 0, [] { return group(m70, "b200", bf16); }},
      {"S0-78", 6878, 0, [] { return cost(m70, "b200", bf16); }},
      {"S0-79", 4, 0, [] { return group(m70, "h100", bf16); }},
      {"S0-79", 7116, 0, [] { return cost(m70, "h100", bf16); }},
      // The rest of the table of counts, rebuilt: 0.92 of the label, up to a power of two.
      {"S0-60", 4, 0, [] { return group(m405, "b200", fp8); }},
      {"S0-60", 8, 0, [] { return group(m405, rtx, fp8); }},
      {"S0-60", 8, 0, [] { return group(ds, "b200", fp8); }},
      {"S0-60", 16, 0, [] { return group(ds, "h100", fp8); }},
      {"S0-60", 16, 0, [] { return group(ds, rtx, fp8); }},
  });
}

TEST_CASE("S1: prices", "[seed]") {
  check({
      {"S1-01", 19900, 0, [] { return server("mi355x"); }},
      {"S1-02", 3.41, 0.01, [] { return server("mi355x") / 8 / catalog::hours_per_month; }},
      {"S1-03", 34900, 0, [] { return server("b200"); }},
      {"S1-04", 5.98, 0.01, [] { return server("b200") / 8 / catalog::hours_per_month; }},
      {"S1-05", 4590, 0, [] { return server("b200", 1); }},
      {"S1-06", -1, 0, [] { return server("mi355x", 1); }},  // not sold alone
      {"S1-07", 15000, 0, [] { return server("b200") - server("mi355x"); }},
      {"S1-08", 180000, 0, [] { return 12 * (server("b200") - server("mi355x")); }},
      {"S1-09", 8.64, 0.01, [] { return server("mi355x") / (8 * label("mi355x")); }},
      {"S1-10", 24.24, 0.01, [] { return server("b200") / (8 * label("b200")); }},
      {"S1-11", 2.81, 0.01,
       [] { return server("b200") / label("b200") / (server("mi355x") / label("mi355x")); }},
      {"S1-12", 18360, 0, [] { return 4 * server("b200", 1); }},
      {"S1-13", 0.923, 0.001, [] { return 4 * server("b200", 1) / server("mi355x"); }},
      {"S1-14", 39900, 0, [] { return server("b300"); }},
      {"S1-42", 1, 0,
       [] {
         double domain = -1;
         for (const auto& o : servers().offers) {
           if (gpu(o.gpu).name == "b200" && o.counts.back() == 1) domain = o.domain;
         }
         return domain;
       }},
  });
}

TEST_CASE("S1: hardware", "[seed]") {
  check({
      {"S1-20", 288, 0, [] { return label("mi355x"); }},
      {"S1-20", 180, 0, [] { return label("b200"); }},
      {"S1-21", 8, 0, [] { return bandwidth("mi355x"); }},
      {"S1-21", 8, 0, [] { return bandwidth("b200"); }},
      {"S1-22", 1.1, 0.05, [] { return peak("mi355x", "fp8") / peak("b200", "fp8"); }},
      {"S1-22", 1.1, 0.05, [] { return peak("mi355x", "bf16") / peak("b200", "bf16"); }},
      {"S1-23", 5000, 100, [] { return peak("mi355x", "fp8"); }},
      {"S1-23", 2500, 100, [] { return peak("mi355x", "bf16"); }},
      {"S1-24", 4500, 1, [] { return peak("b200", "fp8"); }},
      {"S1-24", 2250, 1, [] { return peak("b200", "bf16"); }},
      {"S1-26", 10100, 100, [] { return peak("mi355x", "fp4"); }},
      {"S1-27", 9000, 1, [] { return peak("b200", "fp4"); }},
      {"S1-28", 2, 0, [] { return has("mi355x", Format::mxfp6) + has("mi355x", Format::mxfp4); }},
      {"S1-29", 2, 0, [] { return has("b200", Format::mxfp4) + has("b200", Format::nvfp4); }},
      {"S1-30", 4 + 8.0 / 16, 0, [] { return 8 * catalog::bytes_per_element(Format::nvfp4); }},
      {"S1-31", 4 + 8.0 / 32, 0, [] { return 8 * catalog::bytes_per_element(Format::mxfp4); }},
      {"S1-33", 1800, 1, [] { return scale_up("b200"); }},
      {"S1-34", 1080, 10, [] { return scale_up("mi355x"); }},
      {"S1-34", 7, 0, [] { return gpu("mi355x").fabric.links; }},
      {"S1-34", 153.6, 0.01, [] { return 2 * gpu("mi355x").fabric.link_bandwidth / 1e9; }},
      {"S1-35", 1.0 / 7, 0.001,
       [] { return gpu("mi355x").fabric.link_bandwidth / gpu("mi355x").fabric.one_way(); }},
      {"S1-36", 1.67, 0.01, [] { return scale_up("b200") / scale_up("mi355x"); }},
      {"S1-38", 50, 0.1, [] { return gpu("b200").nic_bandwidth / 1e9; }},
      {"S1-38", 50, 0.1, [] { return gpu("mi355x").nic_bandwidth / 1e9; }},
      {"S1-41", 288, 0, [] { return label("b300"); }},
  });
  CHECK(gpu("b200").fabric.kind == catalog::FabricKind::switched);     // S1-33
  CHECK(gpu("mi355x").fabric.kind == catalog::FabricKind::full_mesh);  // S1-35
  CHECK(engine_refused("trtllm", "mi355x") == 1);                      // S1-73
}

TEST_CASE("S1: weights, KV and what fits", "[seed]") {
  check({
      {"S1-37", 4, 0, [] { return group(m405, "b200", fp8, only); }},
      {"S1-37", 2, 0, [] { return group(m405, "mi355x", fp8, only); }},
      {"S1-50", 2, 0, [] { return catalog::nominal_bytes(bf16); }},
      {"S1-50", 1, 0, [] { return catalog::nominal_bytes(fp8); }},
      {"S1-50", 0.5, 0, [] { return catalog::nominal_bytes(fp4); }},
      {"S1-51", 20, 10 * 2,
       [] { return 100 * (need(m70, fp8) / data().model(m70).nominal_billions - 1); }},
      {"S1-52", 1, 0, [] { return group(m70, "b200", bf16, only); }},
      {"S1-52", 8, 0, [] { return group(m405, "b200", bf16, only); }},
      {"S1-52", 4, 0, [] { return group(m405, "mi355x", bf16, only); }},
      {"S1-52", 2, 0, [] { return group(m405, "b200", fp4, only); }},
      {"S1-52", 1, 0, [] { return group(m405, "mi355x", fp4, only); }},
      {"S1-52", 8, 0, [] { return group(ds, "b200", bf16, only); }},
      {"S1-52", 8, 0, [] { return group(ds, "mi355x", bf16, only); }},
      {"S1-52", 4, 0, [] { return group(ds, "b200", fp8, only); }},
      {"S1-52", 4, 0, [] { return group(ds, "mi355x", fp8, only); }},
      {"S1-52", 2, 0, [] { return group(ds, "b200", fp4, only); }},
      {"S1-52", 2, 0, [] { return group(ds, "mi355x", fp4, only); }},
      {"S1-53", 4, 0,
       [] { return power_of_two(data().model(m405).nominal_billions / label("b200")); }},
      {"S1-55", 80, 0, [] { return data().model(m70).depth(); }},
      {"S1-55", 8, 0, [] { return data().model(m70).layers.at(0).attention.kv_heads; }},
      {"S1-55", 128, 0, [] { return data().model(m70).layers.at(0).attention.head_dim; }},
      {"S1-56", 0.33, 0.01, [] { return kv_per_token(bf16) / 1e6; }},
      {"S1-57", 2.7, 0.1, [] { return kv_per_token(bf16) * k8 / 1e9; }},
      {"S1-58", 40, 0, [] { return sized(m70, "b200", bf16, only).kv_bytes_per_gpu / 1e9; }},
      {"S1-59", 148, 0, [] { return sized(m70, "mi355x", bf16, only).kv_bytes_per_gpu / 1e9; }},
      // The article rounds to the nearest: 14.90 is its 15; our whole counts are floors, 14.
      {"S1-60", 15, 1, [] { return conversations("b200", bf16, only, k8); }},
      {"S1-60", 14.90, 0.01, [] { return conversations("b200", bf16, only, k8); }},
      {"S1-61", 55, 1, [] { return conversations("mi355x", bf16, only, k8); }},
      {"S1-61", 55.13, 0.01, [] { return conversations("mi355x", bf16, only, k8); }},
      {"S1-62", 9.54, 0.01, [] { return conversations("b200", bf16, articles, k8); }},
      {"S1-62", 46.55, 0.01, [] { return conversations("mi355x", bf16, articles, k8); }},
      {"S1-63", 43, 1, [] { return kv_per_token(bf16) * k128 / 1e9; }},
      {"S1-65", 0.5, 0, [] { return kv_per_token(fp8) / kv_per_token(bf16); }},
      {"S1-65", 29.8, 0.1, [] { return conversations("b200", bf16, only, k8, fp8); }},
      {"S1-65", 110.3, 0.1, [] { return conversations("mi355x", bf16, only, k8, fp8); }},
      {"S1-66", 1, 0, [] { return bandwidth("mi355x") / bandwidth("b200"); }},
  });
  CHECK(label("mi355x") > label("b200"));                // S1-54
  CHECK(conversations("b200", bf16, only, k128) < 1);    // S1-64
  CHECK(conversations("mi355x", bf16, only, k128) > 1);  // S1-75
}

TEST_CASE("S4: hardware and prices", "[seed]") {
  check({
      {"S4-04", 141, 0, [] { return label("h200"); }},
      {"S4-05", 8 * 4019, 0, [] { return price("b300", 8); }},
      {"S4-05", 8 * 3439, 0, [] { return price("b200", 8); }},
      {"S4-05", 8 * 2279, 0, [] { return price("h200", 8); }},
      {"S4-07", 10.0 / 8, 0.01, [] { return peak("b300", "fp64"); }},
      {"S4-08", 1979, 1, [] { return peak("h200", "fp8"); }},
      {"S4-08", 9000.0 / 2, 0, [] { return peak("b200", "fp8"); }},
      {"S4-09", 700, 0, [] { return gpu("h200").power; }},
      {"S4-09", 1000, 0, [] { return gpu("b200").power; }},
      {"S4-09", 1400, 0, [] { return gpu("mi355x").power; }},
      {"S4-10", 0, 0, [] { return has("h200", Format::mxfp4) + has("h200", Format::nvfp4); }},
      {"S4-11", 1.25, 0.01, [] { return peak("b300", "fp64"); }},
      {"S4-12", 2, 0.01, [] { return scale_up("b200") / scale_up("h200"); }},
      {"S4-13", 1, 0, [] { return peak("b300", "fp8") / peak("b200", "fp8"); }},
      {"S4-13", 1, 0, [] { return peak("b300", "bf16") / peak("b200", "bf16"); }},
      {"S4-14", 13500, 1, [] { return peak("b300", "fp4"); }},
      {"S4-14", 9000, 1, [] { return peak("b200", "fp4"); }},
      {"S4-15", 1.6, 0, [] { return label("b300") / label("b200"); }},
      {"S4-16", 78.6, 0.1, [] { return peak("mi355x", "fp64"); }},
      {"S4-16", 34, 1, [] { return peak("h200", "fp64"); }},
      {"S4-16", 67, 1, [] { return peak("h200", "fp64_matrix"); }},
      {"S4-16", 37, 1, [] { return peak("b200", "fp64"); }},
      {"S4-17", 1.25, 0.01, [] { return peak("b300", "fp64"); }},
      {"S4-18", 1.67, 0.01, [] { return bandwidth("b300") / bandwidth("h200"); }},
      {"S4-18", 1.67, 0.01, [] { return bandwidth("b200") / bandwidth("h200"); }},
      {"S4-30", 4.89, 0.01, [] { return price("mi355x") / label("mi355x"); }},
      {"S4-31", 13.95, 0.01, [] { return price("b300") / label("b300"); }},
      {"S4-32", 35, 1,
       [] { return 100 * price("mi355x") / label("mi355x") / (price("b300") / label("b300")); }},
      {"S4-34", 86, 1, [] { return 100 * price("b200") / price("b300"); }},
      {"S4-35", 62.5, 0, [] { return 100 * label("b200") / label("b300"); }},
      {"S4-36", 3439, 0, [] { return price("b200"); }},
      {"S4-36", 4019, 0, [] { return price("b300"); }},
      {"S4-37", 14, 1, [] { return 100 * (1 - price("b200") / price("b300")); }},
      {"S4-38", 17.93, 0.01, [] { return price("mi355x") / peak("mi355x", "fp64"); }},
      {"S4-38", 34.01, 0.01, [] { return price("h200") / peak("h200", "fp64_matrix"); }},
  });
  const auto per_gb = [](const char* name) { return price(name) / label(name); };
  CHECK(per_gb("b300") < per_gb("h200"));  // S4-33
  CHECK(per_gb("h200") < per_gb("b200"));
  CHECK(per_gb("h200") == Approx(16.16).margin(0.005));
  CHECK(per_gb("b200") == Approx(19.11).margin(0.005));
}

TEST_CASE("S4: long contexts", "[seed]") {
  check({
      {"S4-50", 327680, 0, [] { return kv_per_token(bf16); }},
      {"S4-51", 43, 1, [] { return kv_per_token(bf16) * k128 / 1e9; }},
      {"S4-52", 70, 0,
       [] { return sized(m70, "h200", fp8, articles).weights_bytes_per_gpu / 1e9; }},
      {"S4-53", 0.92 * 141 - 70, 1e-6,
       [] { return sized(m70, "h200", fp8, articles).kv_bytes_per_gpu / 1e9; }},
      {"S4-54", 1.390, 0.001, [] { return conversations("h200", fp8, articles, k128); }},
      {"S4-55", 4.539, 0.001, [] { return conversations("b300", fp8, articles, k128); }},
      {"S4-56", 4.539, 0.001, [] { return conversations("mi355x", fp8, articles, k128); }},
      {"S4-57", 2.226, 0.001, [] { return conversations("b200", fp8, articles, k128); }},
      {"S4-54", 1, 0, [] { return sized(m70, "h200", fp8, articles, k128).conversations_whole; }},
      {"S4-55", 4, 0, [] { return sized(m70, "b300", fp8, articles, k128).conversations_whole; }},
      {"S4-56", 4, 0, [] { return sized(m70, "mi355x", fp8, articles, k128).conversations_whole; }},
      {"S4-57", 2, 0, [] { return sized(m70, "b200", fp8, articles, k128).conversations_whole; }},
      {"S4-58", 23.53, 0.01, [] { return read_ms(70 + kv_per_token(bf16) * k128 / 1e9, "h200"); }},
      {"S4-58", 14.12, 0.01,
       [] { return read_ms(70 + kv_per_token(bf16) * k128 / 1e9, "mi355x"); }},
  });
}
