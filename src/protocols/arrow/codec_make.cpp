// SPDX-License-Identifier: Apache-2.0
// The structs that are given away. All levels of a schema or an array are in one block, which ends with the last of
// them: a consumer may move children out, and release them after their parents, each on a thread of its own. No Python.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "src/protocols/arrow/metadata.h"

namespace anyarray::arrow {
namespace {

/// Values of every level may be null for whoever looks at the type alone; so all producers say.
constexpr std::int64_t nullable = 2;

/// Where nothing lies: some consumers want an address for no bytes as well.
alignas(64) const unsigned char nothing[64] = {};

struct SchemaNode {
  Schema self;  // of the outermost level the caller has it
  Schema* child;
  char format[24];
};
struct ArrayNode {
  Array self;
  Array* child;
  const void* buffers[2];
};

template <class Node>
struct Block {
  std::atomic<int> references;  // levels that aren't released
  Values values;
  Node* nodes() noexcept { return reinterpret_cast<Node*>(this + 1); }
};
static_assert(sizeof(Block<SchemaNode>) % alignof(SchemaNode) == 0 &&
              sizeof(Block<ArrayNode>) % alignof(ArrayNode) == 0);

template <class Node>
Block<Node>* make_block(int nodes, std::size_t more) noexcept {
  void* memory = std::malloc(sizeof(Block<Node>) + static_cast<std::size_t>(nodes) * sizeof(Node) + more);
  if (memory == nullptr) return nullptr;
  auto* block = new (memory) Block<Node>{};
  block->references.store(nodes, std::memory_order_relaxed);
  return block;
}

/// Releases a level, wherever it was moved to, and those below it that weren't moved away.
template <class Struct, class Node>
void release_level(Struct* s) {
  auto* block = static_cast<Block<Node>*>(s->private_data);
  for (std::int64_t i = 0; i < s->n_children; ++i) {
    Struct* child = s->children[i];
    if (child->release != nullptr) child->release(child);
  }
  s->release = nullptr;
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const Values v = block->values;
  std::free(block);
  for (void* memory : v.owned) {
    if (memory != nullptr) v.free(memory);
  }
  if (v.drop != nullptr) v.drop(v.what);
}

/// A list of pairs: int32 lengths and bytes.
char* write_text(char* to, const char* text, std::size_t size) noexcept {
  const auto length = static_cast<std::int32_t>(size);
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, text, size);
  return to + sizeof length + size;
}

constexpr std::size_t json_size = 64 + max_ndim * 24;
constexpr std::size_t metadata_size = 128 + json_size;

/// {"shape":[2,3],"permutation":[1,0]}
std::size_t write_json(const Form& form, char* out) noexcept {
  std::size_t n = 0;
  const auto add = [&](const char* format, long long value) {
    n += static_cast<std::size_t>(std::snprintf(out + n, json_size - n, format, value));
  };
  const int ndim = form.ndim - 1;
  bool permuted = false;
  for (int i = 0; i < ndim; ++i) {
    add(i == 0 ? "{\"shape\":[%lld" : ",%lld", form.extent[i]);
    permuted |= form.lies_as[i] != i;
  }
  for (int i = 0; permuted && i < ndim; ++i) add(i == 0 ? "],\"permutation\":[%lld" : ",%lld", form.lies_as[i]);
  add("]}", 0);
  return n;
}

void write_metadata(const Form& form, char* out) noexcept {
  char json[json_size];
  const std::size_t size = write_json(form, json);
  constexpr std::int32_t pairs = 2;
  std::memcpy(out, &pairs, sizeof pairs);
  out = write_text(out + sizeof pairs, name_key, sizeof name_key - 1);
  out = write_text(out, tensor_name, sizeof tensor_name - 1);
  out = write_text(out, content_key, sizeof content_key - 1);
  write_text(out, json, size);
}

}  // namespace

Status make_schema(const Form& form, Schema* out, Reason* why) noexcept {
  const int nodes = form.levels + 1;
  auto* block = make_block<SchemaNode>(nodes, form.tensors ? metadata_size : 0);
  if (block == nullptr) return because(Status::no_memory, why, "out of memory");
  SchemaNode* node = block->nodes();
  char* metadata = nullptr;
  if (form.tensors) {
    metadata = reinterpret_cast<char*>(node + nodes);
    write_metadata(form, metadata);
  }
  Schema* self = out;
  for (int level = 0; level < nodes; ++level, ++node) {
    const bool leaf = level == form.levels;
    if (leaf) {
      encode_format(form.dtype, node->format, sizeof node->format, nullptr);
    } else {
      std::snprintf(node->format, sizeof node->format, "+w:%lld", static_cast<long long>(form.list_size[level]));
      node->child = &node[1].self;
    }
    *self = {node->format,
             level == 0 ? "" : "item",
             level == 0 ? metadata : nullptr,
             nullable,
             leaf ? 0 : 1,
             leaf ? nullptr : &node->child,
             nullptr,
             release_level<Schema, SchemaNode>,
             block};
    self = node->child;
  }
  return Status::ok;
}

Status make_array(const Form& form, const Values& values, Array* out, Reason* why) noexcept {
  const int nodes = form.levels + 1;
  auto* block = make_block<ArrayNode>(nodes, 0);
  if (block == nullptr) return because(Status::no_memory, why, "out of memory");
  block->values = values;
  ArrayNode* node = block->nodes();
  Array* self = out;
  std::int64_t length = form.length;
  for (int level = 0; level < nodes; ++level, ++node) {
    const bool leaf = level == form.levels;
    node->buffers[0] = leaf ? values.validity : nullptr;
    node->buffers[1] = leaf && values.data != nullptr ? values.data : nothing;
    node->child = leaf ? nullptr : &node[1].self;
    *self = {length,
             leaf ? values.nulls : 0,
             0,
             leaf ? 2 : 1,
             leaf ? 0 : 1,
             node->buffers,
             leaf ? nullptr : &node->child,
             nullptr,
             release_level<Array, ArrayNode>,
             block};
    if (!leaf) length *= form.list_size[level];
    self = node->child;
  }
  return Status::ok;
}

}  // namespace anyarray::arrow
