// Conversations: each turn's prompt is all that was said before and some new tokens.
#include <algorithm>

#include "workload/slots.hpp"

namespace servegrid::workload {

namespace {

class Conversations final : public Slots {
 public:
  Conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed)
      : Slots(spec, seed), inputs_(seed, "prompts"), outputs_(seed, "outputs") {
    const auto add = [this](const catalog::RequestSpec& r) {
      if (r.turns < 1) throw InputError("workload: turns must be at least 1");
      if (r.history < 0) throw InputError("workload: history must not be negative");
      turn_inputs_.emplace_back(r.turn_input, "turn_input");
      turn_outputs_.emplace_back(r.output, "output");
    };
    if (spec.classes.empty()) add(spec);
    for (const catalog::ClassSpec& c : spec.classes) add(c);
    users_.resize(static_cast<std::size_t>(std::min(spec.concurrent, spec.requests)));
  }

 private:
  struct User {
    StreamId stream = -1;  // -1: the next request starts a new conversation
    std::int64_t said = 0;
    int turn = 0, class_index = 0;
  };

  void fill(Request& request) override {
    User& user = users_[static_cast<std::size_t>(request.user)];
    if (user.stream < 0) {
      const int chosen = mix().class_of(conversations_);
      user = {first_stream + conversations_++, mix()[chosen].history, 0, chosen};
    }
    const auto chosen = static_cast<std::size_t>(user.class_index);
    mix().mark(request, user.class_index);
    request.stream = user.stream;
    request.turn = user.turn;
    request.prompt_tokens = user.said + turn_inputs_[chosen].draw(inputs_, request.id);
    request.output_tokens = turn_outputs_[chosen].draw(outputs_, request.id);
    share_prefix(request, mix()[user.class_index].shared_prefix, user.class_index);
  }

  void ended(const Request& request, bool completed) override {
    User& user = users_[static_cast<std::size_t>(request.user)];
    user.said = request.prompt_tokens + request.output_tokens;
    if (++user.turn >= mix()[user.class_index].turns || !completed) user.stream = -1;
  }

  Stream inputs_, outputs_;
  std::vector<Lengths> turn_inputs_, turn_outputs_;  // by class
  std::vector<User> users_;
  std::int64_t conversations_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Conversations>(spec, seed);
}

}  // namespace servegrid::workload
