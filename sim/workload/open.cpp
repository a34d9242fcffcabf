// Open loop: Poisson arrivals at a mean rate, whatever the servers do.
#include <cmath>

#include "units/error.hpp"
#include "workload/random.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

namespace {

class Open final : public Source {
 public:
  Open(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : spec_(spec),
        arrivals_(seed, "arrivals"),
        prompts_(seed, "prompts"),
        outputs_(seed, "outputs") {
    if (!(spec.rate > 0) || !std::isfinite(spec.rate)) {
      throw InputError("workload: rate must be above 0 requests per second");
    }
    check_length(spec.prompt, "prompt");
    check_length(spec.output, "output");
  }

  std::optional<Request> next_arrival() override {
    if (issued_ >= spec_.requests) return std::nullopt;
    Request request;
    request.id = issued_++;
    // The same gaps at any rate, only scaled: two rates are compared with common random numbers.
    last_ += to_ticks(draw_exponential(1.0 / spec_.rate, arrivals_, request.id));
    request.arrival = last_;
    request.prompt_tokens = draw_length(spec_.prompt, prompts_, request.id);
    request.output_tokens = draw_length(spec_.output, outputs_, request.id);
    share_prefix(request, spec_.shared_prefix);
    return request;
  }
  std::optional<Request> on_end(const Request&, Ticks, bool) override { return std::nullopt; }
  [[nodiscard]] std::int64_t total() const override { return spec_.requests; }

 private:
  catalog::WorkloadSpec spec_;
  Stream arrivals_, prompts_, outputs_;
  std::int64_t issued_ = 0;
  Ticks last_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_open(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Open>(spec, seed);
}

}  // namespace servegrid::workload
