// Changing a parsed file: --set and extends.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "catalog/reader.hpp"
#include "catalog/relative.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

double relative_factor(std::string_view text) {
  double number = 0;
  if (text.size() > 1 && text.front() == 'x') {
    text.remove_prefix(1);
    return units::scan_number(text, number) == text.size() && number > 0 ? number : 0;
  }
  if (text.size() < 3 || (text.front() != '+' && text.front() != '-') || text.back() != '%') {
    return 0;
  }
  const std::size_t used = units::scan_number(text, number);
  const std::string_view rest = text.substr(used);
  return used > 0 && (rest == "%" || rest == " %") && number > -100 ? 1 + number / 100 : 0;
}

std::string scaled(std::string_view text, double factor) {
  double number = 0;
  const std::size_t used = units::scan_number(text, number);
  if (used == 0 || !std::isfinite(number)) return {};
  const std::string_view written = text.substr(0, used), unit = text.substr(used);
  const bool counted = written.find_first_not_of("0123456789") == std::string_view::npos &&
                       (unit.empty() || unit == " tokens" || unit == " token");
  const double value = counted ? std::round(number * factor) : number * factor;
  return fmt::format("{:.15g}{}", value, unit);
}

namespace {

std::vector<std::string> steps_of(const std::string& path) {
  std::vector<std::string> out;
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = path.find('.', start);
    out.push_back(path.substr(start, dot - start));
    if (dot == std::string::npos) return out;
    start = dot + 1;
  }
}

}  // namespace

void Value::set(const std::string& path, const std::string& text, const std::string& origin) {
  const auto source = std::make_shared<const Source>(Source{origin, {}});
  const auto fail = [&](const std::string& message) { return error_at(*source, 0, 0, message); };
  const std::vector<std::string> steps = steps_of(path);
  if (steps.size() > 16) throw fail("the path has too many steps");
  if (!is_map()) throw fail("there is no map to set a value in");
  int at = node_;
  std::string walked;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].empty()) throw fail(fmt::format("'{}' is not a path (a.b.c)", printable(path)));
    const bool last = i + 1 == steps.size();
    const Node::Kind kind = tree_->nodes[static_cast<std::size_t>(at)].kind;
    int next = -1;
    if (kind == Node::Kind::list) {
      const auto& items = tree_->nodes[static_cast<std::size_t>(at)].children;
      std::size_t index = items.size();
      const auto [end, ec] =
          std::from_chars(steps[i].data(), steps[i].data() + steps[i].size(), index);
      if (ec != std::errc() || *end != '\0' || index >= items.size()) {
        throw fail(fmt::format("'{}' is a list of {} items, counted from 0", walked, items.size()));
      }
      next = items[index];
    } else if (kind == Node::Kind::map) {
      next = tree_->child(at, steps[i]);
    } else {
      throw fail(fmt::format("'{}' is a single value and has no '{}'", walked, steps[i]));
    }
    if (next < 0) {
      Node fresh;
      fresh.kind = last ? Node::Kind::scalar : Node::Kind::map;
      fresh.key = steps[i];
      fresh.source = source;
      next = tree_->add(std::move(fresh), at);
    } else if (!last && tree_->nodes[static_cast<std::size_t>(next)].kind == Node::Kind::null) {
      tree_->nodes[static_cast<std::size_t>(next)].kind = Node::Kind::map;
    }
    walked += (walked.empty() ? "" : ".") + steps[i];
    at = next;
  }

  std::string value = text;
  if (const double factor = relative_factor(text); factor > 0) {
    const Node& old = tree_->nodes[static_cast<std::size_t>(at)];
    value = old.kind == Node::Kind::scalar ? scaled(old.text, factor) : std::string();
    if (value.empty()) {
      throw fail(fmt::format("'{}' has no number to change by {} (give the value itself)", walked,
                             printable(text)));
    }
  }
  Value parsed;
  if (!text.empty() && (text.front() == '[' || text.front() == '{')) {
    parsed = from_text(text, origin);
  }
  Node& target = tree_->nodes[static_cast<std::size_t>(at)];
  target.children.clear();
  target.source = source;
  target.line = target.column = target.key_line = target.key_column = 0;
  target.quoted = false;
  target.text = value;
  target.kind = Node::Kind::scalar;
  if (parsed.present()) {
    target.kind = parsed.node().kind;
    target.text.clear();
    for (const int child : parsed.node().children) tree_->graft(*parsed.tree_, child, at);
  } else if (value == "null" || value == "~") {
    target.kind = Node::Kind::null;
  }
}

Value Value::over(const Value& base) const {
  Value out;
  out.tree_ = std::make_shared<Tree>();
  const auto merge = [&](const auto& self, int top, int below, int parent) -> int {
    const Node& a = tree_->nodes[static_cast<std::size_t>(top)];
    const Node& b = base.tree_->nodes[static_cast<std::size_t>(below)];
    if (a.kind != Node::Kind::map || b.kind != Node::Kind::map) {
      return out.tree_->graft(*tree_, top, parent);
    }
    Node map = a;
    map.children.clear();
    map.asked.clear();
    map.known = false;
    const int index = out.tree_->add(std::move(map), parent);
    for (const int child : b.children) {
      const int over_it = tree_->child(top, base.tree_->nodes[static_cast<std::size_t>(child)].key);
      if (over_it >= 0) {
        self(self, over_it, child, index);
      } else {
        out.tree_->graft(*base.tree_, child, index);
      }
    }
    for (const int child : a.children) {
      if (base.tree_->child(below, tree_->nodes[static_cast<std::size_t>(child)].key) < 0) {
        out.tree_->graft(*tree_, child, index);
      }
    }
    return index;
  };
  out.node_ = merge(merge, node_, base.node_, -1);
  return out;
}

Value Value::without(std::string_view key) const {
  Value out = clone();
  auto& children = out.node().children;
  std::erase_if(children, [&](int child) {
    return out.tree_->nodes[static_cast<std::size_t>(child)].key == key;
  });
  return out;
}

}  // namespace servegrid::catalog
