/*
 * resolve: resolves every name in the descriptor records, and sets the flags of every field. See descriptor.h.
 */
#include "descriptor.h"
#include "number.h"

PLAIT_COLD_BEGIN

static struct plait__span type_name(const struct plait__type *type) {
  return type->message != NULL ? type->message->name : type->enumeration->name;
}

/*
 * Returns the slot of the type with this hash whose name is `scope` and `name`, with a dot between if `scope` is not
 * empty. If there is none, returns the empty slot where it would go. NULL: neither exists.
 */
static struct plait__type *type_slot(
    struct plait__build *build, struct plait__span scope, struct plait__span name, uint32_t hash) {
  uint32_t skip = scope.length + (scope.length != 0);
  for (uint32_t probes = 0; probes < PLAIT_SCHEMA_PROBE_LIMIT; probes++) {
    struct plait__type *type = &build->types[(hash + probes) & build->type_mask];
    build->work++;
    if (type->message == NULL && type->enumeration == NULL) return type;
    if (type->hash != hash) continue;
    struct plait__span full = type_name(type);
    if (full.length != skip + name.length || (skip != 0 && full.data[skip - 1] != '.')) continue;
    build->work += full.length;
    if (plait__span_equal((struct plait__span){full.data, scope.length}, scope) &&
        plait__span_equal((struct plait__span){full.data + skip, name.length}, name))
      return type;
  }
  return NULL;
}

/* Inserts a type into the hash table. */
static int index_type(struct plait__build *build, struct plait__type type) {
  struct plait__span name = type_name(&type), none = {NULL, 0};
  type.hash = plait__schema_hash(0, name.data, name.length);
  build->work += name.length;
  struct plait__type *slot = type_slot(build, none, name, type.hash);
  if (slot == NULL) return plait__build_fail_about(build, none, PLAIT__COLLISION, name);
  if (slot->message != NULL || slot->enumeration != NULL)
    return plait__build_fail(build, name, "this type is declared twice");
  *slot = type;
  return 0;
}

static int index_types(struct plait__build *build) {
  uint64_t count = (uint64_t)build->message_count + build->enum_count, slots = 4;
  while (slots < count * 2) slots *= 2;
  build->types = plait__build_alloc(build, slots * sizeof *build->types);
  if (build->types == NULL) return -PLAIT_MESSAGE_MEMORY;
  build->type_mask = (uint32_t)slots - 1;
  int status = 0;
  for (struct plait__message *message = build->messages; message != NULL && status == 0; message = message->next)
    status = index_type(build, (struct plait__type){.message = message});
  for (struct plait__enum *enumeration = build->enums; enumeration != NULL && status == 0;
      enumeration = enumeration->next)
    status = index_type(build, (struct plait__type){.enumeration = enumeration});
  return status;
}

static struct plait__type look_up_in(
    struct plait__build *build, struct plait__span scope, struct plait__span name, uint32_t hash) {
  build->work += name.length;
  const struct plait__type *type =
      type_slot(build, scope, name, plait__schema_hash_end(plait__schema_hash_add(hash, name.data, name.length)));
  return type == NULL ? (struct plait__type){.hash = 0} : *type;
}

/*
 * Looks a name up as protoc does. ".a.B" is a full name. Another name is searched in the scope and in all enclosing
 * scopes, and the innermost match wins. The search starts at the outermost scope, so that the scope is hashed once.
 */
static struct plait__type look_up(struct plait__build *build, struct plait__span name, struct plait__span scope) {
  uint32_t hash = plait__schema_hash_begin(0), from = 0;
  if (name.length == 0 || name.length > PLAIT_NAME_LIMIT) return (struct plait__type){.hash = 0};
  int full = name.data[0] == '.';
  if (full) name.data++, name.length--;
  struct plait__type found = look_up_in(build, (struct plait__span){NULL, 0}, name, hash);
  if (full) return found;
  build->work += scope.length;
  for (uint32_t at = 1; at <= scope.length; at++) {
    if (at < scope.length && scope.data[at] != '.') continue;
    hash = plait__schema_hash_add(plait__schema_hash_add(hash, scope.data + from, at - from), ".", 1);
    struct plait__type type = look_up_in(build, (struct plait__span){scope.data, at}, name, hash);
    if (type.message != NULL || type.enumeration != NULL) found = type;
    from = at + 1;
  }
  return found;
}

/* "\n", "\"", "\303", "\xC3" as protoc writes the defaults of bytes. In place of the arena's copy. */
static int unescape(struct plait__build *build, struct plait__field *field) {
  char *text = plait__build_alloc(build, (size_t)field->default_text.length + 1);
  if (text == NULL) return -PLAIT_MESSAGE_MEMORY;
  const char *from = field->default_text.data, *end = from + field->default_text.length;
  uint32_t length = 0;
  while (from < end) {
    char c = *from++;
    if (c == '\\' && from < end) {
      c = *from++;
      uint32_t value = 0, digits = 0;
      if (c >= '0' && c <= '7') {
        for (from--; from < end && digits < 3 && *from >= '0' && *from <= '7'; digits++)
          value = value * 8 + (uint32_t)(*from++ - '0');
        c = (char)value;
      } else if (c == 'x' || c == 'X') {
        for (; from < end && digits < 2; digits++, from++) {
          char d = *from, lower = (char)(d | 32);
          if (d >= '0' && d <= '9') value = value * 16 + (uint32_t)(d - '0');
          else if (lower >= 'a' && lower <= 'f') value = value * 16 + (uint32_t)(lower - 'a' + 10);
          else break;
        }
        c = (char)value;
      } else {
        c = c == 'n'   ? '\n'
            : c == 'r' ? '\r'
            : c == 't' ? '\t'
            : c == 'a' ? '\a'
            : c == 'b' ? '\b'
            : c == 'f' ? '\f'
            : c == 'v' ? '\v'
                       : c;
      }
    }
    text[length++] = c;
  }
  field->default_text = (struct plait__span){text, length};
  return 0;
}

static int read_default(struct plait__build *build, struct plait__field *field, struct plait__enum *enumeration) {
  struct plait__span text = field->default_text;
  int negative = 0, status = 0;
  if (field->kind == PLAIT_KIND_ENUM) {
    field->default_bits = (uint64_t)(int64_t)enumeration->first_number; /* freeze.c knows values by their names */
    return 0;
  }
  if (!field->has_default) return 0;
  switch (field->kind) {
    case PLAIT_KIND_DOUBLE:
    case PLAIT_KIND_FLOAT: {
      double value = 0;
      status = plait_number_double(text.data, text.length, &value);
      if (field->kind == PLAIT_KIND_FLOAT) value = (double)(float)value;
      __builtin_memcpy(&field->default_bits, &value, 8);
      break;
    }
    case PLAIT_KIND_BOOL:
      field->default_bits = plait__span_equal(text, (struct plait__span){"true", 4});
      if (!field->default_bits && !plait__span_equal(text, (struct plait__span){"false", 5})) status = -1;
      break;
    case PLAIT_KIND_STRING: break;
    case PLAIT_KIND_BYTES: status = unescape(build, field); break;
    default: {
      status = plait_number_integer(text.data, text.length, &field->default_bits, &negative);
      int64_t value = (int64_t)field->default_bits;
      int large = !negative && value < 0;
      switch (field->kind) {
        case PLAIT_KIND_INT32:
        case PLAIT_KIND_SINT32:
        case PLAIT_KIND_SFIXED32:
          if (large || value != (int32_t)value) status = -1;
          break;
        case PLAIT_KIND_UINT32:
        case PLAIT_KIND_FIXED32:
          if (negative || field->default_bits > UINT32_MAX) status = -1;
          break;
        case PLAIT_KIND_UINT64:
        case PLAIT_KIND_FIXED64:
          if (negative && value != 0) status = -1;
          break;
        default:
          if (large) status = -1;
      }
    }
  }
  if (status == 0) return 0;
  if (status == -PLAIT_MESSAGE_MEMORY) return status;
  return plait__build_fail_about(build, field->name, "the default does not fit the field: ", text);
}

static int resolve_field(struct plait__build *build, struct plait__message *message, struct plait__field *field) {
  /* A MessageSet's extensions may have larger numbers elsewhere; here they are refused like all others. */
  if (field->number < 1 || field->number > PLAIT_FIELD_NUMBER_LIMIT)
    return plait__build_fail_about(build, message->name, "no valid number (1 to 536870911) for field ", field->name);
  field->flags = field->extension ? PLAIT_FIELD_EXTENSION : 0;
  field->type = PLAIT_SCHEMA_NONE;
  struct plait__type type = {.hash = 0};
  if (field->kind == 0 || plait_kind_is_message(field->kind) || field->kind == PLAIT_KIND_ENUM) {
    type = look_up(build, field->type_name, field->scope);
    if (field->kind == 0) field->kind = type.message != NULL ? PLAIT_KIND_MESSAGE : PLAIT_KIND_ENUM;
    if (field->kind == PLAIT_KIND_ENUM ? type.enumeration == NULL : type.message == NULL)
      return plait__build_fail_about(build, field->extension ? field->name : message->name,
          "no file has the type (a set needs its imports: protoc --include_imports): ", field->type_name);
    field->type = field->kind == PLAIT_KIND_ENUM ? type.enumeration->index : type.message->index;
  }
  int numbers =
      !plait_kind_is_message(field->kind) && field->kind != PLAIT_KIND_STRING && field->kind != PLAIT_KIND_BYTES;
  int in_entry = message->flags & PLAIT_TYPE_MAP_ENTRY;
  if (field->label == 3) {
    field->flags |= PLAIT_FIELD_REPEATED;
    if (field->oneof != NULL)
      return plait__build_fail_about(build, message->name, "a repeated field in a oneof: ", field->name);
    if (field->kind == PLAIT_KIND_MESSAGE && type.message->flags & PLAIT_TYPE_MAP_ENTRY)
      field->flags |= PLAIT_FIELD_MAP;
    if (numbers) {
      field->flags |= PLAIT_FIELD_PACKABLE;
      if (field->has_packed ? field->packed : field->features.packing == 1) field->flags |= PLAIT_FIELD_PACKED;
    }
  } else if (field->label == 2 || (field->features.presence == 3 && !field->extension && field->oneof == NULL)) {
    if (!in_entry) field->flags |= PLAIT_FIELD_REQUIRED;
  } else if (field->features.presence == 2 && !plait_kind_is_message(field->kind) && field->oneof == NULL &&
      !field->extension && !field->proto3_optional && !in_entry) {
    field->flags |= PLAIT_FIELD_IMPLICIT;
  }
  if (field->kind == PLAIT_KIND_MESSAGE && field->features.encoding == 2 && !(field->flags & PLAIT_FIELD_MAP) &&
      !in_entry)
    field->kind = PLAIT_KIND_GROUP;
  if (field->kind == PLAIT_KIND_STRING && field->features.utf8 == 2) field->flags |= PLAIT_FIELD_UTF8;
  if (field->kind == PLAIT_KIND_ENUM && type.enumeration->features.enums == 2) field->flags |= PLAIT_FIELD_CLOSED;
  if (field->has_default) {
    if (plait_kind_is_message(field->kind) || field->label == 3)
      return plait__build_fail_about(build, message->name, "no default is possible for field ", field->name);
    field->flags |= PLAIT_FIELD_DEFAULT;
  }
  int status = read_default(build, field, type.enumeration);
  if (status < 0) return status;
  if (field->flags & PLAIT_FIELD_REQUIRED) message->flags |= PLAIT_TYPE_REQUIRED;
  if (field->oneof != NULL) field->oneof->members++, build->member_count++;
  build->name_bytes += field->name.length + 1 + (field->has_default ? field->default_text.length + 1 : 0);
  build->field_count++;
  return 0;
}

static struct plait__field *merge(struct plait__field *a, struct plait__field *b) {
  struct plait__field *first = NULL, **end = &first;
  while (a != NULL && b != NULL) {
    struct plait__field **less = b->number < a->number ? &b : &a;
    *end = *less;
    end = &(*less)->next;
    *less = *end;
  }
  *end = a != NULL ? a : b;
  return first;
}

/* Sorts a list by number: bottom up, a run of 2^i at most in bins[i]. */
static struct plait__field *sort_fields(struct plait__field *list) {
  struct plait__field *bins[32] = {NULL};
  while (list != NULL) {
    struct plait__field *run = list;
    list = list->next;
    run->next = NULL;
    uint32_t i = 0;
    for (; i < 31 && bins[i] != NULL; i++) {
      run = merge(bins[i], run);
      bins[i] = NULL;
    }
    bins[i] = bins[i] == NULL ? run : merge(bins[i], run);
  }
  struct plait__field *sorted = NULL;
  for (uint32_t i = 0; i < 32; i++) sorted = merge(bins[i], sorted);
  return sorted;
}

static int check_entry(struct plait__build *build, struct plait__message *message) {
  struct plait__field *key = message->fields, *value = key == NULL ? NULL : key->next;
  if (message->field_count != 2 || key->number != 1 || value->number != 2 ||
      (key->flags | value->flags) & (PLAIT_FIELD_REPEATED | PLAIT_FIELD_EXTENSION) || key->oneof != NULL ||
      value->oneof != NULL || key->kind == PLAIT_KIND_BYTES || key->kind == PLAIT_KIND_DOUBLE ||
      key->kind == PLAIT_KIND_FLOAT || key->kind == PLAIT_KIND_ENUM || plait_kind_is_message(key->kind) ||
      value->kind == PLAIT_KIND_GROUP)
    return plait__build_fail(build, message->name, "this is no entry of a map");
  return 0;
}

int plait__build_resolve(struct plait__build *build) {
  int status = index_types(build);
  if (status < 0) return status;
  while (build->extensions != NULL) {
    struct plait__field *field = build->extensions;
    build->extensions = field->next;
    struct plait__type type = look_up(build, field->extendee, field->scope);
    if (type.message == NULL)
      return plait__build_fail_about(build, field->name,
          "no file has the message that this extends (protoc --include_imports): ", field->extendee);
    field->next = type.message->fields;
    type.message->fields = field;
    type.message->field_count++;
  }
  for (struct plait__message *message = build->messages; message != NULL; message = message->next) {
    for (struct plait__field *field = message->fields; field != NULL; field = field->next)
      if ((status = resolve_field(build, message, field)) < 0) return status;
    message->fields = sort_fields(message->fields);
    for (struct plait__field *field = message->fields; field != NULL && field->next != NULL; field = field->next)
      if (field->number == field->next->number)
        return plait__build_fail_about(build, message->name, "a number that another field has: ", field->next->name);
    message->oneof_count = 0;
    for (struct plait__oneof *oneof = message->oneofs; oneof != NULL; oneof = oneof->next) {
      if (oneof->members == 0) continue;
      oneof->index = build->oneof_count++;
      message->oneof_count++;
      build->name_bytes += oneof->name.length + 1;
    }
  }
  for (struct plait__message *message = build->messages; message != NULL; message = message->next)
    if (message->flags & PLAIT_TYPE_MAP_ENTRY && (status = check_entry(build, message)) < 0) return status;
  return 0;
}

PLAIT_COLD_END
