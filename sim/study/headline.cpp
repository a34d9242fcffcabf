// From points to set-ups, and to the sentence a planner can quote.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "study/compare.hpp"
#include "study/costs.hpp"

namespace servegrid::study {

namespace {

std::string grouped(double value, int decimals = 0) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  auto point = text.find('.');
  if (point == std::string::npos) point = text.size();
  for (std::size_t i = point; i > 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string times(double a, double b) {
  if (b <= 0) return a > 0 ? "more than any multiple of" : "1x";
  const double ratio = a / b;
  return fmt::format("{:.{}f}x", ratio, ratio >= 10 ? 0 : ratio >= 1.995 ? 1 : 2);
}

// How far a point is beyond each objective: above 0 it misses it. More than one request in ten
// waiting is a standing queue: those who wait see no TPOT at all.
std::array<double, 3> excess(const Point& p, double tpot_limit_ms) {
  const auto ttft = p.metric("mean_ttft_ms");
  return {p.metric("mean_tpot_ms").value_or(0) - tpot_limit_ms,
          p.load.waiting - std::max(1.0, 0.1 * static_cast<double>(p.users)),
          p.slo_ttft && ttft ? *ttft - *p.slo_ttft * 1e3 : -1};
}

// Largest load within the objectives: each is linear between the last point that meets them all
// and the first that misses any.
UsersAtSlo users_at(std::vector<const Point*> points, double slo_seconds) {
  std::sort(points.begin(), points.end(),
            [](const Point* a, const Point* b) { return a->users < b->users; });
  UsersAtSlo at;
  const Point* good = nullptr;
  for (const Point* p : points) {
    if (!p->metric("mean_tpot_ms")) continue;
    const auto after = excess(*p, slo_seconds * 1e3);
    if (*std::max_element(after.begin(), after.end()) <= 0) {
      good = p;
      at.users = static_cast<double>(p->users);
      continue;
    }
    at.none = good == nullptr;
    if (good == nullptr) return at;
    const auto before = excess(*good, slo_seconds * 1e3);
    double share = 1;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after.at(i) > 0) share = std::min(share, before.at(i) / (before.at(i) - after.at(i)));
    at.users =
        static_cast<double>(good->users) + share * static_cast<double>(p->users - good->users);
    at.interpolated = true;
    return at;
  }
  at.none = good == nullptr;
  at.at_least = good != nullptr;
  return at;
}

std::string users_text(const SetUp& s) {
  if (!s.at_slo || s.at_slo->none) return "none";
  return fmt::format("{}{}", s.at_slo->at_least ? "at least " : "",
                     grouped(std::floor(s.at_slo->users + 1e-9)));
}

std::string cost_text(const SetUp& s, const SetUp& base) {
  std::string text;
  for (const auto& cost : s.costs)
    for (const auto& other : base.costs) {
      if (cost.sheet != other.sheet) continue;
      const auto price = [](const SetUp& of, const Cost& c) {
        std::string out = fmt::format("{} {} {} a month", c.pools.empty() ? of.gpu : "all pools",
                                      grouped(c.per_month), c.currency);
        if (c.sold > of.gpus)
          out += fmt::format(", not sold singly: {} for {}", c.sold, grouped(c.sold_per_month));
        return out;
      };
      text += fmt::format(
          "; per dollar ({}): {} the resident conversations, {} the tokens/s ({}; {})", cost.sheet,
          times(s.resident / cost.per_month, base.resident / other.per_month),
          times(s.best_tokens_per_second / cost.per_month,
                base.best_tokens_per_second / other.per_month),
          price(s, cost), price(base, other));
    }
  return text;
}

// An open loop or a trace has no users to count.
std::string at_users(const SetUp& s, const char* unit = " users") {
  return s.best_users > 0 ? fmt::format(" at {}{}", s.best_users, unit) : std::string();
}

std::string sentence(const SetUp& s, const SetUp& base, const std::optional<double>& slo) {
  std::string text = fmt::format(
      "{} against {}: {} as many resident conversations of {} tokens ({} to {})", s.name, base.name,
      times(s.resident, base.resident), grouped(static_cast<double>(s.context_tokens)),
      grouped(s.resident, 2), grouped(base.resident, 2));
  text += fmt::format(", {} the output tokens/s ({}{} to {}{})",
                      times(s.best_tokens_per_second, base.best_tokens_per_second),
                      grouped(s.best_tokens_per_second), at_users(s),
                      grouped(base.best_tokens_per_second), at_users(base, ""));
  if (slo && s.at_slo && base.at_slo)
    text += fmt::format(", {} users at mean TPOT <= {} ms without a standing queue to {}",
                        users_text(s), grouped(*slo * 1e3), users_text(base));
  if (s.gpus != base.gpus)
    text += fmt::format(
        "; per GPU {} the resident conversations, {} the tokens/s",
        times(s.resident / s.gpus, base.resident / base.gpus),
        times(s.best_tokens_per_second / s.gpus, base.best_tokens_per_second / base.gpus));
  return text + cost_text(s, base) + '.';
}

std::string alone(const SetUp& s, const std::optional<double>& slo) {
  std::string text =
      fmt::format("{}: {} resident conversations of {} tokens, {} output tokens/s{}", s.name,
                  grouped(s.resident, 2), grouped(static_cast<double>(s.context_tokens)),
                  grouped(s.best_tokens_per_second), at_users(s));
  if (slo && s.at_slo)
    text += fmt::format(", {} users at mean TPOT <= {} ms without a standing queue", users_text(s),
                        grouped(*slo * 1e3));
  for (const auto& cost : s.costs)
    text += fmt::format("; {} {} per million output tokens ({})",
                        grouped(cost.per_million_tokens, 2), cost.currency, cost.sheet);
  return text + '.';
}

}  // namespace

std::vector<SetUp> set_ups_of(const std::vector<Point>& points, const catalog::Catalog& catalog) {
  std::vector<SetUp> set_ups;
  for (const auto& first : points) {
    const bool known = std::any_of(set_ups.begin(), set_ups.end(),
                                   [&](const SetUp& s) { return s.name == first.set_up; });
    if (!first.feasible || known) continue;
    SetUp s;
    s.name = first.set_up;
    s.gpu = first.gpu;
    s.gpu_title = first.gpu_title;
    s.gpus = first.all_gpus();
    s.resident = first.resident * first.replicas;
    s.context_tokens = first.context_tokens;
    std::vector<const Point*> mine;
    for (const auto& p : points) {
      if (p.set_up != s.name || !p.feasible) continue;
      mine.push_back(&p);
      const double rate = p.metric("output_throughput").value_or(0);
      if (rate > s.best_tokens_per_second) {
        s.best_tokens_per_second = rate;
        s.best_users = p.users;
      }
    }
    if (first.slo_tpot && first.users > 0) s.at_slo = users_at(mine, *first.slo_tpot);
    add_costs(s, first, catalog);
    set_ups.push_back(std::move(s));
  }
  return set_ups;
}

std::vector<std::string> headline(const std::vector<SetUp>& set_ups,
                                  const std::optional<double>& slo_tpot) {
  std::vector<std::string> sentences;
  if (set_ups.size() == 1) sentences.push_back(alone(set_ups[0], slo_tpot));
  for (std::size_t i = 1; i < set_ups.size(); ++i)
    sentences.push_back(sentence(set_ups[i], set_ups[0], slo_tpot));
  return sentences;
}

}  // namespace servegrid::study
