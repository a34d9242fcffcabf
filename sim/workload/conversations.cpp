// Conversations: each turn's prompt is all that was said before and some new tokens.
#include <algorithm>

#include "workload/slots.hpp"

namespace servegrid::workload {

namespace {

class Conversations final : public Slots {
 public:
  Conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : Slots(spec, seed), inputs_(seed, "prompts"), outputs_(seed, "outputs") {
    if (spec.turns < 1) throw InputError("workload: turns must be at least 1");
    if (spec.history < 0) throw InputError("workload: history must not be negative");
    check_length(spec.turn_input, "turn_input");
    check_length(spec.output, "output");
    users_.resize(static_cast<std::size_t>(std::min(spec.concurrent, spec.requests)));
  }

 private:
  struct User {
    StreamId stream = -1;  // -1: the next request starts a new conversation
    std::int64_t said = 0;
    int turn = 0;
  };

  void fill(Request& request) override {
    User& user = users_[static_cast<std::size_t>(request.user)];
    if (user.stream < 0) user = {++conversations_, spec().history, 0};
    request.stream = user.stream;
    request.turn = user.turn;
    request.prompt_tokens = user.said + draw_length(spec().turn_input, inputs_, request.id);
    request.output_tokens = draw_length(spec().output, outputs_, request.id);
  }

  void ended(const Request& request, bool completed) override {
    User& user = users_[static_cast<std::size_t>(request.user)];
    user.said = request.prompt_tokens + request.output_tokens;
    if (++user.turn >= spec().turns || !completed) user.stream = -1;
  }

  Stream inputs_, outputs_;
  std::vector<User> users_;
  StreamId conversations_ = system_prompt;
};

}  // namespace

std::unique_ptr<Source> make_conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Conversations>(spec, seed);
}

}  // namespace servegrid::workload
