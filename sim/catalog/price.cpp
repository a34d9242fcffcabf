#include "catalog/price.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "catalog/load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

Offer load_offer(const Value& v, const std::string& currency) {
  Offer o;
  o.gpu = word(v.at("gpu"));
  o.title = text_or(v, "title");
  const Value counts = v.at("counts");
  for (const Value& item : counts.items()) {
    o.counts.push_back(static_cast<int>(item.integer(1, 1'000'000)));
    if (o.counts.size() > 1 && o.counts.back() <= o.counts[o.counts.size() - 2]) {
      throw item.error("counts must rise");
    }
  }
  if (o.counts.empty()) throw counts.error("an offer needs at least one count");
  const Value per_gpu = v.find("per_gpu"), per_server = v.find("per_server");
  if (per_gpu.present() == per_server.present()) {
    throw v.error("an offer has exactly one of 'per_gpu' and 'per_server'");
  }
  if (per_gpu.present()) o.per_gpu_month = load_money(per_gpu, currency);
  if (per_server.present()) o.per_server_month = load_money(per_server, currency);
  if (const Value x = v.find("domain"); x.present()) {
    o.domain = static_cast<int>(x.integer(1, 100'000));
  }
  o.kind = word(v.at("kind"));
  o.minimum_term = text_or(v, "minimum_term");
  o.availability = text_or(v, "availability");
  o.network = text_or(v, "network");
  o.source = word(v.at("source"));
  o.note = text_or(v, "note");
  v.no_unknown_keys();
  return o;
}

}  // namespace

double load_money(const Value& v, const std::string& currency) {
  const std::string text = v.text();
  double number = 0;
  const std::size_t used = units::scan_number(text, number);
  const auto fix = fmt::format("write it as '1409 {0}/month' or '2.59 {0}/h'", currency);
  if (used == 0 || !std::isfinite(number)) {
    throw v.error(fmt::format("expected a price, got '{}' ({})", printable(text), fix));
  }
  if (number < 0) throw v.error(fmt::format("a price of '{}' is negative", printable(text)));
  std::string unit = text.substr(used);
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty()) throw v.error(fmt::format("a price needs currency and period ({})", fix));
  double months = 0;
  if (unit == currency + "/month") months = 1;
  if (unit == currency + "/h" || unit == currency + "/hour") months = hours_per_month;
  if (unit == currency + "/year") months = 1.0 / 12;
  if (months == 0) {
    throw v.error(
        fmt::format("'{}' is not a price in the sheet's currency ({})", printable(unit), fix));
  }
  if (number * months > 1e12) throw v.error("is too large a price");
  return number * months;
}

PriceSheet load_prices(const Value& v, const std::string& name, const std::string& file) {
  PriceSheet sheet;
  sheet.name = name;
  sheet.file = file;
  sheet.title = text_or(v, "title", name);
  sheet.date = word(v.at("date"));
  sheet.source = word(v.at("source"));
  if (const Value x = v.find("currency"); x.present()) sheet.currency = word(x);
  text_or(v, "note");
  texts_or(v, "aliases");
  for (const Value& item : v.at("offers").items()) {
    sheet.offers.push_back(load_offer(item, sheet.currency));
  }
  read_facts(v);
  v.no_unknown_keys();
  return sheet;
}

double Offer::month(int gpus) const {
  const auto sold = std::lower_bound(counts.begin(), counts.end(), gpus);
  if (sold == counts.end()) return -1;
  return per_server_month > 0 ? per_server_month : per_gpu_month * *sold;
}

const Offer* PriceSheet::find(const std::string& gpu, int gpus) const {
  const Offer* best = nullptr;
  for (const Offer& offer : offers) {
    if (offer.gpu != gpu || (offer.domain > 0 && offer.domain < gpus)) continue;
    const double price = offer.month(gpus);
    if (price >= 0 && (best == nullptr || price < best->month(gpus))) best = &offer;
  }
  return best;
}

}  // namespace servegrid::catalog
