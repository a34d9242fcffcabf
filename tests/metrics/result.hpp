// A run small enough to work out by hand: two requests, one of one token, and one rejected.
#pragma once

#include "metrics/result.hpp"

inline servegrid::metrics::RunResult small_run() {
  using namespace servegrid;
  metrics::RunResult run;
  run.num_blocks = 10;
  metrics::RequestRecord a;
  a.id = 0;
  a.user = 3;
  a.outcome = metrics::Outcome::completed;
  a.prompt_tokens = 100;
  a.output_tokens = 5;
  a.scheduled = to_ticks(0.25);
  a.first_token = to_ticks(0.5);
  a.finish = to_ticks(2.5);
  metrics::RequestRecord b;
  b.id = 1;
  b.outcome = metrics::Outcome::completed;
  b.prompt_tokens = 20;
  b.output_tokens = 1;
  b.arrival = to_ticks(1);
  b.scheduled = to_ticks(1);
  b.first_token = b.finish = to_ticks(4);
  metrics::RequestRecord c;
  c.id = 2;
  c.outcome = metrics::Outcome::rejected;
  c.prompt_tokens = c.output_tokens = 1;
  c.reason = "too long, \"really\"";
  run.requests = {a, b, c};
  metrics::Epoch prefill;
  prefill.start = to_ticks(0.25);
  prefill.steps = 1;
  prefill.prefill_tokens = 100;
  prefill.running = 1;
  prefill.first_step = to_ticks(0.25);
  metrics::Epoch decode;
  decode.start = to_ticks(0.5);
  decode.steps = 4;
  decode.sequences = 1;
  decode.context_tokens = 101;
  decode.blocks_used = 7;
  decode.waiting = 2;
  decode.running = 1;
  decode.first_step = to_ticks(0.125);
  decode.step_growth = to_ticks(0.25);
  run.timeline = {prefill, decode};
  run.end = to_ticks(4);
  run.counters.requests = 3;
  run.counters.completed = 2;
  run.counters.rejected = 1;
  run.counters.tokens_generated = 6;
  run.counters.blocks_allocated = run.counters.blocks_freed = 8;
  return run;
}
