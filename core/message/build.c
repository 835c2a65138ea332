/*
 * build: the arena and the error, which reading, resolving and freezing share.
 */
#include "descriptor.h"

PLAIT_COLD_BEGIN

void plait__build_begin(struct plait__build *build, const uint8_t *bytes, uint32_t flags,
    const struct plait_allocator *allocator, struct plait_message_error *error) {
  *build = (struct plait__build){.allocator = allocator, .error = error, .flags = flags, .start = bytes};
  build->messages_end = &build->messages;
  build->enums_end = &build->enums;
  build->extensions_end = &build->extensions;
  error->status = 0;
  error->offset = error->length = 0;
  error->text[0] = 0;
}

void plait__build_end(struct plait__build *build) {
  while (build->chunks != NULL) {
    struct plait__chunk *chunk = build->chunks;
    build->chunks = chunk->next;
    build->allocator->resize(build->allocator->context, chunk, chunk->size, 0);
  }
}

void *plait__build_alloc(struct plait__build *build, size_t size) {
  size = (size + 7) & ~(size_t)7;
  struct plait__chunk *chunk = build->chunks;
  if (chunk == NULL || chunk->size - chunk->used < size) {
    size_t whole = sizeof *chunk + (size > 16000 ? size : 16000);
    chunk = build->allocator->resize(build->allocator->context, NULL, 0, whole);
    if (chunk == NULL) {
      build->error->status = PLAIT_MESSAGE_MEMORY;
      return NULL;
    }
    chunk->next = build->chunks;
    chunk->size = whole;
    chunk->used = sizeof *chunk;
    build->chunks = chunk;
  }
  void *block = (uint8_t *)chunk + chunk->used;
  chunk->used += size;
  plait_zero(block, size);
  return block;
}

int plait__build_fail_about(
    struct plait__build *build, struct plait__span name, const char *text, struct plait__span about) {
  struct plait_message_error *error = build->error;
  error->status = PLAIT_MESSAGE_SCHEMA;
  if (name.length != 0) {
    plait__error_add(error, name.data, name.length > 100 ? 100 : name.length);
    plait__error_add(error, ": ", 2);
  }
  plait__error_add(error, text, __builtin_strlen(text));
  if (about.length != 0) plait__error_add(error, about.data, about.length > 100 ? 100 : about.length);
  return -PLAIT_MESSAGE_SCHEMA;
}

int plait__build_fail(struct plait__build *build, struct plait__span name, const char *text) {
  return plait__build_fail_about(build, name, text, (struct plait__span){NULL, 0});
}

PLAIT_COLD_END
