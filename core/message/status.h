/*
 * status: the outcomes of reading or writing a message, defined once for every language.
 *
 * A function of this module returns 0, or one of these numbers negated. After an error, struct plait_message_error
 * holds its position. Columns: name (the stable code that bindings show), number, meaning.
 */
#ifndef PLAIT_MESSAGE_STATUS_H
#define PLAIT_MESSAGE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "../platform/platform.h"

#define PLAIT_MESSAGE_STATUS_MAP(XX)                                                     \
  XX(TRUNCATED, 1, "the bytes end inside a field")                                       \
  XX(VARINT, 2, "a varint is longer than ten bytes")                                     \
  XX(TAG, 3, "a tag has field number 0, wire type 6 or 7, or is longer than five bytes") \
  XX(LENGTH, 4, "a length reaches beyond the end of what holds it")                      \
  XX(GROUP, 5, "a group ends that was not begun, or is never ended")                     \
  XX(DEPTH, 6, "messages are nested deeper than the limit")                              \
  XX(UTF8, 7, "a string is not UTF-8")                                                   \
  XX(REQUIRED, 8, "a required field is missing")                                         \
  XX(MEMORY, 9, "out of memory")                                                         \
  XX(TYPE, 10, "a value has the wrong type for its field")                               \
  XX(RANGE, 11, "a number does not fit its field")                                       \
  XX(NAME, 12, "no field, type or enum value has this name")                             \
  XX(SIZE, 13, "a message of 2 GiB or more")                                             \
  XX(SCHEMA, 14, "the descriptors contradict themselves or each other")                  \
  XX(PATTERN, 15, "the pattern cannot be used this way")                                 \
  XX(ONEOF, 16, "another member of its oneof has a value too")                           \
  XX(LIST, 17, "a list has elements from 1 on, without holes, and no other keys")

enum {
#define XX(name, number, text) PLAIT_MESSAGE_##name = number,
  PLAIT_MESSAGE_STATUS_MAP(XX)
#undef XX
};

/* The position of an error, filled by the function that returns the status. A zero byte always ends the text. */
struct plait_message_error {
  int32_t status;  /* a PLAIT_MESSAGE_ number, not negated; 0: nothing was wrong */
  uint32_t offset; /* the byte, from the start of the outermost input */
  uint32_t length; /* of text */
  char text[244];  /* what and where, as far as it fits: names of types, fields, files */
};

/* The stable code of a status ("UTF8"), and its one line. Any thread. */
const char *plait_message_status_name(int status);
const char *plait_message_status_text(int status);

/* Adds text to the error's, as much as fits. A path grows from its inner end, so before it. */
void plait__error_add(struct plait_message_error *error, const char *text, size_t length);
void plait__error_add_before(struct plait_message_error *error, const char *text, size_t length);
void plait__error_add_index(struct plait_message_error *error, uint64_t index);

/*
 * An allocator with the interface of lua_Alloc. new_size 0 frees the block. Otherwise it returns a block of new_size
 * bytes with the old contents, or NULL, and then nothing has changed. Blocks are aligned to 8 bytes.
 */
struct plait_allocator {
  void *(*resize)(void *context, void *block, size_t old_size, size_t new_size);
  void *context;
};

#endif
