#include "metrics/steady.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace servegrid::metrics {

namespace {

constexpr std::size_t batches = 20;
constexpr double student_95 = 2.093;  // 19 degrees of freedom

double mean_of(const double* begin, std::size_t count) {
  return std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}

}  // namespace

std::size_t mser5(const std::vector<double>& values) {
  constexpr std::size_t size = 5;
  if (values.size() < 50) return 0;
  const std::size_t count = values.size() / size;
  std::vector<double> means(count);
  for (std::size_t i = 0; i < count; ++i) means[i] = mean_of(&values[i * size], size);
  double sum = 0, squares = 0, least = std::numeric_limits<double>::infinity();
  std::size_t cut = 0;
  // From the end, so that each cut's variance follows from the one after it. Sums are taken about
  // the last mean: large equal values would cancel otherwise.
  const double about = means.back();
  for (std::size_t i = count; i-- > 0;) {
    const double v = means[i] - about;
    sum += v;
    squares += v * v;
    const auto left = static_cast<double>(count - i);
    if (i > count / 2) continue;
    const double error = (squares - sum * sum / left) / (left * left);
    if (error <= least) {
      least = error;
      cut = i;
    }
  }
  return cut * size;
}

std::optional<double> half_width(const std::vector<double>& values) {
  if (values.size() < 5 * batches) return std::nullopt;
  const std::size_t size = values.size() / batches, skipped = values.size() % batches;
  std::vector<double> means(batches);
  for (std::size_t i = 0; i < batches; ++i) means[i] = mean_of(&values[skipped + i * size], size);
  const double mean = mean_of(means.data(), batches);
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  return student_95 * std::sqrt(squares / (batches * (batches - 1)));
}

Samples samples_of(const std::vector<RequestRecord>& requests, const std::vector<bool>& measured) {
  Samples s;
  for (const RequestRecord& r : requests) {
    const auto id = static_cast<std::size_t>(r.id);
    if (id < measured.size() && !measured[id]) continue;
    if (r.outcome != Outcome::completed) continue;
    s.ttft.push_back(to_seconds(r.first_token - r.arrival));
    if (r.output_tokens < 2) continue;
    s.tpot.push_back(to_seconds(r.finish - r.first_token) /
                     static_cast<double>(r.output_tokens - 1));
  }
  return s;
}

bool precise(const std::vector<RequestRecord>& requests, double precision) {
  const Samples s = samples_of(requests, {});
  const auto known = [&](const std::vector<double>& all) {
    const std::vector<double> values(all.begin() + static_cast<std::ptrdiff_t>(mser5(all)),
                                     all.end());
    const auto half = half_width(values);
    return half && *half <= precision * mean_of(values.data(), values.size());
  };
  return known(s.ttft) && (s.tpot.empty() || known(s.tpot));
}

namespace {

// Of completed requests, the first `skipped` to finish.
void leave_out_first(const RunResult& result, double fraction, std::vector<bool>& out) {
  std::vector<const RequestRecord*> done;
  for (const RequestRecord& r : result.requests) {
    if (r.outcome == Outcome::completed) done.push_back(&r);
  }
  const auto skipped =
      static_cast<std::ptrdiff_t>(std::floor(fraction * static_cast<double>(done.size())));
  const auto before = [](const RequestRecord* a, const RequestRecord* b) {
    return std::pair(a->finish, a->id) < std::pair(b->finish, b->id);
  };
  std::nth_element(done.begin(), done.begin() + skipped, done.end(), before);
  for (auto it = done.begin(); it != done.begin() + skipped; ++it) {
    out[static_cast<std::size_t>((*it)->id)] = false;
  }
}

std::size_t found_cut(const RunResult& result) {
  std::vector<double> seconds;
  std::vector<std::size_t> ids;
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& r = result.requests[i];
    if (r.outcome != Outcome::completed) continue;
    seconds.push_back(to_seconds(r.finish - r.arrival));
    ids.push_back(i);
  }
  const std::size_t cut = mser5(seconds);
  return cut == 0 ? 0 : ids[cut];
}

}  // namespace

std::vector<bool> measured(const RunResult& result, const Warmup& warmup) {
  std::vector<bool> out(result.requests.size(), true);
  if (warmup.fraction > 0) leave_out_first(result, warmup.fraction, out);
  const std::size_t cut = warmup.automatic ? found_cut(result) : 0;
  std::fill(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(cut), false);
  if (warmup.time > 0) {
    const Ticks from = to_ticks(warmup.time);
    for (const RequestRecord& r : result.requests) {
      if (r.arrival < from) out[static_cast<std::size_t>(r.id)] = false;
    }
  }
  return out;
}

Verdict verdict_of(const RunResult& result, std::int64_t users, double mean_waiting) {
  // Clients who leave bound the queue: that it does not grow says nothing then.
  const auto gave_up = std::count_if(
      result.requests.begin(), result.requests.end(),
      [](const RequestRecord& r) { return r.outcome == Outcome::failed && r.reason == timed_out; });
  if (100 * gave_up > static_cast<std::int64_t>(result.requests.size())) {
    return {true, fmt::format("saturated: {} of {} clients gave up waiting", gave_up,
                              result.requests.size())};
  }
  if (users > 0) {
    // The threshold of `compare`: one user in ten waits for the engine.
    if (mean_waiting <= 0.1 * static_cast<double>(users)) return {false, "keeps up"};
    return {true, fmt::format("saturated: {:.1f} of {} users wait for the engine on average",
                              mean_waiting, users)};
  }
  // Of what arrives in the second half of the arrivals' time, how much more is left at its end than
  // was there at its beginning.
  const auto& requests = result.requests;
  if (requests.size() < 20) return {false, "too few requests to tell"};
  Ticks last = 0;
  for (const RequestRecord& r : requests) last = std::max(last, r.arrival);
  const Ticks half = last / 2;
  std::int64_t arrived = 0, in_system = 0, before = 0;
  for (const RequestRecord& r : requests) {
    const bool ended = r.outcome != Outcome::in_flight;
    if (r.arrival > half) ++arrived;
    if (r.arrival <= half && !(ended && r.finish <= half)) ++before;
    if (r.arrival <= last && !(ended && r.finish <= last)) ++in_system;
  }
  const std::int64_t growth = in_system - before;
  if (arrived < 10) return {false, "too few requests to tell"};
  // Above what chance makes of a stable queue: the growth of a random walk of `arrived` steps.
  const double chance = 3 * std::sqrt(static_cast<double>(arrived));
  if (static_cast<double>(growth) <= std::max(0.1 * static_cast<double>(arrived), chance)) {
    return {false, "keeps up"};
  }
  return {true, fmt::format("saturated: of the {} requests in the second half of the arrivals, {} "
                            "were left over at its end: the queue grows with the length of the run",
                            arrived, growth)};
}

}  // namespace servegrid::metrics
