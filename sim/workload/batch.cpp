// A batch: all requests are there at the start.
#include "workload/mix.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

namespace {

class Batch final : public Source {
 public:
  Batch(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : requests_(spec.requests), mix_(spec, seed) {}

  std::optional<Request> next_arrival() override {
    if (issued_ >= requests_) return std::nullopt;
    Request request;
    request.id = issued_++;
    mix_.fill(request);
    return request;
  }
  std::optional<Request> on_end(const Request&, Ticks, bool) override { return std::nullopt; }
  [[nodiscard]] std::int64_t total() const override { return requests_; }

 private:
  std::int64_t requests_, issued_ = 0;
  Mix mix_;
};

}  // namespace

std::unique_ptr<Source> make_batch(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Batch>(spec, seed);
}

}  // namespace servegrid::workload
