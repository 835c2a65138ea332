/*
 * freeze: lays the descriptor records out as an image. It computes the sizes, makes one allocation, and then writes the
 * contents, so it cannot fail half way. See descriptor.h and schema.h.
 */
#include "descriptor.h"
#include "wire.h"

PLAIT_COLD_BEGIN

#define DENSE_ALWAYS 64 /* numbers below this are in the dense table, if there are any */

struct freezer {
  struct plait__build *build;
  struct plait_schema *schema;
  int status;     /* of the first that failed */
  uint32_t names; /* where the next name goes */
};

static uint32_t put_name(struct freezer *freezer, struct plait__span name) {
  uint32_t at = freezer->names;
  char *to = (char *)freezer->schema + at;
  for (uint32_t i = 0; i < name.length; i++) to[i] = name.data[i];
  to[name.length] = 0;
  freezer->names += name.length + 1;
  return at;
}

/* Reserves space for an array behind `*size`, aligned. Returns its distance from the image's start. */
static uint64_t lay_out(uint64_t *size, uint64_t count, uint64_t item) {
  uint64_t at = *size = (*size + 7) & ~7ull;
  *size += count * item;
  return at;
}

static uint32_t slots_for(uint32_t count) {
  uint32_t slots = 4;
  while (slots / 2 < count) slots *= 2;
  return slots;
}

/* Returns how many numbers the dense table covers: up to the largest for which at least half of the cells are used. */
static uint32_t dense_count(const struct plait__message *message) {
  uint32_t covered = 0, seen = 0;
  if (message->field_count > 65534) return 0;
  for (const struct plait__field *field = message->fields; field != NULL; field = field->next) {
    seen++;
    if (field->number < DENSE_ALWAYS || (uint64_t)field->number < 2ull * seen) covered = (uint32_t)field->number + 1;
  }
  return covered;
}

static void put_slot(
    struct freezer *freezer, uint32_t slots, uint32_t mask, uint32_t hash, uint32_t value, struct plait__span name) {
  uint32_t *words = (uint32_t *)((uint8_t *)freezer->schema + slots);
  freezer->build->work += name.length;
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++, hash++) {
    freezer->build->work++;
    if (words[hash & mask] != 0) continue;
    words[hash & mask] = value;
    return;
  }
  if (freezer->status == 0)
    freezer->status = plait__build_fail_about(freezer->build, (struct plait__span){NULL, 0}, PLAIT__COLLISION, name);
}

static void put_field(struct freezer *freezer, const struct plait__message *message, const struct plait__field *from,
    struct plait_field *to, uint32_t index) {
  static const uint8_t wires[] = {0, 1, 5, 0, 0, 0, 1, 5, 0, 2, 3, 2, 2, 0, 0, 5, 1, 0, 0};
  uint32_t wire = wires[from->kind];
  *to = (struct plait_field){
      .tag = (uint32_t)from->number << 3 | (from->flags & PLAIT_FIELD_PACKED ? PLAIT_WIRE_BYTES : wire),
      .kind = (uint8_t)from->kind,
      .wire = (uint8_t)wire,
      .flags = (uint16_t)from->flags,
      .name_length = from->name.length,
      .message = message->index,
      .type = from->type,
      .oneof = from->oneof == NULL ? PLAIT_SCHEMA_NONE : from->oneof->index,
      .default_bits = from->default_bits,
  };
  to->name = put_name(freezer, from->name);
  if (from->has_default && wire == PLAIT_WIRE_BYTES) {
    to->default_length = from->default_text.length;
    to->default_bits = put_name(freezer, from->default_text);
  }
  put_slot(freezer, freezer->schema->field_slots, freezer->schema->field_mask,
      plait__schema_hash(message->index, from->name.data, from->name.length), index + 1, from->name);
}

/* Whether each name leads to its owner, so that no two names are equal. */
static int check_names(struct plait__build *build, const struct plait_schema *schema) {
  struct plait__span none = {NULL, 0};
  for (uint32_t i = 0; i < schema->field_count; i++) {
    const struct plait_field *field = plait_schema_field(schema, i);
    struct plait__span name = {plait_schema_name(schema, field->name), field->name_length};
    if (plait_schema_find_field(schema, field->message, name.data, name.length) != i)
      return plait__build_fail_about(build, none, "two fields of one message have the name ", name);
  }
  for (uint32_t i = 0; i < schema->enum_count; i++) {
    const struct plait_enum *type = plait_schema_enum(schema, i);
    for (uint32_t j = type->first_value; j < type->first_value + type->value_count; j++) {
      const struct plait_enum_value *value = plait_schema_value(schema, j);
      struct plait__span name = {plait_schema_name(schema, value->name), value->name_length};
      if (plait_schema_find_value(schema, i, name.data, name.length) != j)
        return plait__build_fail_about(build, none, "two values of one enum have the name ", name);
    }
  }
  return 0;
}

/* Resolves the defaults of enum fields, which are names until here. Visits the fields in the order of the image. */
static int set_enum_defaults(struct plait__build *build, struct plait_schema *schema) {
  struct plait_field *to = (struct plait_field *)((uint8_t *)schema + schema->fields);
  for (struct plait__message *message = build->messages; message != NULL; message = message->next) {
    for (struct plait__field *field = message->fields; field != NULL; field = field->next, to++) {
      if (!field->has_default || field->kind != PLAIT_KIND_ENUM) continue;
      uint32_t value = plait_schema_find_value(schema, to->type, field->default_text.data, field->default_text.length);
      if (value == PLAIT_SCHEMA_NONE)
        return plait__build_fail_about(
            build, field->name, "the default is no value of the enum: ", field->default_text);
      to->default_bits = (uint64_t)(int64_t)plait_schema_value(schema, value)->number;
    }
  }
  return 0;
}

/*
 * Sorts by number; among equal numbers, the first declared comes first. Inserts from the end, because the values of
 * most enums are declared in ascending order.
 */
static void sort_values(struct plait_enum_value *values, uint32_t count, struct plait_enum_value *spare) {
  int sorted = 1;
  for (uint32_t i = 1; i < count; i++) sorted &= values[i - 1].number <= values[i].number;
  if (sorted) return;
  for (uint32_t width = 1; width < count; width *= 2) {
    for (uint32_t low = 0; low < count; low += 2 * width) {
      uint32_t middle = low + width < count ? low + width : count,
               high = middle + width < count ? middle + width : count;
      for (uint32_t a = low, b = middle, to = low; to < high; to++)
        spare[to] = a < middle && (b == high || values[a].number <= values[b].number) ? values[a++] : values[b++];
    }
    for (uint32_t i = 0; i < count; i++) values[i] = spare[i];
  }
}

int plait__build_freeze(struct plait__build *build, struct plait_schema **image) {
  uint64_t size = sizeof(struct plait_schema), dense = 0;
  uint32_t type_slots = slots_for(build->message_count + build->enum_count),
           field_slots = slots_for(build->field_count);
  uint32_t value_slots = slots_for(build->value_count);
  uint64_t messages = lay_out(&size, build->message_count, sizeof(struct plait_message));
  uint64_t fields = lay_out(&size, build->field_count, sizeof(struct plait_field));
  uint64_t enums = lay_out(&size, build->enum_count, sizeof(struct plait_enum));
  uint64_t values = lay_out(&size, build->value_count, sizeof(struct plait_enum_value));
  uint64_t oneofs = lay_out(&size, build->oneof_count, sizeof(struct plait_oneof));
  uint64_t members = lay_out(&size, build->member_count, 4);
  uint64_t types_at = lay_out(&size, type_slots, 4), fields_at = lay_out(&size, field_slots, 4);
  uint64_t values_at = lay_out(&size, value_slots, 4), dense_at;
  uint32_t largest = 0;
  for (struct plait__message *message = build->messages; message != NULL; message = message->next)
    dense += (dense_count(message) * 2ull + 7) & ~7ull;
  for (struct plait__enum *type = build->enums; type != NULL; type = type->next)
    if (type->value_count > largest) largest = type->value_count;
  dense_at = lay_out(&size, dense, 1);
  uint64_t names = lay_out(&size, build->name_bytes, 1);
  lay_out(&size, 0, 1);
  if (size > PLAIT_WIRE_LENGTH_LIMIT)
    return plait__build_fail(build, (struct plait__span){NULL, 0}, "the image would be 2 GiB or more");
  struct plait_enum_value *spare = plait__build_alloc(build, (size_t)largest * sizeof *spare);
  if (spare == NULL) return -PLAIT_MESSAGE_MEMORY;
  struct plait_schema *schema = build->allocator->resize(build->allocator->context, NULL, 0, size);
  if (schema == NULL) {
    build->error->status = PLAIT_MESSAGE_MEMORY;
    return -PLAIT_MESSAGE_MEMORY;
  }
  plait_zero(schema, size);
  *schema = (struct plait_schema){
      .magic = PLAIT_SCHEMA_MAGIC,
      .size = (uint32_t)size,
      .message_count = build->message_count,
      .field_count = build->field_count,
      .enum_count = build->enum_count,
      .value_count = build->value_count,
      .oneof_count = build->oneof_count,
      .member_count = build->member_count,
      .messages = (uint32_t)messages,
      .fields = (uint32_t)fields,
      .enums = (uint32_t)enums,
      .values = (uint32_t)values,
      .oneofs = (uint32_t)oneofs,
      .members = (uint32_t)members,
      .type_slots = (uint32_t)types_at,
      .type_mask = type_slots - 1,
      .field_slots = (uint32_t)fields_at,
      .field_mask = field_slots - 1,
      .value_slots = (uint32_t)values_at,
      .value_mask = value_slots - 1,
  };
  struct freezer freezer = {build, schema, 0, (uint32_t)names};
  uint8_t *base = (uint8_t *)schema;
  uint32_t field_index = 0, value_index = 0, oneof_index = 0, member_index = 0;
  for (struct plait__message *message = build->messages; message != NULL; message = message->next) {
    struct plait_message *to = (struct plait_message *)(base + messages) + message->index;
    uint16_t *table = (uint16_t *)(base + dense_at);
    *to = (struct plait_message){
        .name = put_name(&freezer, message->name),
        .name_length = message->name.length,
        .first_field = field_index,
        .field_count = message->field_count,
        .dense = (uint32_t)dense_at,
        .dense_count = dense_count(message),
        .first_oneof = oneof_index,
        .oneof_count = message->oneof_count,
        .flags = message->flags,
    };
    dense_at += (to->dense_count * 2ull + 7) & ~7ull;
    put_slot(&freezer, schema->type_slots, schema->type_mask,
        plait__schema_hash(0, message->name.data, message->name.length), 1 + message->index * 2, message->name);
    for (struct plait__oneof *oneof = message->oneofs; oneof != NULL; oneof = oneof->next) {
      if (oneof->members == 0) continue;
      struct plait_oneof *place = (struct plait_oneof *)(base + oneofs) + oneof_index++;
      *place = (struct plait_oneof){put_name(&freezer, oneof->name), oneof->name.length, member_index, oneof->members};
      member_index += oneof->members;
    }
    for (struct plait__field *field = message->fields; field != NULL; field = field->next, field_index++) {
      put_field(&freezer, message, field, (struct plait_field *)(base + fields) + field_index, field_index);
      if (field->number < to->dense_count) table[field->number] = (uint16_t)(field_index - to->first_field + 1);
      if (field->oneof == NULL) continue;
      const struct plait_oneof *oneof = plait_schema_oneof(schema, field->oneof->index);
      ((uint32_t *)(base + members))[oneof->first_member + field->oneof->filled++] = field_index;
    }
  }
  for (struct plait__enum *type = build->enums; type != NULL; type = type->next) {
    struct plait_enum *to = (struct plait_enum *)(base + enums) + type->index;
    struct plait_enum_value *place = (struct plait_enum_value *)(base + values) + value_index;
    *to = (struct plait_enum){
        .name = put_name(&freezer, type->name),
        .name_length = type->name.length,
        .first_value = value_index,
        .value_count = type->value_count,
        .closed = type->features.enums == 2,
        .first_number = type->first_number,
    };
    put_slot(&freezer, schema->type_slots, schema->type_mask, plait__schema_hash(0, type->name.data, type->name.length),
        2 + type->index * 2, type->name);
    for (struct plait__value *value = type->values; value != NULL; value = value->next)
      place[value->order] =
          (struct plait_enum_value){value->number, put_name(&freezer, value->name), value->name.length};
    sort_values(place, type->value_count, spare);
    for (uint32_t i = 0; i < type->value_count; i++) {
      struct plait__span name = {plait_schema_name(schema, place[i].name), place[i].name_length};
      put_slot(&freezer, schema->value_slots, schema->value_mask,
          plait__schema_hash(type->index, name.data, name.length), ++value_index, name);
    }
  }
  int status = freezer.status;
  if (status == 0) status = check_names(build, schema);
  if (status == 0) status = set_enum_defaults(build, schema);
  if (status < 0) {
    build->allocator->resize(build->allocator->context, schema, size, 0);
    return status;
  }
  *image = schema;
  return 0;
}

int plait_schema_build(const uint8_t *bytes, size_t size, uint32_t flags, const struct plait_allocator *allocator,
    struct plait_schema **image, struct plait_message_error *error) {
  if (size == 0) bytes = (const uint8_t *)"";
  struct plait__build build;
  plait__build_begin(&build, bytes, flags, allocator, error);
  int status = size > PLAIT_WIRE_LENGTH_LIMIT ? -PLAIT_MESSAGE_SIZE : plait__descriptor_read(&build, bytes, size);
  if (status == 0) status = plait__build_resolve(&build);
  if (status == 0) status = plait__build_freeze(&build, image);
  error->status = -status;
  plait__build_end(&build);
  return status;
}

PLAIT_COLD_END
