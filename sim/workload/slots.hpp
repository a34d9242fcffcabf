// What conversations and closed loops share: N slots that each have one request in flight.
#pragma once

#include "units/error.hpp"
#include "workload/random.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

class Slots : public Source {
 public:
  Slots(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : spec_(spec), think_(seed, "think") {
    if (spec.concurrent < 1) throw InputError("workload: concurrent must be at least 1");
  }

  std::optional<Request> next_arrival() final {
    if (issued_ >= total() || started_ >= spec_.concurrent) return std::nullopt;
    return issue(started_++, 0);
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
  /// Lengths, stream and turn of the next request of `request.user`; its id is set.
  virtual void fill(Request& request) = 0;
  virtual void ended(const Request& request, bool completed) = 0;
  [[nodiscard]] const catalog::WorkloadSpec& spec() const { return spec_; }

 private:
  Request issue(std::int64_t user, Ticks arrival) {
    Request request;
    request.id = issued_++;
    request.user = user;
    request.arrival = arrival;
    fill(request);
    share_prefix(request, spec_.shared_prefix);
    return request;
  }

  catalog::WorkloadSpec spec_;
  Stream think_;
  std::int64_t issued_ = 0, started_ = 0;
};

}  // namespace servegrid::workload
