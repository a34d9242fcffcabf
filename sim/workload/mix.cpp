#include "workload/mix.hpp"

#include <algorithm>

#include "units/error.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

Mix::Mix(const catalog::WorkloadSpec& spec, std::uint64_t seed)
    : classes_(spec.classes),
      choices_(seed, "classes"),
      prompts_(seed, "prompts"),
      outputs_(seed, "outputs"),
      leaving_(seed, "leaving"),
      patience_(seed, "patience") {
  if (classes_.empty()) {
    classes_.emplace_back();
    static_cast<catalog::RequestSpec&>(classes_.back()) = spec;
  }
  const bool turns = spec.kind == catalog::WorkloadSpec::Kind::conversations;
  double sum = 0;
  for (const catalog::ClassSpec& c : classes_) {
    if (c.shared_prefix < 0) throw InputError("workload: shared_prefix must not be negative");
    cumulative_.push_back(sum += c.share);
    if (!turns) lengths_.emplace_back(c, c.name.empty() ? "" : "class " + c.name + ": ");
  }
  if (!(sum > 0)) throw InputError("workload: the classes need a share above 0");
}

int Mix::class_of(std::int64_t index) const {
  if (classes_.size() == 1) return 0;
  const double goal = draw_uniform(choices_, index) * cumulative_.back();
  auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), goal);
  if (it == cumulative_.end()) --it;
  return static_cast<int>(it - cumulative_.begin());
}

void Mix::mark(Request& request, int class_index) const {
  const catalog::ClassSpec& c = (*this)[class_index];
  request.class_index = class_index;
  request.priority = c.priority;
  request.timeout = to_ticks(c.timeout);
  request.cancel_after = 0;
  if (c.cancel_share <= 0 || draw_uniform(leaving_, request.id) >= c.cancel_share) return;
  const double after = c.cancel_exponential
                           ? draw_exponential(c.cancel_after, patience_, request.id)
                           : c.cancel_after;
  request.cancel_after = std::max<Ticks>(1, to_ticks(after));
}

void Mix::fill(Request& request) const {
  const int chosen = class_of(request.id);
  mark(request, chosen);
  const auto pair = lengths_[static_cast<std::size_t>(chosen)].draw(prompts_, outputs_, request.id);
  request.prompt_tokens = pair.prompt;
  request.output_tokens = pair.output;
  share_prefix(request, (*this)[chosen].shared_prefix, chosen);
}

}  // namespace servegrid::workload
