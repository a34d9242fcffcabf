// Speculation by the engines' own names, and what the scenario assumes of its acceptance.
#include "catalog/speculation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

using units::Dimension;
using Method = Speculation::Method;

namespace {

constexpr std::int64_t most_passes = 32, most_verified = 256;

const std::vector<std::string> sglang_keys = {
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
    "speculative_num_draft_tokens", "speculative_draft_model_path"};

class Lines {
 public:
  void add(const char* key, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
  }
  [[nodiscard]] std::string flow() const { return "  speculative_config: {" + text_ + "}\n"; }

 private:
  std::string text_;
};

void load_draft(const Value& v, const Catalog& catalog, const Scenario& s, Speculation& out) {
  try {
    out.draft = std::make_shared<const Model>(catalog.model(word(v)));
  } catch (const InputError& e) {
    if (e.where().line == 0) throw v.error(e.what());
    throw;
  }
  out.draft_weights = out.draft->native_format;
  if (out.method == Method::draft_model && out.draft->vocab != s.model.vocab) {
    throw v.error(
        fmt::format("the draft's vocabulary of {} is not the {} of {}: its tokens could "
                    "not be verified",
                    out.draft->vocab, s.model.vocab, s.model.name));
  }
  if (out.method == Method::eagle && out.draft->hidden != s.model.hidden) {
    throw v.error(
        fmt::format("the head's hidden size {} is not the {} of {}, whose states it reads",
                    out.draft->hidden, s.model.hidden, s.model.name));
  }
}

void check_mtp(const Value& at, const Scenario& s) {
  if (s.model.mtp_layers == 0) {
    throw at.error(
        fmt::format("{} has no multi-token-prediction layer; a draft model or an EAGLE "
                    "head can draft for it",
                    s.model.name));
  }
}

void one_chain(Speculation& out, std::int64_t drafts) {
  out.passes = drafts;
  out.verified = drafts + 1;
}

void need_model(const Value& at, const Value& model) {
  if (!model.present()) throw at.error("needs the draft: model: NAME or a .yaml file");
}

// vllm/config/speculative.py: method, model, num_speculative_tokens, draft_tensor_parallel_size,
// quantization (2026-08).
void vllm_config(const Value& v, const Catalog& catalog, Scenario& s, Speculation& out) {
  Lines lines;
  const Value model = v.find("model"), method = v.find("method");
  std::string how = method.present() ? method.text() : "draft_model";
  if (how.ends_with("_mtp")) how = "mtp";
  if (!method.present() && !model.present())
    throw v.error("needs a method, or a model that drafts");
  const std::vector<std::string> known = {"mtp", "eagle", "eagle3", "draft_model", "ngram"};
  const auto found = std::find(known.begin(), known.end(), how);
  if (found == known.end()) {
    throw method.error("is one of mtp, eagle, eagle3, draft_model, ngram; not '" +
                       printable(method.text()) + "'");
  }
  out.method = how == "mtp"           ? Method::mtp
               : how == "ngram"       ? Method::ngram
               : how == "draft_model" ? Method::draft_model
                                      : Method::eagle;
  lines.add("method", how);
  if (out.method == Method::mtp) check_mtp(method, s);
  if (out.method == Method::eagle || out.method == Method::draft_model) {
    need_model(v, model);
    load_draft(model, catalog, s, out);
    lines.add("model", yaml_scalar(word(model), true));
    if (const Value q = v.find("quantization"); q.present()) out.draft_weights = read_format(q);
    lines.add("quantization", std::string(name(out.draft_weights)));
  } else if (model.present()) {
    throw model.error(how + " drafts without a model of its own");
  }
  if (const Value tp = v.find("draft_tensor_parallel_size"); tp.present()) {
    const std::int64_t n = tp.integer(1, 65536);
    if (n != s.parallel.tp) {
      throw tp.error(fmt::format("the draft runs on the ranks of the model: {} is not tp {}", n,
                                 s.parallel.tp));
    }
  }
  const Value drafts = v.at("num_speculative_tokens");
  one_chain(out, drafts.integer(1, most_passes));
  lines.add("num_speculative_tokens", std::to_string(out.passes));
  v.no_unknown_keys();
  out.written_as = lines.flow();
}

// tensorrt_llm/llmapi/llm_args.py: decoding_type and its lengths (2026-07).
void trtllm_config(const Value& v, const Catalog& catalog, Scenario& s, Speculation& out) {
  Lines lines;
  const Value type = v.at("decoding_type");
  const std::vector<std::string> types = {"MTP", "Eagle", "DraftTarget", "NGram"};
  const int t = choice(type, types);
  out.method = std::vector{Method::mtp, Method::eagle, Method::draft_model,
                           Method::ngram}[static_cast<std::size_t>(t)];
  lines.add("decoding_type", types[static_cast<std::size_t>(t)]);
  const char* length = "max_draft_len";
  if (out.method == Method::mtp) {
    check_mtp(type, s);
    length = "num_nextn_predict_layers";
  } else if (out.method != Method::ngram) {
    const Value model = v.find("speculative_model");
    if (!model.present()) throw v.error("needs the draft: speculative_model: NAME or a .yaml file");
    load_draft(model, catalog, s, out);
    lines.add("speculative_model", yaml_scalar(word(model), true));
  }
  one_chain(out, v.at(length).integer(1, most_passes));
  lines.add(length, std::to_string(out.passes));
  v.no_unknown_keys();
  out.written_as = lines.flow();
}

// sglang srt/server_args.py: speculative_* (2026-07). A tree of top-k branches runs num_steps draft
// passes of topk rows and verifies num_draft_tokens tokens.
void sglang_config(const Value& engine, const Catalog& catalog, Scenario& s, Speculation& out) {
  const Value algorithm = engine.at("speculative_algorithm");
  const std::vector<std::string> names = {"NEXTN", "EAGLE", "EAGLE3", "STANDALONE", "NGRAM"};
  const auto& chosen = names[static_cast<std::size_t>(choice(algorithm, names))];
  const Value model = engine.find("speculative_draft_model_path");
  out.method = chosen == "NGRAM"        ? Method::ngram
               : chosen == "STANDALONE" ? Method::draft_model
               : model.present()        ? Method::eagle
                                        : Method::mtp;  // NEXTN, and EAGLE on the model's own layer
  out.written_as = "  speculative_algorithm: " + chosen + "\n";
  if (out.method == Method::mtp) check_mtp(algorithm, s);
  if (out.method == Method::draft_model && !model.present()) {
    throw algorithm.error("STANDALONE needs speculative_draft_model_path");
  }
  if (model.present()) {
    if (out.method == Method::ngram) throw model.error("NGRAM drafts without a model of its own");
    load_draft(model, catalog, s, out);
    out.written_as += "  speculative_draft_model_path: " + yaml_scalar(word(model), false) + "\n";
  }
  const Value steps = engine.find("speculative_num_steps");
  if (!steps.present()) {
    throw algorithm.error(
        "needs speculative_num_steps: what SGLang would choose by itself depends "
        "on the model's architecture and changes with releases");
  }
  out.passes = steps.integer(1, most_passes);
  const Value topk = engine.find("speculative_eagle_topk");
  out.rows = topk.present() ? topk.integer(1, 64) : 1;
  const Value tokens = engine.find("speculative_num_draft_tokens");
  out.verified = tokens.present() ? tokens.integer(2, most_verified) : out.passes + 1;
  if (!tokens.present() && out.rows > 1) {
    throw topk.error(
        "a tree needs speculative_num_draft_tokens: how many of its nodes are verified");
  }
  if (out.rows == 1 && out.verified != out.passes + 1) {
    throw tokens.error(fmt::format("a chain of {} steps verifies {} tokens, not {}", out.passes,
                                   out.passes + 1, out.verified));
  }
  if (out.verified < out.passes + 1) {
    throw tokens.error(fmt::format("{} steps deep, the tree needs at least {} tokens", out.passes,
                                   out.passes + 1));
  }
  out.written_as += fmt::format(
      "  speculative_num_steps: {}\n  speculative_eagle_topk: {}\n  speculative_num_draft_tokens: "
      "{}\n",
      out.passes, out.rows, out.verified);
}

// One number: each draft is accepted with that probability when the one before it was.
void read_acceptance(const Value& v, Speculation& out) {
  if (v.is_list()) {
    for (const Value& item : v.items()) {
      const double p = item.quantity(Dimension::ratio, 0, 1);
      if (!out.acceptance.empty() && p > out.acceptance.back()) {
        throw item.error("a draft is accepted only with all before it: shares never rise");
      }
      out.acceptance.push_back(p);
    }
    if (static_cast<std::int64_t>(out.acceptance.size()) != out.passes) {
      throw v.error(
          fmt::format("has {} positions for {} drafts", out.acceptance.size(), out.passes));
    }
    return;
  }
  const double each = v.quantity(Dimension::ratio, 0, 1);
  double p = 1;
  for (std::int64_t i = 0; i < out.passes; ++i) out.acceptance.push_back(p *= each);
}

void read_assumption(const Value& engine, const Value& v, Speculation& out) {
  if (!v.present() || v.is_null()) {
    throw engine.error(
        "speculative decoding needs the share of drafts that are accepted, which only the model "
        "and the prompts decide: speculation: {acceptance: 70 %}, or one share a position as "
        "`vllm bench serve` prints them: {acceptance: [0.85, 0.7, 0.55]}");
  }
  read_acceptance(v.at("acceptance"), out);
  if (const Value mode = v.find("mode"); mode.present()) {
    out.sampled = choice(mode, {"expected", "sampled"}) == 1;
  }
  v.no_unknown_keys();
}

}  // namespace

std::vector<std::string> speculation_keys(Policy policy) {
  if (policy == Policy::sglang) return sglang_keys;
  if (policy == Policy::vllm_v1 || policy == Policy::trtllm) return {"speculative_config"};
  return {};
}

bool is_speculation_key(const std::string& key) {
  return key == "speculative_config" ||
         std::find(sglang_keys.begin(), sglang_keys.end(), key) != sglang_keys.end();
}

void load_speculation(const Value& engine, const Value& assumption, const Catalog& catalog,
                      Scenario& s) {
  Speculation& out = s.speculation;
  const auto keys = speculation_keys(s.engine.policy);
  const Value first = engine.is_map() && !keys.empty() ? engine.find(keys.front()) : Value();
  const bool off = engine.is_map() && !keys.empty() &&
                   first.is_null();  // said so: a sweep may compare with none
  if (first.present() && !off) {
    if (s.engine.policy == Policy::sglang) {
      sglang_config(engine, catalog, s, out);
    } else {
      (s.engine.policy == Policy::trtllm ? trtllm_config : vllm_config)(first, catalog, s, out);
    }
    read_assumption(engine, assumption, out);
    return;
  }
  for (std::size_t i = 1; i < keys.size() && engine.is_map() && !off; ++i) {
    if (const Value x = engine.find(keys[i]); x.present()) {
      throw x.error("needs " + keys.front() + " beside it");
    }
  }
  if (!assumption.present() || assumption.is_null()) return;
  if (!off) {
    throw assumption.error(
        keys.empty() ? fmt::format("{} has no speculative decoding here", s.engine.name)
                     : fmt::format("speculates without drafts: the engine needs {} too", keys[0]));
  }
  (void)assumption.find("acceptance");
  (void)assumption.find("mode");
  assumption.no_unknown_keys();
}

std::string speculation_text(const Speculation& s) {
  if (!s.on()) return {};
  std::string list;
  for (const double p : s.acceptance) list += fmt::format("{}{}", list.empty() ? "" : ", ", p);
  return fmt::format("speculation: {{acceptance: [{}], mode: {}}}\n", list,
                     s.sampled ? "sampled" : "expected");
}

std::string name(Method method) {
  switch (method) {
    case Method::mtp:
      return "mtp";
    case Method::eagle:
      return "eagle";
    case Method::draft_model:
      return "draft model";
    case Method::ngram:
      return "ngram";
    case Method::none:
      break;
  }
  return "none";
}

std::string describe(const Speculation& s) {
  std::string out = name(s.method);
  if (s.draft) out += " " + s.draft->name;
  out += fmt::format(", {} drafts", s.passes);
  if (s.rows > 1) out += fmt::format(" (tree of {}, {} verified)", s.rows, s.verified);
  return out + fmt::format(", {:.3g} tokens a step{}", s.tokens_per_step(),
                           s.sampled ? " drawn step by step" : " on average");
}

}  // namespace servegrid::catalog
