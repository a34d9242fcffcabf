#include "catalog/tree.hpp"

#include <array>

namespace servegrid::catalog {

int Tree::add(Node node, int parent) {
  const int index = static_cast<int>(nodes.size());
  node.parent = parent;
  nodes.push_back(std::move(node));
  if (parent >= 0 && nodes.back().kind != Node::Kind::absent) {
    nodes[static_cast<std::size_t>(parent)].children.push_back(index);
  }
  return index;
}

int Tree::graft(const Tree& other, int from, int parent) {
  Node copy = other.nodes[static_cast<std::size_t>(from)];  // by value: `other` may be this tree
  const std::vector<int> children = std::move(copy.children);
  copy.children.clear();
  copy.asked.clear();
  copy.known = false;
  const int index = add(std::move(copy), parent);
  for (const int child : children) graft(other, child, index);
  return index;
}

int Tree::child(int map, std::string_view key) const {
  for (const int child : nodes[static_cast<std::size_t>(map)].children) {
    if (nodes[static_cast<std::size_t>(child)].key == key) return child;
  }
  return -1;
}

namespace {

/// Whether a plain scalar of this text would read back as the same text.
bool plain_is_safe(std::string_view s, bool flow) {
  if (s.empty() || s.front() == ' ' || s.back() == ' ') return false;
  for (const std::string_view null : {"~", "null", "Null", "NULL"}) {
    if (s == null) return false;
  }
  if (std::string_view("!&*-?|>'\"%@`#,[]{}:").find(s.front()) != std::string_view::npos) {
    const bool number = s.front() == '-' && s.size() > 1 && s[1] >= '0' && s[1] <= '9';
    if (!number) return false;
  }
  if (s.starts_with("...") || s.starts_with("---") || s.back() == ':') return false;
  if (s.find(": ") != std::string_view::npos || s.find(" #") != std::string_view::npos) {
    return false;
  }
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) return false;
  }
  return !flow || s.find_first_of(",[]{}:") == std::string_view::npos;
}

std::string quoted(std::string_view s) {
  static constexpr std::array hex = {'0', '1', '2', '3', '4', '5', '6', '7',
                                     '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string scalar_of(const Node& node, bool flow) {
  if (node.kind == Node::Kind::null) return "null";
  return yaml_scalar(node.text, flow);
}

bool is_branch(const Node& node) {
  return node.kind == Node::Kind::list || node.kind == Node::Kind::map;
}

void write_block(const Tree& tree, int index, int indent, std::string& out) {
  const Node& node = tree.nodes[static_cast<std::size_t>(index)];
  for (const int child : node.children) {
    const Node& c = tree.nodes[static_cast<std::size_t>(child)];
    out.append(static_cast<std::size_t>(indent), ' ');
    out += node.kind == Node::Kind::map ? yaml_scalar(c.key, false) + ":" : "-";
    bool nested = false;  // branches of scalars only stay on one line
    for (const int grand : c.children) {
      nested = nested || is_branch(tree.nodes[static_cast<std::size_t>(grand)]);
    }
    if (nested) {
      out += "\n";
      write_block(tree, child, indent + 2, out);
    } else {
      out += ' ';
      out += is_branch(c) ? flow_text(tree, child) : scalar_of(c, false);
      out += '\n';
    }
  }
}

}  // namespace

std::string yaml_scalar(std::string_view text, bool flow) {
  return plain_is_safe(text, flow) ? std::string(text) : quoted(text);
}

std::string flow_text(const Tree& tree, int index) {
  const Node& node = tree.nodes[static_cast<std::size_t>(index)];
  if (!is_branch(node)) return scalar_of(node, true);
  const bool map = node.kind == Node::Kind::map;
  std::string out = map ? "{" : "[";
  for (const int child : node.children) {
    if (out.size() > 1) out += ", ";
    if (map) out += yaml_scalar(tree.nodes[static_cast<std::size_t>(child)].key, true) + ": ";
    out += flow_text(tree, child);
  }
  return out + (map ? "}" : "]");
}

std::string block_text(const Tree& tree, int index) {
  const Node& node = tree.nodes[static_cast<std::size_t>(index)];
  if (!is_branch(node)) return scalar_of(node, false) + "\n";
  if (node.children.empty()) return flow_text(tree, index) + "\n";
  std::string out;
  write_block(tree, index, 0, out);
  return out;
}

}  // namespace servegrid::catalog
