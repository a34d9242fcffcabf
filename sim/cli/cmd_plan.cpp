// `servegrid plan`: from people and money to a set-up, with the reasons.
#include <unistd.h>

#include <cstdio>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/plan_flags.hpp"
#include "cli/plan_text.hpp"
#include "plan/report.hpp"
#include "study/folder.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

Spec plan_spec() {
  Spec spec;
  spec.verb = "plan";
  spec.synopsis = "[PLAN] [OPTIONS]";
  spec.about =
      "Which set-up serves a load within its objectives, with how many replicas, for how much, and "
      "why the\nothers do not: a plan file or a name in plans/, or flags alone. The load is people "
      "(--preset, --users)\nor requests/s. There is no default price sheet: name one (servegrid "
      "catalog lists them).\n";
  spec.examples =
      "  servegrid plan buyer_with_a_budget\n"
      "  servegrid plan --model llama-3.1-70b --preset chat --users 2000 --gpu b200,mi355x,h200 "
      "\\\n"
      "      --weights bf16,fp8 --engine vllm --prices per-gpu-2026-11 --output results/plan\n"
      "  servegrid plan my.yaml --set load.users=4000 --price b200=3.10/h\n";
  add_plan_flags(spec);
  CommonUse use;
  use.output = use.set = use.seed = use.jobs = true;
  add_common(spec, use);
  return spec;
}

// One line on a terminal: what, how many of how many.
class Line {
 public:
  explicit Line(bool quiet) : on_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    if (on_) std::fputs("\r\033[K", stderr);
  }
  void show(const std::string& what, std::size_t done, std::size_t all) const {
    if (on_) std::fprintf(stderr, "\r\033[K%s %zu/%zu", what.c_str(), done, all);
  }

 private:
  bool on_;
};

}  // namespace

int plan_command(const Args& args) {
  const Spec spec = plan_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const PlanQuestion question = plan_question_of(*parsed, common);
  const plan::PlanSpec plan =
      question.path.empty()
          ? plan::read_plan_text(question.text, "command-line", question.overrides)
          : plan::read_plan(question.path, question.overrides);
  if (parsed->values["print-plan"].as<bool>()) {
    print(plan.text);
    return 0;
  }
  if (!common.output.empty()) study::check_output_folder(common.output);
  plan::PlanOptions options;
  options.jobs = common.jobs;
  options.requests = parsed->integer("least-requests", 50, 1'000'000, options.requests);
  options.finalists = static_cast<int>(parsed->integer("finalists", 1, 100, options.finalists));
  options.sensitivity = !parsed->values["no-sensitivity"].as<bool>();
  plan::PlanResult result;
  {
    const Line line(common.quiet);
    options.progress = [&](const std::string& what, std::size_t done, std::size_t all) {
      line.show(what, done, all);
    };
    result = plan::make_plan(plan, options);
  }
  if (!common.output.empty()) {
    study::Files files;
    for (auto& [name, text] : plan::plan_files(plan, result)) files.emplace_back(name, text);
    const HoldInterrupts hold;
    study::write_folder(common.output, files);
  }
  if (common.format == OutputFormat::json)
    print(plan::plan_json(plan, result));
  else if (common.format == OutputFormat::csv)
    print(plan::plans_csv(plan, result));
  else
    print(plan_text(plan, result));
  return result.chosen ? 0 : static_cast<int>(Exit::infeasible);
}

}  // namespace servegrid::cli
