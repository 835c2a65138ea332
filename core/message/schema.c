/*
 * schema: finding things in an image, and checking one. See schema.h.
 */
#include "schema.h"

uint32_t plait__schema_hash(uint32_t owner, const char *name, size_t length) {
  return plait__schema_hash_end(plait__schema_hash_add(plait__schema_hash_begin(owner), name, length));
}

static int same_name(
    const struct plait_schema *schema, uint32_t name, uint32_t name_length, const char *other, size_t length) {
  return name_length == length && __builtin_memcmp(plait_schema_name(schema, name), other, length) == 0;
}

static uint32_t find_type(const struct plait_schema *schema, const char *name, size_t length, uint32_t is_enum) {
  const uint32_t *slots = plait__schema_at(schema, schema->type_slots);
  if (length > 0 && name[0] == '.') name++, length--;
  uint32_t at = plait__schema_hash(0, name, length);
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++, at++) {
    uint32_t slot = slots[at & schema->type_mask];
    if (slot == 0) break;
    if (((slot - 1) & 1) != is_enum) continue;
    uint32_t index = (slot - 1) >> 1;
    if (is_enum) {
      const struct plait_enum *type = plait_schema_enum(schema, index);
      if (same_name(schema, type->name, type->name_length, name, length)) return index;
    } else {
      const struct plait_message *type = plait_schema_message(schema, index);
      if (same_name(schema, type->name, type->name_length, name, length)) return index;
    }
  }
  return PLAIT_SCHEMA_NONE;
}

uint32_t plait_schema_find_message(const struct plait_schema *schema, const char *name, size_t length) {
  return find_type(schema, name, length, 0);
}

uint32_t plait_schema_find_enum(const struct plait_schema *schema, const char *name, size_t length) {
  return find_type(schema, name, length, 1);
}

uint32_t plait_schema_find_field(const struct plait_schema *schema, uint32_t message, const char *name, size_t length) {
  const uint32_t *slots = plait__schema_at(schema, schema->field_slots);
  uint32_t at = plait__schema_hash(message, name, length);
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++, at++) {
    uint32_t slot = slots[at & schema->field_mask];
    if (slot == 0) break;
    const struct plait_field *field = plait_schema_field(schema, slot - 1);
    if (field->message == message && same_name(schema, field->name, field->name_length, name, length)) return slot - 1;
  }
  return PLAIT_SCHEMA_NONE;
}

uint32_t plait_schema_find_value(
    const struct plait_schema *schema, uint32_t enumeration, const char *name, size_t length) {
  const uint32_t *slots = plait__schema_at(schema, schema->value_slots);
  const struct plait_enum *type = plait_schema_enum(schema, enumeration);
  uint32_t at = plait__schema_hash(enumeration, name, length);
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++, at++) {
    uint32_t slot = slots[at & schema->value_mask];
    if (slot == 0) break;
    const struct plait_enum_value *value = plait_schema_value(schema, slot - 1);
    if (slot - 1 - type->first_value < type->value_count &&
        same_name(schema, value->name, value->name_length, name, length))
      return slot - 1;
  }
  return PLAIT_SCHEMA_NONE;
}

const struct plait_enum_value *plait_enum_find_number(
    const struct plait_schema *schema, const struct plait_enum *enumeration, int32_t number) {
  const struct plait_enum_value *values = plait_schema_value(schema, enumeration->first_value);
  uint32_t count = enumeration->value_count;
  if (count == 0) return NULL;
  /* Nearly all enums have consecutive numbers, and then the number gives the index. */
  uint32_t guess = (uint32_t)number - (uint32_t)values[0].number;
  if (guess < count && values[guess].number == number && (guess == 0 || values[guess - 1].number != number))
    return &values[guess];
  uint32_t low = 0;
  while (count > 0) {
    uint32_t half = count / 2;
    if (values[low + half].number < number) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low < enumeration->value_count && values[low].number == number ? &values[low] : NULL;
}

const struct plait_field *plait__message_search(
    const struct plait_schema *schema, const struct plait_message *message, uint32_t number) {
  const struct plait_field *fields = plait_message_fields(schema, message);
  uint32_t low = 0, count = message->field_count;
  while (count > 0) {
    uint32_t half = count / 2;
    if (fields[low + half].tag >> 3 < number) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low < message->field_count && fields[low].tag >> 3 == number ? &fields[low] : NULL;
}

PLAIT_COLD_BEGIN

static int bad_array(const struct plait_schema *schema, uint32_t distance, uint32_t count, uint32_t size) {
  return distance % 8 != 0 || distance < sizeof *schema || distance > schema->size ||
      (uint64_t)count * size > schema->size - distance;
}

static int bad_part(uint32_t first, uint32_t count, uint32_t total) {
  return first > total || count > total - first;
}

/* A name ends with a zero byte inside the image. */
static int bad_name(const struct plait_schema *schema, uint32_t name, uint32_t length) {
  return name < sizeof *schema || name >= schema->size || length >= schema->size - name ||
      plait_schema_name(schema, name)[length] != 0;
}

/* Every slot refers to an existing item. */
static int bad_slots(const struct plait_schema *schema, uint32_t distance, uint32_t mask, uint32_t count, int types) {
  if ((mask & (mask + 1)) != 0 || mask > 0x3FFFFFFF || bad_array(schema, distance, mask + 1, 4)) return 1;
  const uint32_t *slots = plait__schema_at(schema, distance);
  for (uint32_t i = 0; i <= mask; i++) {
    uint32_t index = slots[i] - 1;
    if (slots[i] == 0) continue;
    if (!types ? index >= count : index >> 1 >= (index & 1 ? schema->enum_count : schema->message_count)) return 1;
  }
  return 0;
}

static int bad_field(const struct plait_schema *schema, const struct plait_field *field) {
  uint32_t kind = field->kind, repeated = field->flags & PLAIT_FIELD_REPEATED;
  static const uint8_t wires[] = {0, 1, 5, 0, 0, 0, 1, 5, 0, 2, 3, 2, 2, 0, 0, 5, 1, 0, 0};
  if (kind < 1 || kind > 18 || field->wire != wires[kind] || bad_name(schema, field->name, field->name_length))
    return 1;
  int numbers = field->wire != PLAIT_WIRE_BYTES && field->wire != PLAIT_WIRE_START;
  if (field->tag >> 3 == 0 || (field->flags & (PLAIT_FIELD_PACKED | PLAIT_FIELD_PACKABLE) && !(numbers && repeated)))
    return 1;
  if ((field->tag & 7) != (field->flags & PLAIT_FIELD_PACKED ? PLAIT_WIRE_BYTES : field->wire)) return 1;
  if (field->message >= schema->message_count || field->flags > 2 * PLAIT_FIELD_DEFAULT - 1) return 1;
  const struct plait_message *owner = plait_schema_message(schema, field->message);
  if (plait_schema_field_index(schema, field) - owner->first_field >= owner->field_count) return 1;
  if (field->flags & PLAIT_FIELD_PACKED && !(field->flags & PLAIT_FIELD_PACKABLE)) return 1;
  if (field->flags & PLAIT_FIELD_CLOSED && kind != PLAIT_KIND_ENUM) return 1;
  if (field->flags & PLAIT_FIELD_UTF8 && kind != PLAIT_KIND_STRING) return 1;
  if (field->flags & (PLAIT_FIELD_IMPLICIT | PLAIT_FIELD_REQUIRED) && repeated) return 1;
  if (field->flags & PLAIT_FIELD_IMPLICIT && plait_kind_is_message(kind)) return 1;
  if (plait_kind_is_message(kind)   ? field->type >= schema->message_count
          : kind == PLAIT_KIND_ENUM ? field->type >= schema->enum_count
                                    : field->type != PLAIT_SCHEMA_NONE)
    return 1;
  if (field->oneof != PLAIT_SCHEMA_NONE && (field->oneof >= schema->oneof_count || repeated)) return 1;
  if (!(field->flags & PLAIT_FIELD_DEFAULT) && field->default_length != 0) return 1;
  if (field->flags & PLAIT_FIELD_DEFAULT && field->wire == PLAIT_WIRE_BYTES &&
      (kind == PLAIT_KIND_MESSAGE || field->default_bits > schema->size ||
          bad_name(schema, (uint32_t)field->default_bits, field->default_length)))
    return 1;
  if (!(field->flags & PLAIT_FIELD_MAP)) return 0;
  if (kind != PLAIT_KIND_MESSAGE || !repeated) return 1;
  const struct plait_message *entry = plait_schema_message(schema, field->type);
  if (!(entry->flags & PLAIT_TYPE_MAP_ENTRY) || entry->field_count != 2 ||
      bad_part(entry->first_field, 2, schema->field_count))
    return 1;
  const struct plait_field *key = plait_schema_field(schema, entry->first_field), *value = key + 1;
  return key->tag >> 3 != 1 || value->tag >> 3 != 2 || key->flags & PLAIT_FIELD_REPEATED ||
      value->flags & PLAIT_FIELD_REPEATED || key->kind == PLAIT_KIND_BYTES || key->kind == PLAIT_KIND_DOUBLE ||
      key->kind == PLAIT_KIND_FLOAT || key->kind == PLAIT_KIND_ENUM || plait_kind_is_message(key->kind) ||
      value->kind == PLAIT_KIND_GROUP;
}

static int bad_message(const struct plait_schema *schema, const struct plait_message *message, uint32_t index) {
  if (bad_name(schema, message->name, message->name_length) ||
      bad_part(message->first_field, message->field_count, schema->field_count) ||
      bad_part(message->first_oneof, message->oneof_count, schema->oneof_count) ||
      bad_array(schema, message->dense, message->dense_count, 2))
    return 1;
  const uint16_t *dense = plait__schema_at(schema, message->dense);
  const struct plait_field *fields = plait_message_fields(schema, message);
  for (uint32_t i = 0; i < message->dense_count; i++)
    if (dense[i] > message->field_count || (dense[i] != 0 && fields[dense[i] - 1].tag >> 3 != i)) return 1;
  for (uint32_t i = 0; i < message->field_count; i++) {
    if (fields[i].message != index || (i > 0 && fields[i - 1].tag >> 3 >= fields[i].tag >> 3)) return 1;
    if (fields[i].oneof != PLAIT_SCHEMA_NONE && fields[i].oneof - message->first_oneof >= message->oneof_count)
      return 1;
    uint32_t number = fields[i].tag >> 3;
    if (number < message->dense_count && dense[number] != i + 1) return 1;
  }
  for (uint32_t i = 0; i < message->oneof_count; i++) {
    const struct plait_oneof *oneof = plait_schema_oneof(schema, message->first_oneof + i);
    for (uint32_t j = 0; j < oneof->member_count; j++) {
      uint32_t member = plait_schema_member(schema, oneof->first_member + j);
      if (member - message->first_field >= message->field_count) return 1;
      if (plait_schema_field(schema, member)->oneof != message->first_oneof + i) return 1;
    }
  }
  return 0;
}

int plait_schema_check(const void *image, size_t size) {
  const struct plait_schema *schema = image;
  if (size < sizeof *schema || schema->magic != PLAIT_SCHEMA_MAGIC || schema->size != size)
    return -PLAIT_MESSAGE_SCHEMA;
  if (bad_array(schema, schema->messages, schema->message_count, sizeof(struct plait_message)) ||
      bad_array(schema, schema->fields, schema->field_count, sizeof(struct plait_field)) ||
      bad_array(schema, schema->enums, schema->enum_count, sizeof(struct plait_enum)) ||
      bad_array(schema, schema->values, schema->value_count, sizeof(struct plait_enum_value)) ||
      bad_array(schema, schema->oneofs, schema->oneof_count, sizeof(struct plait_oneof)) ||
      bad_array(schema, schema->members, schema->member_count, 4) ||
      bad_slots(schema, schema->type_slots, schema->type_mask, 0, 1) ||
      bad_slots(schema, schema->field_slots, schema->field_mask, schema->field_count, 0) ||
      bad_slots(schema, schema->value_slots, schema->value_mask, schema->value_count, 0))
    return -PLAIT_MESSAGE_SCHEMA;
  /* Overlapping parts would be walked repeatedly, so the sum of all parts must not exceed the array. */
  uint64_t parts = 0;
  for (uint32_t i = 0; i < schema->enum_count; i++) {
    const struct plait_enum *type = plait_schema_enum(schema, i);
    if ((parts += type->value_count) > schema->value_count) return -PLAIT_MESSAGE_SCHEMA;
    if (bad_name(schema, type->name, type->name_length) ||
        bad_part(type->first_value, type->value_count, schema->value_count))
      return -PLAIT_MESSAGE_SCHEMA;
    for (uint32_t j = 1; j < type->value_count; j++) {
      const struct plait_enum_value *value = plait_schema_value(schema, type->first_value + j);
      if (value[-1].number > value[0].number) return -PLAIT_MESSAGE_SCHEMA;
    }
  }
  for (uint32_t i = 0; i < schema->value_count; i++) {
    const struct plait_enum_value *value = plait_schema_value(schema, i);
    if (bad_name(schema, value->name, value->name_length)) return -PLAIT_MESSAGE_SCHEMA;
  }
  parts = 0;
  for (uint32_t i = 0; i < schema->oneof_count; i++) {
    const struct plait_oneof *oneof = plait_schema_oneof(schema, i);
    if ((parts += oneof->member_count) > schema->member_count) return -PLAIT_MESSAGE_SCHEMA;
    if (bad_name(schema, oneof->name, oneof->name_length) ||
        bad_part(oneof->first_member, oneof->member_count, schema->member_count))
      return -PLAIT_MESSAGE_SCHEMA;
  }
  for (uint32_t i = 0; i < schema->member_count; i++)
    if (plait_schema_member(schema, i) >= schema->field_count) return -PLAIT_MESSAGE_SCHEMA;
  /* Checks of fields need only the counts of messages, which bad_field() checks itself. */
  for (uint32_t i = 0; i < schema->field_count; i++)
    if (bad_field(schema, plait_schema_field(schema, i))) return -PLAIT_MESSAGE_SCHEMA;
  uint64_t dense = 0, oneofs = 0;
  for (uint32_t i = 0; i < schema->message_count; i++) {
    const struct plait_message *message = plait_schema_message(schema, i);
    if ((dense += message->dense_count) > schema->size || (oneofs += message->oneof_count) > schema->oneof_count)
      return -PLAIT_MESSAGE_SCHEMA;
    if (bad_message(schema, message, i)) return -PLAIT_MESSAGE_SCHEMA;
  }
  return 0;
}

PLAIT_COLD_END
