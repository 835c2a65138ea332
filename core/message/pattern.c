/*
 * pattern: making patterns, and both directions of flat access. See pattern.h.
 *
 * A pattern has a node for each message that its names lead through. The node's steps are the fields used there,
 * ordered by number. A reader expects the next step; a writer walks the steps backwards.
 */
#include "pattern.h"

PLAIT_COLD_BEGIN

#define NODE_LIMIT 200u
#define STEP_LIMIT 400u

struct draft {
  const struct plait_schema *schema;
  struct plait_message_error *error;
  struct plait_pattern_node nodes[NODE_LIMIT];
  struct plait_pattern_step steps[STEP_LIMIT]; /* in the order of their making */
  uint16_t node_of[STEP_LIMIT];
  uint32_t slots[PLAIT_PATTERN_SLOT_LIMIT];
  uint16_t copies[2 * PLAIT_PATTERN_SLOT_LIMIT];
  uint32_t node_count, step_count, slot_count, copy_count, both;
};

static int pattern_fail(
    struct plait_message_error *error, int status, const char *text, const char *word, size_t length) {
  error->status = status;
  plait__error_add(error, text, __builtin_strlen(text));
  plait__error_add(error, word, length > 100 ? 100 : length);
  return -status;
}

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',';
}

/* Returns the node's step for a field, and creates it if needed. */
static struct plait_pattern_step *draft_step(struct draft *draft, uint32_t node, uint32_t index) {
  for (uint32_t i = 0; i < draft->step_count; i++)
    if (draft->node_of[i] == node && draft->steps[i].field == index) return &draft->steps[i];
  if (draft->step_count == STEP_LIMIT) return NULL;
  const struct plait_field *field = plait_schema_field(draft->schema, index);
  struct plait_pattern_step *step = &draft->steps[draft->step_count];
  *step = (struct plait_pattern_step){.tag = field->tag,
      .field = index,
      .slot = PLAIT_PATTERN_NO,
      .child = PLAIT_PATTERN_NO,
      .kind = field->kind,
      .wire = field->wire,
      .flags = field->flags};
  if (plait_field_is_set_item(plait_schema_message(draft->schema, draft->nodes[node].message), field)) {
    step->flags |= PLAIT_PATTERN_SET_ITEM;
    draft->nodes[node].set = 1;
  }
  draft->node_of[draft->step_count++] = (uint16_t)node;
  if (field->oneof != PLAIT_SCHEMA_NONE) draft->nodes[node].oneofs = 1;
  return step;
}

/* An extension's name contains dots, so the longest name that matches is used. */
static uint32_t longest_field(
    const struct draft *draft, uint32_t message, const char *word, size_t length, size_t *used) {
  for (size_t end = length < PLAIT_NAME_LIMIT ? length : PLAIT_NAME_LIMIT; end > 0; end--) {
    if (end < length && word[end] != '.') continue;
    uint32_t field = plait_schema_find_field(draft->schema, message, word, end);
    if (field == PLAIT_SCHEMA_NONE) continue;
    *used = end;
    return field;
  }
  return PLAIT_SCHEMA_NONE;
}

static int draft_word(struct draft *draft, const char *word, size_t length) {
  uint32_t node = 0, slot = draft->slot_count;
  const char *name = word;
  size_t rest = length, used = 0;
  if (slot == PLAIT_PATTERN_SLOT_LIMIT)
    return pattern_fail(draft->error, PLAIT_MESSAGE_PATTERN, "more than 200 names, from ", word, length);
  for (;;) {
    uint32_t index = longest_field(draft, draft->nodes[node].message, name, rest, &used);
    if (index == PLAIT_SCHEMA_NONE)
      return pattern_fail(draft->error, PLAIT_MESSAGE_NAME, "no such field: ", word, length);
    struct plait_pattern_step *step = draft_step(draft, node, index);
    if (step == NULL)
      return pattern_fail(draft->error, PLAIT_MESSAGE_PATTERN, "too many different fields, from ", word, length);
    if (used == rest) {
      draft->slots[draft->slot_count++] = index;
      if (step->child != PLAIT_PATTERN_NO) draft->both = 1;
      if (step->slot == PLAIT_PATTERN_NO) {
        step->slot = (uint16_t)slot;
      } else {
        draft->copies[2 * draft->copy_count] = step->slot;
        draft->copies[2 * draft->copy_count++ + 1] = (uint16_t)slot;
      }
      return 0;
    }
    if (!plait_kind_is_message(step->kind) || step->flags & PLAIT_FIELD_REPEATED)
      return pattern_fail(draft->error, PLAIT_MESSAGE_PATTERN,
          "only a message that is not repeated has fields to name: ", word, length);
    if (step->slot != PLAIT_PATTERN_NO) draft->both = 1;
    if (step->child == PLAIT_PATTERN_NO) {
      if (draft->node_count == NODE_LIMIT)
        return pattern_fail(draft->error, PLAIT_MESSAGE_PATTERN, "too many different messages, from ", word, length);
      step->child = (uint16_t)draft->node_count;
      draft->nodes[draft->node_count++] =
          (struct plait_pattern_node){.message = plait_schema_field(draft->schema, index)->type};
    }
    node = step->child;
    name += used + 1;
    rest -= used + 1;
  }
}

static struct plait_pattern *draft_freeze(struct draft *draft, const struct plait_allocator *allocator) {
  uint32_t nodes = sizeof(struct plait_pattern);
  uint32_t steps = nodes + draft->node_count * (uint32_t)sizeof(struct plait_pattern_node);
  uint32_t slots = steps + draft->step_count * (uint32_t)sizeof(struct plait_pattern_step);
  uint32_t copies = slots + draft->slot_count * 4, size = copies + draft->copy_count * 4;
  struct plait_pattern *pattern = allocator->resize(allocator->context, NULL, 0, size);
  if (pattern == NULL) return NULL;
  *pattern = (struct plait_pattern){
      .size = size,
      .slot_count = (uint16_t)draft->slot_count,
      .node_count = (uint16_t)draft->node_count,
      .step_count = (uint16_t)draft->step_count,
      .copy_count = (uint16_t)draft->copy_count,
      .nodes = nodes,
      .steps = steps,
      .slots = slots,
      .copies = copies,
      .both = draft->both,
  };
  struct plait_pattern_node *to_nodes = (struct plait_pattern_node *)((uint8_t *)pattern + nodes);
  struct plait_pattern_step *to_steps = (struct plait_pattern_step *)((uint8_t *)pattern + steps);
  uint32_t placed = 0;
  for (uint32_t node = 0; node < draft->node_count; node++) {
    to_nodes[node] = draft->nodes[node];
    to_nodes[node].first_step = (uint16_t)placed;
    for (uint32_t i = 0; i < draft->step_count; i++) {
      if (draft->node_of[i] != node) continue;
      uint32_t at = placed++;
      for (; at > to_nodes[node].first_step && to_steps[at - 1].tag > draft->steps[i].tag; at--)
        to_steps[at] = to_steps[at - 1];
      to_steps[at] = draft->steps[i];
    }
    to_nodes[node].step_count = (uint16_t)(placed - to_nodes[node].first_step);
  }
  __builtin_memcpy((uint8_t *)pattern + slots, draft->slots, draft->slot_count * 4);
  __builtin_memcpy((uint8_t *)pattern + copies, draft->copies, draft->copy_count * 4);
  return pattern;
}

int plait_pattern_build(const struct plait_schema *schema, const char *text, size_t length,
    const struct plait_allocator *allocator, struct plait_pattern **pattern, struct plait_message_error *error) {
  *error = (struct plait_message_error){.status = 0};
  struct draft *draft = allocator->resize(allocator->context, NULL, 0, sizeof *draft);
  if (draft == NULL) return -(error->status = PLAIT_MESSAGE_MEMORY);
  plait_zero(draft, sizeof *draft);
  draft->schema = schema;
  draft->error = error;
  int status = 0, words = 0;
  for (size_t at = 0; status == 0 && at < length;) {
    size_t start = at;
    while (at < length && !is_blank(text[at])) at++;
    if (at > start && words++ == 0) {
      draft->nodes[0].message = plait_schema_find_message(schema, text + start, at - start);
      draft->node_count = 1;
      if (draft->nodes[0].message == PLAIT_SCHEMA_NONE)
        status = pattern_fail(error, PLAIT_MESSAGE_NAME, "no such message type: ", text + start, at - start);
    } else if (at > start) {
      status = draft_word(draft, text + start, at - start);
    }
    while (at < length && is_blank(text[at])) at++;
  }
  if (status == 0 && words == 0) status = pattern_fail(error, PLAIT_MESSAGE_PATTERN, "an empty pattern", "", 0);
  if (status == 0 && (*pattern = draft_freeze(draft, allocator)) == NULL)
    status = -(error->status = PLAIT_MESSAGE_MEMORY);
  allocator->resize(allocator->context, draft, sizeof *draft, 0);
  return status;
}

/* ---- reading ---- */

struct unpacking {
  const struct plait_schema *schema;
  const struct plait_pattern *pattern;
  const struct plait_pattern_elements *elements;
  struct plait_value *values;
  struct plait_message_error *error;
  const uint8_t *bytes;
};

/* Discards earlier members of the oneof, because another one was read. */
static PLAIT_ONCE void clear_oneof(struct unpacking *unpacking, const struct plait_pattern_node *node, uint32_t oneof,
    const struct plait_pattern_step *but);

static void clear_step(struct unpacking *unpacking, const struct plait_pattern_step *step) {
  if (step->slot != PLAIT_PATTERN_NO) unpacking->values[step->slot].present = 0;
  if (step->child == PLAIT_PATTERN_NO) return;
  const struct plait_pattern_node *node = plait_pattern_nodes(unpacking->pattern) + step->child;
  clear_oneof(unpacking, node, PLAIT_SCHEMA_NONE, NULL);
}

/* oneof: NONE for all. The depth is that of the pattern's names. */
static void clear_oneof(struct unpacking *unpacking, const struct plait_pattern_node *node, uint32_t oneof,
    const struct plait_pattern_step *but) {
  const struct plait_pattern_step *step = plait_pattern_steps(unpacking->pattern) + node->first_step;
  for (uint32_t i = 0; i < node->step_count; i++, step++)
    if (step != but &&
        (oneof == PLAIT_SCHEMA_NONE || plait_schema_field(unpacking->schema, step->field)->oneof == oneof))
      clear_step(unpacking, step);
}

static int unpack_fail(struct unpacking *unpacking, int status, const uint8_t *at, const struct plait_field *field) {
  struct plait_message_error *error = unpacking->error;
  if (error->status == 0) {
    error->status = -status;
    error->offset = (uint32_t)(at - unpacking->bytes);
  }
  if (field != NULL) {
    plait__error_add_before(error, plait_schema_name(unpacking->schema, field->name), field->name_length);
    plait__error_add_before(error, ".", 1);
  }
  return status;
}

PLAIT_COLD_END

static int unpack_node(
    struct unpacking *unpacking, uint32_t node_index, const uint8_t *at, const uint8_t *end, uint32_t depth);

static int unpack_elements(struct unpacking *unpacking, const struct plait_pattern_step *step,
    const struct plait_field *field, const uint8_t *at, const uint8_t *end) {
  while (at < end) {
    struct plait_value value = {.length = 0, .present = 1};
    const uint8_t *next = plait_wire_number(at, end, step->kind, &value.bits);
    if (next == NULL) return unpack_fail(unpacking, plait_wire_number_status(at, end, step->wire), at, field);
    if (!(step->flags & PLAIT_FIELD_CLOSED) ||
        plait_enum_find_number(
            unpacking->schema, plait_schema_enum(unpacking->schema, field->type), (int32_t)value.integer) != NULL) {
      int status = unpacking->elements->take(unpacking->elements->context, step->slot, field, &value);
      if (status < 0) return unpack_fail(unpacking, status, at, field);
    }
    at = next;
  }
  return 0;
}

/*
 * Reads the field of a step, starting after its tag. NULL and *status: an error. NULL and status 0: treat it as an
 * unknown field.
 */
static const uint8_t *unpack_step(struct unpacking *unpacking, const struct plait_pattern_step *step, uint32_t tag,
    const uint8_t *at, const uint8_t *end, uint32_t depth, int *status) {
  const struct plait_schema *schema = unpacking->schema;
  const struct plait_field *field = plait_schema_field(schema, step->field);
  struct plait_value value = {.length = 0, .present = 1};
  const uint8_t *next;
  uint32_t length;
  *status = 0;
  if ((tag & 7) != step->wire) {
    if (!(step->flags & PLAIT_FIELD_PACKABLE) || (tag & 7) != PLAIT_WIRE_BYTES) return NULL;
    next = plait_wire_length(at, end, &length);
    if (next == NULL) {
      *status = unpack_fail(unpacking, plait_wire_length_status(at, end), at, field);
      return NULL;
    }
    if (unpacking->elements != NULL && (*status = unpack_elements(unpacking, step, field, next, next + length)) < 0)
      return NULL;
    return next + length;
  }
  if (step->wire == PLAIT_WIRE_BYTES) {
    next = plait_wire_length(at, end, &length);
    if (next == NULL) {
      *status = unpack_fail(unpacking, plait_wire_length_status(at, end), at, field);
      return NULL;
    }
    value.data = next;
    value.length = length;
    if (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(next, length)) {
      *status = unpack_fail(unpacking, -PLAIT_MESSAGE_UTF8, next, field);
      return NULL;
    }
    if (step->child != PLAIT_PATTERN_NO &&
        (*status = unpack_node(unpacking, step->child, next, next + length, depth)) < 0) {
      unpack_fail(unpacking, *status, next, field);
      return NULL;
    }
    next += length;
  } else if (step->wire == PLAIT_WIRE_START) {
    const uint8_t *content_end;
    next = plait_wire_group(at, end, tag >> 3, depth, &content_end, status);
    if (next == NULL) {
      unpack_fail(unpacking, *status, at, field);
      return NULL;
    }
    value.data = at;
    value.length = (uint32_t)(content_end - at);
    if (step->child != PLAIT_PATTERN_NO &&
        (*status = unpack_node(unpacking, step->child, at, content_end, depth)) < 0) {
      unpack_fail(unpacking, *status, at, field);
      return NULL;
    }
  } else {
    next = plait_wire_number(at, end, step->kind, &value.bits);
    if (next == NULL) {
      *status = unpack_fail(unpacking, plait_wire_number_status(at, end, step->wire), at, field);
      return NULL;
    }
    if (step->flags & PLAIT_FIELD_CLOSED &&
        plait_enum_find_number(schema, plait_schema_enum(schema, field->type), (int32_t)value.integer) == NULL)
      return next; /* the closed enum has no such value: the field counts as absent */
  }
  if (step->flags & PLAIT_FIELD_REPEATED) {
    if (unpacking->elements == NULL) return next;
    *status = unpacking->elements->take(unpacking->elements->context, step->slot, field, &value);
    if (*status < 0) {
      unpack_fail(unpacking, *status, at, field);
      return NULL;
    }
  } else if (step->slot != PLAIT_PATTERN_NO) {
    struct plait_value *place = &unpacking->values[step->slot];
    if (plait_kind_is_message(step->kind) && place->present && unpacking->elements != NULL &&
        unpacking->elements->join != NULL &&
        (*status = unpacking->elements->join(unpacking->elements->context, step->slot, place, &value)) < 0) {
      unpack_fail(unpacking, *status, at, field);
      return NULL;
    }
    *place = value;
  }
  return next;
}

/*
 * Reads an item of a MessageSet as a message field whose number is the item's. Returns the address after the item, or
 * NULL.
 */
static PLAIT_ONCE const uint8_t *unpack_set_item(struct unpacking *unpacking, const struct plait_pattern_node *node,
    const uint8_t *at, const uint8_t *end, uint32_t depth, int *status) {
  const struct plait_pattern_step *steps = plait_pattern_steps(unpacking->pattern) + node->first_step;
  const uint8_t *message, *content_end;
  uint32_t number;
  const uint8_t *next = plait_wire_set_item(at, end, depth, &number, &message, &content_end, status);
  if (next == NULL) {
    unpack_fail(unpacking, *status, at, NULL);
    return NULL;
  }
  if (message == NULL) return next;
  for (uint32_t i = 0; i < node->step_count; i++)
    if (steps[i].flags & PLAIT_PATTERN_SET_ITEM && steps[i].tag >> 3 == number)
      return unpack_step(unpacking, &steps[i], steps[i].tag, message, content_end, depth, status) == NULL ? NULL : next;
  return next;
}

/* Reads one message. */
static int unpack_node(
    struct unpacking *unpacking, uint32_t node_index, const uint8_t *at, const uint8_t *end, uint32_t depth) {
  const struct plait_pattern_node *node = plait_pattern_nodes(unpacking->pattern) + node_index;
  const struct plait_pattern_step *steps = plait_pattern_steps(unpacking->pattern) + node->first_step;
  uint32_t expected = 0, count = node->step_count;
  if (depth == 0) return unpack_fail(unpacking, -PLAIT_MESSAGE_DEPTH, at, NULL);
  while (at < end) {
    uint32_t tag;
    int status = -PLAIT_MESSAGE_TAG;
    const uint8_t *start = at, *next = plait_wire_tag(at, end, &tag);
    if (next == NULL) return unpack_fail(unpacking, end - at >= 5 ? status : -PLAIT_MESSAGE_TRUNCATED, at, NULL);
    const struct plait_pattern_step *step = NULL;
    if (expected < count && steps[expected].tag == tag) {
      step = &steps[expected];
    } else {
      for (uint32_t i = 0; i < count; i++)
        if (steps[i].tag >> 3 == tag >> 3) {
          step = &steps[i];
          expected = i;
          break;
        }
    }
    at = next;
    if (node->set && tag == PLAIT_SET_ITEM_BEGIN) {
      at = unpack_set_item(unpacking, node, at, end, depth - 1, &status);
      if (at == NULL) return status;
      continue;
    }
    if (step != NULL) {
      next = unpack_step(unpacking, step, tag, at, end, depth - 1, &status);
      if (next != NULL) {
        expected += !(step->flags & PLAIT_FIELD_REPEATED);
        if (node->oneofs) {
          const struct plait_field *field = plait_schema_field(unpacking->schema, step->field);
          if (field->oneof != PLAIT_SCHEMA_NONE && plait_wire_counts(unpacking->schema, field, at, end))
            clear_oneof(unpacking, node, field->oneof, step);
        }
        at = next;
        continue;
      }
      if (status < 0) return status;
    } else if (node->oneofs) {
      const struct plait_message *message = plait_schema_message(unpacking->schema, node->message);
      const struct plait_field *field = plait_message_find_number(unpacking->schema, message, tag >> 3);
      if (field != NULL && field->oneof != PLAIT_SCHEMA_NONE && field->wire == (tag & 7) &&
          plait_wire_counts(unpacking->schema, field, at, end))
        clear_oneof(unpacking, node, field->oneof, NULL);
    }
    at = plait_wire_skip(at, end, tag, depth - 1, &status);
    if (at == NULL) return unpack_fail(unpacking, status, start, NULL);
  }
  return 0;
}

int plait_pattern_unpack(const struct plait_schema *schema, const struct plait_pattern *pattern, const uint8_t *bytes,
    size_t size, uint32_t depth, struct plait_value *values, const struct plait_pattern_elements *elements,
    struct plait_message_error *error) {
  struct unpacking unpacking = {schema, pattern, elements, values, error, bytes};
  error->status = 0;
  error->length = 0;
  error->text[0] = 0;
  if (size > PLAIT_WIRE_LENGTH_LIMIT) return -(error->status = PLAIT_MESSAGE_SIZE);
  if (size == 0) unpacking.bytes = bytes = (const uint8_t *)""; /* NULL is as good as any place for nothing */
  for (uint32_t i = 0; i < pattern->slot_count; i++) values[i].present = 0;
  int status = unpack_node(&unpacking, 0, bytes, bytes + size, depth);
  if (status < 0) return status;
  const uint16_t *copies = (const uint16_t *)((const uint8_t *)pattern + pattern->copies);
  for (uint32_t i = 0; i < pattern->copy_count; i++) values[copies[2 * i + 1]] = values[copies[2 * i]];
  return 0;
}

/* ---- writing ---- */

struct packing {
  const struct plait_schema *schema;
  const struct plait_pattern *pattern;
  const struct plait_pattern_elements *elements;
  const struct plait_value *values;
  struct plait_writer *writer;
  struct plait_message_error *error;
};

static PLAIT_COLD int pack_fail(struct packing *packing, int status, const struct plait_field *field) {
  struct plait_message_error *error = packing->error;
  error->status = -status;
  if (field != NULL) {
    plait__error_add_before(error, plait_schema_name(packing->schema, field->name), field->name_length);
    plait__error_add_before(error, ".", 1);
  }
  return status;
}

static int pack_node(struct packing *packing, uint32_t node_index, int *given);

static int pack_value(struct packing *packing, const struct plait_pattern_step *step, const struct plait_value *value) {
  struct plait_writer *writer = packing->writer;
  int status;
  if (step->flags & PLAIT_PATTERN_SET_ITEM && (status = plait_write_set_item_end(writer)) < 0) return status;
  if (step->wire == PLAIT_WIRE_BYTES) {
    if (step->flags & PLAIT_FIELD_IMPLICIT && value->length == 0) return 0;
    if (step->flags & PLAIT_FIELD_UTF8 && !plait_utf8_valid(value->data, value->length)) return -PLAIT_MESSAGE_UTF8;
    if ((status = plait_write_raw(writer, value->data, value->length)) < 0) return status;
    if ((status = plait_write_varint(writer, value->length)) < 0) return status;
  } else if (step->wire == PLAIT_WIRE_START) {
    if ((status = plait_write_varint(writer, step->tag + 1)) < 0) return status;
    if ((status = plait_write_raw(writer, value->data, value->length)) < 0) return status;
  } else {
    if (step->flags & PLAIT_FIELD_IMPLICIT && value->bits == 0) return 0;
    if ((status = plait_write_number(writer, step->kind, value->bits)) < 0) return status;
  }
  return step->flags & PLAIT_PATTERN_SET_ITEM ? plait_write_set_item_begin(writer, step->tag >> 3)
                                              : plait_write_varint(writer, step->tag);
}

static int pack_child(struct packing *packing, const struct plait_pattern_step *step, int *given) {
  struct plait_writer *writer = packing->writer;
  int status, inside = 0;
  size_t before = plait_written(writer);
  if (step->flags & PLAIT_PATTERN_SET_ITEM && (status = plait_write_set_item_end(writer)) < 0) return status;
  if (step->wire == PLAIT_WIRE_START && (status = plait_write_varint(writer, step->tag + 1)) < 0) return status;
  size_t content = plait_written(writer);
  if ((status = pack_node(packing, step->child, &inside)) < 0) return status;
  if (!inside) {
    writer->at = writer->end - before;
    return 0;
  }
  *given = 1;
  size_t length = plait_written(writer) - content;
  if (length > PLAIT_WIRE_LENGTH_LIMIT) return -PLAIT_MESSAGE_SIZE;
  if (step->wire == PLAIT_WIRE_BYTES && (status = plait_write_varint(writer, length)) < 0) return status;
  return step->flags & PLAIT_PATTERN_SET_ITEM ? plait_write_set_item_begin(writer, step->tag >> 3)
                                              : plait_write_varint(writer, step->tag);
}

/* Whether a step, or one inside of it, has a value. The depth is that of the pattern's names. */
static int is_given(const struct packing *packing, const struct plait_pattern_step *step) {
  if (step->child == PLAIT_PATTERN_NO) return packing->values[step->slot].present != 0;
  const struct plait_pattern_node *node = plait_pattern_nodes(packing->pattern) + step->child;
  const struct plait_pattern_step *inner = plait_pattern_steps(packing->pattern) + node->first_step;
  for (uint32_t i = 0; i < node->step_count; i++)
    if (is_given(packing, &inner[i])) return 1;
  return 0;
}

/* A oneof has one value at most. */
static PLAIT_ONCE int check_oneofs(struct packing *packing, const struct plait_pattern_step *steps, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    const struct plait_field *field = plait_schema_field(packing->schema, steps[i].field);
    if (field->oneof == PLAIT_SCHEMA_NONE || !is_given(packing, &steps[i])) continue;
    for (uint32_t j = 0; j < i; j++)
      if (plait_schema_field(packing->schema, steps[j].field)->oneof == field->oneof && is_given(packing, &steps[j]))
        return pack_fail(packing, -PLAIT_MESSAGE_ONEOF, field);
  }
  return 0;
}

static int pack_node(struct packing *packing, uint32_t node_index, int *given) {
  const struct plait_pattern_node *node = plait_pattern_nodes(packing->pattern) + node_index;
  const struct plait_pattern_step *first = plait_pattern_steps(packing->pattern) + node->first_step;
  if (node->oneofs && !(packing->elements != NULL && packing->elements->all_members)) {
    int status = check_oneofs(packing, first, node->step_count);
    if (status < 0) return status;
  }
  for (const struct plait_pattern_step *step = first + node->step_count; step-- > first;) {
    int status = 0;
    if (step->child != PLAIT_PATTERN_NO) {
      status = pack_child(packing, step, given);
    } else if (packing->values[step->slot].present) {
      *given = 1;
      if (!(step->flags & PLAIT_FIELD_REPEATED)) status = pack_value(packing, step, &packing->values[step->slot]);
      else if (packing->elements != NULL)
        status = packing->elements->give(
            packing->elements->context, step->slot, plait_schema_field(packing->schema, step->field), packing->writer);
    }
    if (status < 0) return pack_fail(packing, status, plait_schema_field(packing->schema, step->field));
  }
  return 0;
}

int plait_pattern_pack(const struct plait_schema *schema, const struct plait_pattern *pattern,
    const struct plait_value *values, const struct plait_pattern_elements *elements, struct plait_writer *writer,
    struct plait_message_error *error) {
  struct packing packing = {schema, pattern, elements, values, writer, error};
  int given = 0;
  error->status = 0;
  error->length = 0;
  error->text[0] = 0;
  if (pattern->both || pattern->copy_count != 0) return pack_fail(&packing, -PLAIT_MESSAGE_PATTERN, NULL);
  size_t before = plait_written(writer);
  int status = pack_node(&packing, 0, &given);
  if (status == 0 && plait_written(writer) - before > PLAIT_WIRE_LENGTH_LIMIT)
    status = pack_fail(&packing, -PLAIT_MESSAGE_SIZE, NULL);
  return status;
}
