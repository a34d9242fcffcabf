// One pass of what drafts under speculative decoding, as a table of its own.
#include <fmt/format.h>

#include <algorithm>

#include "roofline/compiler.hpp"
#include "units/error.hpp"

namespace servegrid::roofline {

namespace {

void rename(Label& label) {
  label.name = "draft_" + label.name;
}

void rename(Table& t) {
  for (auto& op : t.gemms) rename(op.label);
  for (auto& op : t.attention) {
    rename(op.decode_label);
    rename(op.prefill_label);
  }
  for (auto& op : t.states) rename(op.label);
  for (auto& op : t.moes) rename(op.label);
  for (auto& x : t.exchanges) rename(x.label);
  for (Label* label : {&t.elementwise, &t.all_reduce, &t.all_to_all}) rename(*label);
}

}  // namespace

Table Compiler::run_draft(const std::vector<std::int64_t>& windows, bool joins_states) {
  collect_windows();
  for (const std::int64_t w : table_.windows) {
    if (std::find(windows.begin(), windows.end(), w) == windows.end()) {
      throw InputError(fmt::format(
          "draft {} attends to a window of {} tokens, which the model it drafts for does not have: "
          "not modelled",
          d_.model.name, w));
    }
  }
  table_.windows = windows;
  if (joins_states) {
    // The model's last state and the token's embedding, on every rank.
    const auto h = static_cast<double>(d_.model.hidden);
    gemm("join", precision("attention"), h, 2 * h, Rows::tokens, 1);
  }
  Table t = tabulate();
  t.draft = true;
  rename(t);
  return t;
}

Table compile_draft(const model::Deployment& d, const Fits& fits, const Table& target) {
  using Method = catalog::Speculation::Method;
  const model::Deployment draft = model::draft_of(d);
  const bool joins = d.speculation.method == Method::mtp || d.speculation.method == Method::eagle;
  return Compiler(draft, fits).run_draft(target.windows, joins);
}

}  // namespace servegrid::roofline
