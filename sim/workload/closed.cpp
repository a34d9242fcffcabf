// Closed loop: a new, unrelated request as soon as one ends.
#include "workload/slots.hpp"

namespace servegrid::workload {

namespace {

class Closed final : public Slots {
 public:
  Closed(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : Slots(spec, seed), prompts_(seed, "prompts"), outputs_(seed, "outputs") {
    check_length(spec.prompt, "prompt");
    check_length(spec.output, "output");
  }

 private:
  void fill(Request& request) override {
    request.prompt_tokens = draw_length(spec().prompt, prompts_, request.id);
    request.output_tokens = draw_length(spec().output, outputs_, request.id);
  }
  void ended(const Request&, bool) override {}

  Stream prompts_, outputs_;
};

}  // namespace

std::unique_ptr<Source> make_closed(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Closed>(spec, seed);
}

}  // namespace servegrid::workload
