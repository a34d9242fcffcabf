// Open loop: arrivals at a rate, whatever the servers do.
#include "workload/arrivals.hpp"
#include "workload/mix.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

namespace {

class Open final : public Source {
 public:
  Open(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : requests_(spec.requests), arrivals_(spec, seed), mix_(spec, seed) {}

  std::optional<Request> next_arrival() override {
    if (issued_ >= requests_) return std::nullopt;
    Request request;
    request.id = issued_++;
    request.arrival = arrivals_.next();
    mix_.fill(request);
    return request;
  }
  std::optional<Request> on_end(const Request&, Ticks, bool) override { return std::nullopt; }
  [[nodiscard]] std::int64_t total() const override { return requests_; }

 private:
  std::int64_t requests_, issued_ = 0;
  Arrivals arrivals_;
  Mix mix_;
};

}  // namespace

std::unique_ptr<Source> make_open(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Open>(spec, seed);
}

}  // namespace servegrid::workload
