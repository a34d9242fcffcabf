// yaml-cpp's events -> Tree. The only place that includes yaml-cpp.
#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <set>
#include <sstream>

#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

/// Builds the tree and refuses what the grammar of the data files does not have. It throws from
/// within the parser, so that neither depth nor size can grow past the limits.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<const Source> source, const ReadLimits& limits)
      : source_(std::move(source)), limits_(limits), tree_(std::make_shared<Tree>()) {}

  [[nodiscard]] std::shared_ptr<Tree> tree() const { return tree_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!tree_->nodes.empty()) fail(mark, "a second document starts here; a file holds one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(mark, "a key is missing before ':'");
    end(add(mark, Node::Kind::null, anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) fail(mark, "an alias cannot be a key");
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(mark, "this alias has no anchor");
    for (const Open& open : open_) {
      if (open.node == it->second) fail(mark, "this alias refers to what it is part of");
    }
    count_copy(mark, it->second);
    const int node = tree_->graft(*tree_, it->second, parent());
    tree_->nodes[static_cast<std::size_t>(node)].key = {};
    name(node);
    end(node);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag != "?" && tag != "!" && !tag.empty()) fail(mark, "tags (!...) are not used here");
    if (value.size() > limits_.max_scalar) {
      fail(mark,
           fmt::format("is a text of {} bytes; the limit is {}", value.size(), limits_.max_scalar));
    }
    if (wants_key()) return begin_key(mark, value);
    const int node = add(mark, Node::Kind::scalar, anchor);
    bytes_ += value.size();
    tree_->nodes[static_cast<std::size_t>(node)].text = value;
    tree_->nodes[static_cast<std::size_t>(node)].quoted = tag == "!";
    end(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, Node::Kind::list, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, Node::Kind::map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    int node = -1;
    bool map = false;
    bool has_key = false;
    std::string key;
    int key_line = 0, key_column = 0;
    std::map<std::string, int> keys;  // -> line
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    const int line = mark.line + 1;
    throw error_at(*source_, line, character_column(*source_, line, mark.column + 1), message);
  }

  [[nodiscard]] bool wants_key() const {
    return !open_.empty() && open_.back().map && !open_.back().has_key;
  }
  [[nodiscard]] int parent() const { return open_.empty() ? -1 : open_.back().node; }

  void begin_key(const YAML::Mark& mark, const std::string& key) {
    Open& map = open_.back();
    if (key.size() > 256) fail(mark, "is a key of more than 256 bytes");
    const auto [it, fresh] = map.keys.emplace(key, mark.line + 1);
    if (!fresh) {
      fail(mark, fmt::format("duplicate key '{}' (first on line {}; keep one)", printable(key),
                             it->second));
    }
    map.has_key = true;
    map.key = key;
    map.key_line = mark.line + 1;
    map.key_column = column(mark);
  }

  // Counting characters from the start of the line for every node would be quadratic in a file of
  // one long line; the byte column is kept and converted when a message is made.
  static int column(const YAML::Mark& mark) { return mark.column + 1; }

  int add(const YAML::Mark& mark, Node::Kind kind, YAML::anchor_t anchor) {
    if (tree_->nodes.size() >= limits_.max_nodes) {
      fail(mark, fmt::format("the file holds more than {} values", limits_.max_nodes));
    }
    Node node;
    node.kind = kind;
    node.source = source_;
    node.line = mark.line + 1;
    node.column = column(mark);
    const int index = tree_->add(std::move(node), parent());
    name(index);
    if (anchor != 0) anchors_[anchor] = index;
    return index;
  }

  void name(int index) {
    if (open_.empty() || !open_.back().map) return;
    Node& node = tree_->nodes[static_cast<std::size_t>(index)];
    node.key = open_.back().key;
    node.key_line = open_.back().key_line;
    node.key_column = open_.back().key_column;
  }

  void end(int /*node*/) {
    if (!open_.empty()) open_.back().has_key = false;
  }

  void begin(const YAML::Mark& mark, const std::string& tag, Node::Kind kind,
             YAML::anchor_t anchor) {
    if (tag != "?" && tag != "!" && !tag.empty()) fail(mark, "tags (!...) are not used here");
    if (wants_key()) fail(mark, "a key must be a word, not a list or a map");
    if (static_cast<int>(open_.size()) >= limits_.max_depth) {
      fail(mark, fmt::format("is nested deeper than {} levels", limits_.max_depth));
    }
    Open open;
    open.node = add(mark, kind, anchor);
    open.map = kind == Node::Kind::map;
    open_.push_back(std::move(open));
  }

  void close() {
    open_.pop_back();
    if (!open_.empty()) open_.back().has_key = false;
  }

  /// Refuses an alias whose copy would pass the limits, before anything is copied.
  void count_copy(const YAML::Mark& mark, int from) {
    std::size_t nodes = 0;
    int depth = 0;
    std::vector<std::pair<int, int>> todo = {{from, 1}};
    while (!todo.empty()) {
      const auto [index, level] = todo.back();
      todo.pop_back();
      depth = std::max(depth, level);
      const Node& node = tree_->nodes[static_cast<std::size_t>(index)];
      bytes_ += node.text.size() + node.key.size();
      if (++nodes + tree_->nodes.size() > limits_.max_nodes || bytes_ > 4 * limits_.max_bytes) {
        fail(mark, fmt::format("aliases expand to more than {} values or 16 MiB (use fewer)",
                               limits_.max_nodes));
      }
      for (const int child : node.children) todo.emplace_back(child, level + 1);
    }
    if (depth + static_cast<int>(open_.size()) > limits_.max_depth) {
      fail(mark, fmt::format("aliases nest deeper than {} levels", limits_.max_depth));
    }
  }

  std::shared_ptr<const Source> source_;
  ReadLimits limits_;
  std::shared_ptr<Tree> tree_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, int> anchors_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<Tree> parse_yaml(const std::shared_ptr<const Source>& source,
                                 const ReadLimits& limits) {
  check_text(*source, limits);
  Builder builder(source, limits);
  try {
    std::istringstream in(source->text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    const int line = e.mark.line + 1;
    throw error_at(*source, line, character_column(*source, line, e.mark.column + 1),
                   "is not valid YAML: " + printable(e.msg, 200));
  }
  const auto tree = builder.tree();
  if (tree->nodes.empty() || tree->nodes.front().kind == Node::Kind::null) {
    throw error_at(*source, 1, 1, "is empty (docs/data-files.md shows what belongs here)");
  }
  return tree;
}

}  // namespace servegrid::catalog
