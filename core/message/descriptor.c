/*
 * descriptor: reads the bytes of a FileDescriptorSet. Nesting is bounded, and every length is checked. Unknown fields
 * are skipped, including fields with the wrong wire type.
 */
#include "descriptor.h"
#include "wire.h"

PLAIT_COLD_BEGIN

#define NESTING 32 /* of message types in message types */
#define EDITION_PROTO3 999
#define EDITION_2023 1000
#define EDITION_LAST 1001

/* One message's bytes, field by field. */
struct cursor {
  const uint8_t *at, *end;
  uint32_t number;
  uint32_t wire;
  uint64_t value;          /* VARINT */
  struct plait__span span; /* BYTES */
};

/* 1: a field was read; 0: the end; negative: a status, and the error is set. */
static int next_field(struct plait__build *build, struct cursor *cursor) {
  if (cursor->at == cursor->end) return 0;
  uint32_t tag;
  int status = -PLAIT_MESSAGE_TAG;
  const uint8_t *at = plait_wire_tag(cursor->at, cursor->end, &tag), *next = NULL;
  if (at != NULL) next = plait_wire_skip(at, cursor->end, tag, PLAIT_DEPTH_USUAL, &status);
  if (next == NULL) {
    build->error->status = -status;
    build->error->offset = (uint32_t)(cursor->at - build->start);
    return status;
  }
  cursor->number = tag >> 3;
  cursor->wire = tag & 7;
  if (cursor->wire == PLAIT_WIRE_VARINT) plait_wire_varint(at, cursor->end, &cursor->value);
  if (cursor->wire == PLAIT_WIRE_BYTES) {
    uint32_t length = 0;
    const uint8_t *data = plait_wire_length(at, cursor->end, &length);
    cursor->span = (struct plait__span){(const char *)data, length};
  }
  cursor->at = next;
  return 1;
}

static struct cursor cursor_of(struct plait__span span) {
  return (struct cursor){.at = (const uint8_t *)span.data, .end = (const uint8_t *)span.data + span.length};
}

#define IS(field_number, wire_type) (cursor.number == (field_number) && cursor.wire == PLAIT_WIRE_##wire_type)

static int read_features(struct plait__build *build, struct plait__span span, struct plait__features *features) {
  struct cursor cursor = cursor_of(span);
  int more;
  while ((more = next_field(build, &cursor)) > 0) {
    uint8_t value = cursor.value > 255 ? 0 : (uint8_t)cursor.value;
    if (IS(1, VARINT)) features->presence = value;
    if (IS(2, VARINT)) features->enums = value;
    if (IS(3, VARINT)) features->packing = value;
    if (IS(4, VARINT)) features->utf8 = value;
    if (IS(5, VARINT)) features->encoding = value;
  }
  return more;
}

/* Options: the features in field `number`; a bool option in `flag` if that is not 0. */
static int read_options(struct plait__build *build, struct plait__span span, uint32_t number,
    struct plait__features *features, uint32_t flag, uint8_t *has, uint8_t *value) {
  struct cursor cursor = cursor_of(span);
  int more;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(number, BYTES) && (more = read_features(build, cursor.span, features)) < 0) return more;
    if (flag != 0 && IS(flag, VARINT)) *has = 1, *value = cursor.value != 0;
  }
  return more;
}

static void inherit(struct plait__features *features, const struct plait__features *parent) {
  if (features->presence == 0) features->presence = parent->presence;
  if (features->enums == 0) features->enums = parent->enums;
  if (features->packing == 0) features->packing = parent->packing;
  if (features->utf8 == 0) features->utf8 = parent->utf8;
  if (features->encoding == 0) features->encoding = parent->encoding;
}

/* A part of a full name: not empty, and without bytes that would make error messages unreadable. */
static int bad_word(struct plait__span name, int dots) {
  int last = '.';
  for (uint32_t i = 0; i < name.length; i++) {
    unsigned char c = (unsigned char)name.data[i];
    int word = (c | 32) - 'a' + 0u < 26u || (c >= '0' && c <= '9') || c == '_';
    if (!word && !(dots && c == '.' && last != '.')) return 1;
    last = c;
  }
  return last == '.';
}

static int full_name(
    struct plait__build *build, struct plait__span scope, struct plait__span name, struct plait__span *full) {
  if (bad_word(name, 0))
    return plait__build_fail_about(build, scope, "a declaration has no name, or no valid one: ", name);
  uint64_t length = (uint64_t)scope.length + (scope.length != 0) + name.length;
  if (length > PLAIT_NAME_LIMIT) return plait__build_fail(build, scope, "a name is too long");
  char *text = plait__build_alloc(build, length + 1);
  if (text == NULL) return -PLAIT_MESSAGE_MEMORY;
  size_t at = 0;
  for (; at < scope.length; at++) text[at] = scope.data[at];
  if (at != 0) text[at++] = '.';
  for (size_t i = 0; i < name.length; i++) text[at + i] = name.data[i];
  *full = (struct plait__span){text, (uint32_t)length};
  return 0;
}

static int read_enum(struct plait__build *build, struct plait__span span, struct plait__span scope,
    const struct plait__features *parent) {
  struct plait__enum *type = plait__build_alloc(build, sizeof *type);
  if (type == NULL) return -PLAIT_MESSAGE_MEMORY;
  struct cursor cursor = cursor_of(span);
  struct plait__value **end = &type->values;
  struct plait__span name = {NULL, 0};
  int more, status;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(1, BYTES)) name = cursor.span;
    if (IS(3, BYTES) && (status = read_options(build, cursor.span, 7, &type->features, 0, NULL, NULL)) < 0)
      return status;
    if (!IS(2, BYTES)) continue;
    struct plait__value *value = plait__build_alloc(build, sizeof *value);
    if (value == NULL) return -PLAIT_MESSAGE_MEMORY;
    struct cursor inner = cursor_of(cursor.span);
    while ((status = next_field(build, &inner)) > 0) {
      if (inner.number == 1 && inner.wire == PLAIT_WIRE_BYTES) value->name = inner.span;
      if (inner.number == 2 && inner.wire == PLAIT_WIRE_VARINT) value->number = (int32_t)(uint32_t)inner.value;
    }
    if (status < 0) return status;
    if (bad_word(value->name, 0)) return plait__build_fail(build, name, "an enum value has no name, or no valid one");
    value->order = type->value_count++;
    if (value->order == 0) type->first_number = value->number;
    *end = value;
    end = &value->next;
    build->name_bytes += value->name.length + 1;
  }
  if (more < 0) return more;
  inherit(&type->features, parent);
  if ((status = full_name(build, scope, name, &type->name)) < 0) return status;
  if (type->value_count == 0) return plait__build_fail(build, type->name, "an enum without values");
  type->index = build->enum_count++;
  build->value_count += type->value_count;
  build->name_bytes += type->name.length + 1;
  *build->enums_end = type;
  build->enums_end = &type->next;
  return 0;
}

static int read_field(struct plait__build *build, struct plait__span span, struct plait__span scope, int extension,
    struct plait__field **made) {
  struct plait__field *field = plait__build_alloc(build, sizeof *field);
  if (field == NULL) return -PLAIT_MESSAGE_MEMORY;
  struct cursor cursor = cursor_of(span);
  int more, status;
  field->oneof_declared = -1;
  field->label = 1;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(1, BYTES)) field->name = cursor.span;
    if (IS(2, BYTES)) field->extendee = cursor.span;
    if (IS(3, VARINT)) field->number = (int32_t)(uint32_t)cursor.value;
    if (IS(4, VARINT)) field->label = cursor.value > 3 ? 0 : (uint32_t)cursor.value;
    if (IS(5, VARINT)) field->kind = cursor.value > 18 ? 255 : (uint32_t)cursor.value;
    if (IS(6, BYTES)) field->type_name = cursor.span;
    if (IS(7, BYTES)) field->default_text = cursor.span, field->has_default = 1;
    if (IS(8, BYTES) &&
        (status = read_options(build, cursor.span, 21, &field->features, 2, &field->has_packed, &field->packed)) < 0)
      return status;
    if (IS(9, VARINT)) field->oneof_declared = (int32_t)(uint32_t)cursor.value;
    if (IS(17, VARINT)) field->proto3_optional = cursor.value != 0;
  }
  if (more < 0) return more;
  if (bad_word(field->name, 0)) return plait__build_fail(build, scope, "a field has no name, or no valid one");
  if (field->label == 0 || field->kind == 255)
    return plait__build_fail_about(build, scope, "label or type out of range: ", field->name);
  field->scope = scope;
  field->extension = (uint8_t)extension;
  *made = field;
  return 0;
}

static int read_extension(struct plait__build *build, struct plait__span span, struct plait__span scope,
    const struct plait__features *parent) {
  struct plait__field *field;
  int status = read_field(build, span, scope, 1, &field);
  if (status < 0) return status;
  inherit(&field->features, parent);
  if ((status = full_name(build, scope, field->name, &field->name)) < 0) return status;
  *build->extensions_end = field;
  build->extensions_end = &field->next;
  return 0;
}

static int read_oneof(struct plait__build *build, struct plait__span span, struct plait__oneof **made) {
  struct plait__oneof *oneof = plait__build_alloc(build, sizeof *oneof);
  if (oneof == NULL) return -PLAIT_MESSAGE_MEMORY;
  struct cursor cursor = cursor_of(span);
  int more, status;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(1, BYTES)) oneof->name = cursor.span;
    if (IS(2, BYTES) && (status = read_options(build, cursor.span, 1, &oneof->features, 0, NULL, NULL)) < 0)
      return status;
  }
  *made = oneof;
  return more;
}

/* A message's options: features in 12, message_set_wire_format 1, map_entry 7. */
static int read_message_options(struct plait__build *build, struct plait__span span, struct plait__message *message) {
  struct cursor cursor = cursor_of(span);
  int more;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(12, BYTES) && (more = read_features(build, cursor.span, &message->features)) < 0) return more;
    if (IS(1, VARINT) && cursor.value != 0) message->flags |= PLAIT_TYPE_MESSAGE_SET;
    if (IS(7, VARINT) && cursor.value != 0) message->flags |= PLAIT_TYPE_MAP_ENTRY;
  }
  return more;
}

static int read_message(struct plait__build *build, struct plait__span span, struct plait__span scope,
    const struct plait__features *parent, uint32_t nesting) {
  struct plait__message *message = plait__build_alloc(build, sizeof *message);
  if (message == NULL) return -PLAIT_MESSAGE_MEMORY;
  struct cursor cursor = cursor_of(span);
  struct plait__span name = {NULL, 0};
  struct plait__oneof **oneofs_end = &message->oneofs;
  struct plait__field **fields_end = &message->fields;
  int more, status;
  if (nesting == 0) return plait__build_fail(build, scope, "message types are nested too deeply");
  /* Reads the name and the options first, wherever they are in the bytes, because the fields depend on them. */
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(1, BYTES)) name = cursor.span;
    if (IS(7, BYTES) && (status = read_message_options(build, cursor.span, message)) < 0) return status;
    if (!IS(8, BYTES)) continue;
    message->oneof_count++;
    if ((status = read_oneof(build, cursor.span, oneofs_end)) < 0) return status;
    if (bad_word((*oneofs_end)->name, 0)) return plait__build_fail(build, name, "a oneof has no name, or no valid one");
    oneofs_end = &(*oneofs_end)->next;
  }
  if (more < 0) return more;
  inherit(&message->features, parent);
  if ((status = full_name(build, scope, name, &message->name)) < 0) return status;
  struct plait__oneof **declared = plait__build_alloc(build, message->oneof_count * sizeof *declared);
  if (declared == NULL) return -PLAIT_MESSAGE_MEMORY;
  uint32_t oneofs = 0;
  for (struct plait__oneof *oneof = message->oneofs; oneof != NULL; oneof = oneof->next) {
    inherit(&oneof->features, &message->features);
    declared[oneofs++] = oneof;
  }
  message->index = build->message_count++;
  build->name_bytes += message->name.length + 1;
  *build->messages_end = message;
  build->messages_end = &message->next;
  cursor = cursor_of(span);
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(2, BYTES)) {
      if ((status = read_field(build, cursor.span, message->name, 0, fields_end)) < 0) return status;
      struct plait__field *field = *fields_end;
      if (field->oneof_declared >= 0) {
        if (field->oneof_declared >= oneofs)
          return plait__build_fail_about(build, message->name, "no such oneof for field ", field->name);
        field->oneof = declared[field->oneof_declared];
        inherit(&field->features, &field->oneof->features);
        if (field->proto3_optional) field->oneof = NULL; /* synthetic, for readers that do not know `optional` */
      }
      inherit(&field->features, &message->features);
      message->field_count++;
      fields_end = &field->next;
    }
    if (IS(3, BYTES) && (status = read_message(build, cursor.span, message->name, &message->features, nesting - 1)) < 0)
      return status;
    if (IS(4, BYTES) && (status = read_enum(build, cursor.span, message->name, &message->features)) < 0) return status;
    if (IS(6, BYTES) && (status = read_extension(build, cursor.span, message->name, &message->features)) < 0)
      return status;
  }
  return more;
}

static const struct plait__features edition_defaults[] = {
    {1, 2, 2, 3, 1}, /* proto2 */
    {2, 1, 1, 2, 1}, /* proto3 */
    {1, 1, 1, 2, 1}, /* 2023, 2024 */
};

/* The slot of the file with this name, or the empty slot where it would go. NULL: see PLAIT__COLLISION. */
static struct plait__file *file_slot(struct plait__build *build, struct plait__span name) {
  uint32_t at = plait__schema_hash(0, name.data, name.length);
  build->work += name.length;
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++, at++) {
    struct plait__file *file = &build->files[at & build->file_mask];
    build->work++;
    if (file->bytes.data == NULL || plait__span_equal(file->name, name)) return file;
  }
  return NULL;
}

static int read_file(struct plait__build *build, struct plait__span span) {
  struct cursor cursor = cursor_of(span);
  struct plait__span name = {NULL, 0}, package = {NULL, 0}, syntax = {NULL, 0};
  struct plait__features features = {0, 0, 0, 0, 0};
  uint64_t edition = 0;
  int more, status;
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(1, BYTES)) name = cursor.span;
    if (IS(2, BYTES)) package = cursor.span;
    if (IS(8, BYTES) && (status = read_options(build, cursor.span, 50, &features, 0, NULL, NULL)) < 0) return status;
    if (IS(12, BYTES)) syntax = cursor.span;
    if (IS(14, VARINT)) edition = cursor.value;
  }
  if (more < 0) return more;
  uint32_t defaults = 0;
  if (plait__span_equal(syntax, (struct plait__span){"editions", 8})) {
    if (edition < EDITION_2023 - 2 || edition > EDITION_LAST)
      return plait__build_fail(build, name, "an edition that is not known here");
    defaults = edition < EDITION_PROTO3 ? 0 : edition == EDITION_PROTO3 ? 1 : 2;
  } else if (plait__span_equal(syntax, (struct plait__span){"proto3", 6})) {
    defaults = 1;
  } else if (syntax.length != 0 && !plait__span_equal(syntax, (struct plait__span){"proto2", 6})) {
    return plait__build_fail_about(build, name, "unknown syntax ", syntax);
  }
  if (package.length != 0 && bad_word(package, 1))
    return plait__build_fail(build, name, "the package has no valid name");
  struct plait__file *file = file_slot(build, name);
  if (file == NULL) return plait__build_fail_about(build, (struct plait__span){NULL, 0}, PLAIT__COLLISION, name);
  if (file->bytes.data != NULL) {
    if (build->flags & PLAIT_SCHEMA_FIRST_WINS || plait__span_equal(file->bytes, span)) return 0;
    return plait__build_fail(build, name, "this file comes twice, and differs");
  }
  *file = (struct plait__file){name, span};
  inherit(&features, &edition_defaults[defaults]);
  cursor = cursor_of(span);
  while ((more = next_field(build, &cursor)) > 0) {
    if (IS(4, BYTES) && (status = read_message(build, cursor.span, package, &features, NESTING)) < 0) return status;
    if (IS(5, BYTES) && (status = read_enum(build, cursor.span, package, &features)) < 0) return status;
    if (IS(7, BYTES) && (status = read_extension(build, cursor.span, package, &features)) < 0) return status;
  }
  return more;
}

int plait__descriptor_read(struct plait__build *build, const uint8_t *bytes, size_t size) {
  struct cursor cursor = {.at = bytes, .end = bytes + size};
  int more, status;
  uint64_t count = 0, slots = 4;
  while ((more = next_field(build, &cursor)) > 0) count += IS(1, BYTES);
  if (more < 0) return more;
  while (slots < count * 2) slots *= 2;
  build->files = plait__build_alloc(build, slots * sizeof *build->files);
  if (build->files == NULL) return -PLAIT_MESSAGE_MEMORY;
  build->file_mask = (uint32_t)slots - 1;
  cursor = (struct cursor){.at = bytes, .end = bytes + size};
  while ((more = next_field(build, &cursor)) > 0)
    if (IS(1, BYTES) && (status = read_file(build, cursor.span)) < 0) return status;
  return more;
}

PLAIT_COLD_END
