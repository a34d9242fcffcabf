// What conversations and closed loops share: N slots that each have one request in flight.
#pragma once

#include <algorithm>
#include <optional>

#include "units/error.hpp"
#include "workload/arrivals.hpp"
#include "workload/mix.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

class Slots : public Source {
 public:
  Slots(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : spec_(spec), mix_(spec, seed), think_(seed, "think") {
    if (spec.concurrent < 1) throw InputError("workload: concurrent must be at least 1");
    if (spec.rate > 0) releases_.emplace(spec, seed);
  }

  std::optional<Request> next_arrival() final {
    if (issued_ >= total() || started_ >= spec_.concurrent) return std::nullopt;
    const double share = static_cast<double>(started_) / static_cast<double>(spec_.concurrent);
    return issue(started_++, to_ticks(spec_.ramp_up * share));
  }

  std::optional<Request> on_end(const Request& request, Ticks now, bool completed) final {
    ended(request, completed);
    if (issued_ >= total()) return std::nullopt;
    const double wait = spec_.think_exponential
                            ? draw_exponential(spec_.think_time, think_, issued_)
                            : spec_.think_time;
    return issue(request.user, now + to_ticks(wait));
  }

  [[nodiscard]] std::int64_t total() const final { return spec_.requests; }

 protected:
  /// Lengths, stream, class and turn of the next request of `request.user`; its id is set.
  virtual void fill(Request& request) = 0;
  virtual void ended(const Request& request, bool completed) = 0;
  [[nodiscard]] const catalog::WorkloadSpec& spec() const { return spec_; }
  [[nodiscard]] const Mix& mix() const { return mix_; }

 private:
  // With a rate, requests are released one after the other and then wait for a slot, as with
  // --request-rate and --max-concurrency of vllm bench serve.
  Request issue(std::int64_t user, Ticks arrival) {
    Request request;
    request.id = issued_++;
    request.user = user;
    request.arrival = releases_ ? std::max(arrival, releases_->next()) : arrival;
    fill(request);
    return request;
  }

  catalog::WorkloadSpec spec_;
  Mix mix_;
  Stream think_;
  std::optional<Arrivals> releases_;
  std::int64_t issued_ = 0, started_ = 0;
};

}  // namespace servegrid::workload
