// libyaml's events -> Tree. The only place that includes libyaml.
#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

using Mark = yaml_mark_t;  // line and column from 0, in characters

std::string text_of(const yaml_char_t* text, std::size_t size) {
  return {reinterpret_cast<const char*>(text), size};
}
std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

bool is_null(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

/// Builds the tree and refuses what the grammar of the data files does not have, event by event, so
/// that neither depth nor size can grow past the limits.
class Builder {
 public:
  Builder(std::shared_ptr<const Source> source, const ReadLimits& limits)
      : source_(std::move(source)), limits_(limits), tree_(std::make_shared<Tree>()) {}

  [[nodiscard]] std::shared_ptr<Tree> tree() const { return tree_; }

  void take(const yaml_event_t& event) {
    const Mark& mark = event.start_mark;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (!tree_->nodes.empty()) fail(mark, "a second document starts here; a file holds one");
        break;
      case YAML_ALIAS_EVENT:
        alias(mark, text_of(event.data.alias.anchor));
        break;
      case YAML_SCALAR_EVENT:
        scalar(mark, event.data.scalar);
        break;
      case YAML_SEQUENCE_START_EVENT:
        begin(mark, event.data.sequence_start.tag, Node::Kind::list,
              text_of(event.data.sequence_start.anchor));
        break;
      case YAML_MAPPING_START_EVENT:
        begin(mark, event.data.mapping_start.tag, Node::Kind::map,
              text_of(event.data.mapping_start.anchor));
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        break;
      default:
        break;
    }
  }

 private:
  void alias(const Mark& mark, const std::string& anchor) {
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
    end();
  }

  template <typename Scalar>
  void scalar(const Mark& mark, const Scalar& s) {
    refuse_tag(mark, s.tag);
    if (s.length > limits_.max_scalar) {
      fail(mark,
           fmt::format("is a text of {} bytes; the limit is {}", s.length, limits_.max_scalar));
    }
    std::string value = text_of(s.value, s.length);
    const bool quoted = s.style != YAML_PLAIN_SCALAR_STYLE;
    const bool null = !quoted && is_null(value);
    if (wants_key()) {
      if (null) fail(mark, "a key is missing before ':'");
      return begin_key(mark, value);
    }
    const int index = add(mark, null ? Node::Kind::null : Node::Kind::scalar, text_of(s.anchor));
    if (!null) {
      bytes_ += value.size();
      Node& node = tree_->nodes[static_cast<std::size_t>(index)];
      node.text = std::move(value);
      node.quoted = quoted;
    }
    end();
  }

  struct Open {
    int node = -1;
    bool map = false;
    bool has_key = false;
    std::string key;
    int key_line = 0, key_column = 0;
    std::map<std::string, int> keys;  // -> line
  };

  [[noreturn]] void fail(const Mark& mark, const std::string& message) const {
    throw error_at(*source_, line(mark), column(mark), message);
  }
  void refuse_tag(const Mark& mark, const yaml_char_t* tag) const {
    if (tag != nullptr) fail(mark, "tags (!...) are not used here");
  }

  [[nodiscard]] bool wants_key() const {
    return !open_.empty() && open_.back().map && !open_.back().has_key;
  }
  [[nodiscard]] int parent() const { return open_.empty() ? -1 : open_.back().node; }

  void begin_key(const Mark& mark, const std::string& key) {
    Open& map = open_.back();
    if (key.size() > 256) fail(mark, "is a key of more than 256 bytes");
    const auto [it, fresh] = map.keys.emplace(key, line(mark));
    if (!fresh) {
      fail(mark, fmt::format("duplicate key '{}' (first on line {}; keep one)", printable(key),
                             it->second));
    }
    map.has_key = true;
    map.key = key;
    map.key_line = line(mark);
    map.key_column = column(mark);
  }

  static int line(const Mark& mark) { return static_cast<int>(mark.line) + 1; }
  static int column(const Mark& mark) { return static_cast<int>(mark.column) + 1; }

  int add(const Mark& mark, Node::Kind kind, const std::string& anchor) {
    if (tree_->nodes.size() >= limits_.max_nodes) {
      fail(mark, fmt::format("the file holds more than {} values", limits_.max_nodes));
    }
    Node node;
    node.kind = kind;
    node.source = source_;
    node.line = line(mark);
    node.column = column(mark);
    const int index = tree_->add(std::move(node), parent());
    name(index);
    if (!anchor.empty()) anchors_[anchor] = index;
    return index;
  }

  void name(int index) {
    if (open_.empty() || !open_.back().map) return;
    Node& node = tree_->nodes[static_cast<std::size_t>(index)];
    node.key = open_.back().key;
    node.key_line = open_.back().key_line;
    node.key_column = open_.back().key_column;
  }

  void end() {
    if (!open_.empty()) open_.back().has_key = false;
  }

  void begin(const Mark& mark, const yaml_char_t* tag, Node::Kind kind, const std::string& anchor) {
    refuse_tag(mark, tag);
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
  void count_copy(const Mark& mark, int from) {
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
  std::map<std::string, int> anchors_;
  std::size_t bytes_ = 0;
};

// libyaml's parser and an event of it, deleted when they go.
struct Parser {
  explicit Parser(const std::string& text) {
    if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Parser() { yaml_parser_delete(&parser); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  yaml_parser_t parser{};
};
struct Event {
  Event() = default;
  ~Event() { yaml_event_delete(&event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_t event{};
};

std::string problem(const yaml_parser_t& parser) {
  if (parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  std::string out = parser.problem == nullptr ? "cannot be parsed" : parser.problem;
  if (parser.context != nullptr) out = std::string(parser.context) + ", " + out;
  return out;
}

}  // namespace

std::shared_ptr<Tree> parse_yaml(const std::shared_ptr<const Source>& source,
                                 const ReadLimits& limits) {
  check_text(*source, limits);
  Builder builder(source, limits);
  Parser reader(source->text);
  for (bool over = false; !over;) {
    Event next;
    if (yaml_parser_parse(&reader.parser, &next.event) == 0) {
      const Mark& mark = reader.parser.problem_mark;
      throw error_at(*source, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1,
                     "is not valid YAML: " + printable(problem(reader.parser), 200));
    }
    builder.take(next.event);
    over = next.event.type == YAML_STREAM_END_EVENT;
  }
  const auto tree = builder.tree();
  if (tree->nodes.empty() || tree->nodes.front().kind == Node::Kind::null) {
    throw error_at(*source, 1, 1, "is empty (docs/data-files.md shows what belongs here)");
  }
  return tree;
}

}  // namespace servegrid::catalog
