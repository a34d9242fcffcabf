// Speculative decoding: what drafts, how many tokens a step verifies, and how many of them are
// accepted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catalog/format.hpp"
#include "catalog/model.hpp"

namespace servegrid::catalog {

struct Speculation {
  enum class Method { none, mtp, eagle, draft_model, ngram };

  Method method = Method::none;
  std::int64_t passes = 0;    // of the draft in one step; as many positions may be accepted
  std::int64_t rows = 1;      // tokens of a sequence in one draft pass (a tree's top-k)
  std::int64_t verified = 1;  // tokens of a sequence in the step that verifies
  std::shared_ptr<const Model> draft;  // of eagle (its head) and draft_model
  Format draft_weights = Format::bf16;
  /// Share of steps in which the draft at that position is accepted (with all before it), as
  /// `vllm bench serve` prints them: never rising.
  std::vector<double> acceptance;
  bool sampled = false;    // each step draws how many are accepted; otherwise the expectation
  std::string written_as;  // knobs of the engine, as YAML lines of its part of a scenario

  [[nodiscard]] bool on() const { return method != Method::none; }
  /// Tokens a sequence gains in a step, on average: 1 + the acceptance of each position.
  [[nodiscard]] double tokens_per_step() const {
    double sum = 1;
    for (const double p : acceptance) sum += p;
    return sum;
  }
};

/// "mtp", "eagle", "draft model", "ngram".
std::string name(Speculation::Method method);
/// "mtp, 3 drafts, 2.41 tokens a step".
std::string describe(const Speculation& speculation);

}  // namespace servegrid::catalog
