// Qwen-Bailian's traces (alibaba-edu/qwen-bailian-usagetraces-anon): timestamp in seconds, one hash
// id a block of 16 tokens; turns of a chat point to the one before (parent_chat_id, -1: the first).
#include <unordered_map>

#include "workload/traces/json_lines.hpp"

namespace servegrid::workload {

namespace {

class QwenBailian final : public JsonLines {
 public:
  QwenBailian(std::istream& in, const catalog::TraceSpec& spec) : JsonLines(in, spec, 1, 16) {}

 private:
  void more(TraceRow& row, double chat, double parent, double turn) override {
    row.turn = turn >= 1 && turn <= 1e6 ? static_cast<int>(turn) - 1 : 0;
    // The user is who began the chat.
    const auto root = parent >= 0 ? roots_.find(parent) : roots_.end();
    row.user = root != roots_.end() ? root->second : users_++;
    if (chat >= 0) roots_[chat] = row.user;
  }

  std::unordered_map<double, std::int64_t> roots_;  // by chat id
  std::int64_t users_ = 0;
};

}  // namespace

const TraceFormat qwen_bailian_format = {
    "qwen-bailian",
    "Qwen-Bailian JSONL: chat_id, parent_chat_id, timestamp, ..., hash_ids of 16 tokens; seconds",
    [](const std::string& line) {
      return line.front() == '{' && line.find("\"hash_ids\"") != std::string::npos &&
             line.find("\"chat_id\"") != std::string::npos;
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<QwenBailian>(in, spec);
    }};

}  // namespace servegrid::workload
