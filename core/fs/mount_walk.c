/*
 * mount_walk: walks along paths in mounts: one name after the other, in steps of the backend that follow no link.
 *
 * Invariants
 * - A link's text replaces its name, and is walked like the rest. Names from a link's text never lead above the root of
 *   the mount that contains the link (-PLAIT_EPERM). Only the caller's own path does, into memory or the mount above. An
 *   absolute link is a path of the space: it has to name a place in its mount.
 * - A text (the caller's own path or a link's) leaves a mount only where the text itself does. A link in the text may
 *   end elsewhere than its name. That never makes a later ".." lead out (-PLAIT_EPERM), neither sooner nor later than
 *   the text says. So the mounts that a text can lead into depend on the text, and not on what the mounts contain.
 * - A walk may start at a mounted directory instead of the mount's root. Nothing leads above that.
 * - ".." returns to the directory that the walk has come from. The backend is never asked for a parent.
 * - Directories that were entered are left again: by plait__fs_leave(), which the caller of the walk calls, or by the
 *   walk if it fails or leaves the mount.
 *
 * The texts are a stack: the caller's own, and inside it those of the links whose text is not used up. `depth` of a text
 * counts the names that it has descended. The root of a mount remembers which text has led there, and how deep that was
 * then. Only that text leads out again, from that depth. When a text is used up, the one around it takes over the roots
 * that it has led to, at its own depth.
 */
#include "backend.h"
#include "walker.h"

PLAIT_COLD_BEGIN

#define STEPS (PLAIT_FS_PATH_MAX / 2) /* a path has no more names */
#define TEXTS (PLAIT_FS_LINK_DEPTH + 1)
#define ROOTS 32u

/* One directory on the way. */
struct step {
  uint16_t length;    /* bytes of its path in `where` */
  uint16_t directory; /* the backend's number; 0: the root of a mount */
};

/* The root of a mount on the way; or the directory that the walk has started at. */
struct root {
  uint32_t step;  /* its index */
  uint32_t text;  /* which text has led there */
  uint32_t depth; /* the depth of that text then */
  struct plait__fs_view mount;
};

struct text {
  uint32_t behind; /* bytes of the path behind this text */
  uint32_t depth;
  uint32_t floor; /* index of the step above which it may not lead; UINT32_MAX: the caller's own text */
};

struct mount_walk {
  struct plait__fs_walker *walker;
  uint32_t steps, roots, texts;
  struct text text[TEXTS];
  struct root root[ROOTS];
  struct step step[STEPS];
};

static struct root *root_of(struct mount_walk *walk) {
  return &walk->root[walk->roots - 1];
}

static struct text *text_of(struct mount_walk *walk) {
  return &walk->text[walk->texts - 1];
}

static struct step *step_of(struct mount_walk *walk) {
  return &walk->step[walk->steps - 1];
}

static int is_real(const struct mount_walk *walk) {
  return walk->walker->how & PLAIT__FS_REAL;
}

/* What plait_fs_real() says of a walk that fails: see there. */
static void note(struct mount_walk *walk) {
  struct plait__fs_walker *walker = walk->walker;
  struct plait_fs_thread *mine = walker->mine;
  for (uint32_t i = 0; i < walker->where; i++) mine->second[i] = mine->where[i];
  plait_put(&mine->reached, walker->where);
  plait_put(&mine->in_link, 0);
}

static int push_step(struct mount_walk *walk, uint32_t directory) {
  if (walk->steps == STEPS) return -PLAIT_ENAMETOOLONG;
  walk->step[walk->steps++] = (struct step){(uint16_t)walk->walker->where, (uint16_t)directory};
  return 0;
}

static int push_root(struct mount_walk *walk, const struct plait__fs_view *view, uint32_t directory) {
  if (walk->roots == ROOTS) return -PLAIT_ELOOP;
  int rc = push_step(walk, directory);
  if (rc != 0) return rc;
  walk->root[walk->roots++] = (struct root){walk->steps - 1, walk->texts - 1, text_of(walk)->depth, *view};
  return 0;
}

/* Enters the root of a mount. */
static int enter_root(struct mount_walk *walk, uint32_t number) {
  struct plait__fs_view view;
  int rc = plait__fs_view(walk->walker->mine, number, &view);
  if (rc != 0) return rc;
  walk->walker->where = view.length;
  return push_root(walk, &view, 0);
}

/* Enters the directory of the descriptor. */
static int enter_start(struct mount_walk *walk, const struct plait_fs_at *at) {
  struct plait_fs_thread *mine = walk->walker->mine;
  struct plait__fs_place place;
  struct plait__fs_view view;
  int rc = plait__fs_find_mounted((int)at->start, at->start_uses, &place);
  if (rc < 0 || (rc = plait__fs_view(mine, place.mount, &view)) != 0) return rc;
  struct plait_fs_open *open = plait__fs_descriptor(at->start);
  plait_ref_t block = plait_load(&open->place);
  uint32_t length = plait_load(&open->length);
  /* Before the bytes are used, `uses` shows whether the block was still the descriptor's. */
  if (block == 0 || length >= PLAIT_FS_PATH_MAX) return -PLAIT_ENOTDIR;
  plait_copy_near(mine->where, plait_at(block), length);
  if (plait_load(&open->uses) != place.uses) return -PLAIT_EBADF;
  walk->walker->where = length;
  int directory = plait_backend_start((int)at->start, place.uses);
  return directory < 0 ? directory : push_root(walk, &view, (uint32_t)directory);
}

/* Goes back to the step before. */
static void pop_step(struct mount_walk *walk) {
  uint32_t directory = step_of(walk)->directory;
  walk->steps--;
  if (walk->roots != 0 && root_of(walk)->step == walk->steps) walk->roots--;
  if (directory != 0) plait_backend_leave(directory);
  if (walk->steps != 0) walk->walker->where = step_of(walk)->length;
}

/* Drops the texts that are used up. */
static void end_texts(struct mount_walk *walk) {
  struct plait__fs_walker *walker = walk->walker;
  while (walk->texts > 1 && (uint32_t)(walker->end - walker->at) <= text_of(walk)->behind) {
    walk->texts--;
    for (uint32_t i = walk->roots; i-- > 0 && walk->root[i].text >= walk->texts;)
      walk->root[i].text = walk->texts - 1, walk->root[i].depth = text_of(walk)->depth;
  }
}

/* Drops `x/..` from a text, and what is empty or ".". Returns its new length. */
static uint32_t unwind(uint8_t *text, uint32_t length) {
  uint32_t to = 0, at = 0, depth = 0; /* depth: names before `to` that a ".." removes */
  int absolute = length != 0 && text[0] == '/';
  if (absolute) to = at = 1;
  while (at < length) {
    uint32_t start = at;
    while (at < length && text[at] != '/') at++;
    uint32_t size = at - start;
    while (at < length && text[at] == '/') at++;
    if (size == 0 || (size == 1 && text[start] == '.')) continue;
    int up = size == 2 && text[start] == '.' && text[start + 1] == '.';
    if (up && depth > 0) {
      while (to > (uint32_t)absolute && text[--to] != '/') continue;
      depth--;
      continue;
    }
    if (to > (uint32_t)absolute) text[to++] = '/';
    for (uint32_t i = 0; i < size; i++) text[to++] = text[start + i];
    if (!up) depth++;
  }
  return to;
}

static int winds(const uint8_t *text, uint32_t length) {
  for (uint32_t i = 0; i + 3 <= length; i++)
    if (text[i] == '/' && text[i + 1] == '.' && text[i + 2] == '.') return 1;
  return 0;
}

/* Continues with the link's text in `half`, and `rest` behind it. */
static int put_text(struct mount_walk *walk, uint8_t *half, uint32_t length, const uint8_t *rest) {
  struct plait__fs_walker *walker = walk->walker;
  struct plait_fs_thread *mine = walker->mine;
  uint32_t left = (uint32_t)(walker->end - rest), skip = 0;
  if (walker->links++ == PLAIT_FS_LINK_DEPTH || walk->texts == TEXTS) return -PLAIT_ELOOP;
  if (walker->how & PLAIT__FS_PLAIN) return -PLAIT_ELOOP;
  if (is_real(walk)) {
    if (winds(half, length)) plait_put(&mine->winds, 1);
    if (walker->how & PLAIT__FS_BY_TEXT) length = unwind(half, length);
    plait_put(&mine->in_link, 1);
  }
  /* It must be a directory itself, not only because of the names after it. */
  if (left != 0 && length != 0 && half[length - 1] == '/') half[length++] = '.';
  if (length + left > PLAIT__FS_MOST) return -PLAIT_ENAMETOOLONG;
  for (uint32_t i = 0; i < left; i++) half[length + i] = rest[i];
  uint32_t floor = root_of(walk)->step;
  if (length != 0 && half[0] == '/') {
    if (walker->beneath) return -PLAIT_ENOTCAPABLE;
    skip = walk->step[floor].length;
    int inside = length >= skip && (length == skip || half[skip] == '/');
    for (uint32_t i = 0; inside && i < skip; i++) inside = half[i] == mine->where[i];
    if (!inside) return -PLAIT_EPERM;
    while (walk->steps - 1 > floor) pop_step(walk);
  }
  walker->at = half + skip, walker->end = half + length + left;
  walker->where = step_of(walk)->length;
  walk->text[walk->texts++] = (struct text){left, 0, floor};
  return 0;
}

/* The link's text becomes the path. -PLAIT_EINVAL: it is no link. */
static int put_link_text(struct mount_walk *walk, const uint8_t *name, uint32_t size, const uint8_t *rest) {
  uint8_t *half = plait__fs_other_half(walk->walker);
  int length = plait_backend_readlink(root_of(walk)->mount.number, step_of(walk)->directory, name, size, half);
  return length < 0 ? length : put_text(walk, half, (uint32_t)length, rest);
}

/* Enters a directory, or goes on with the text of a link. */
static int enter_name(struct mount_walk *walk, const uint8_t *name, uint32_t size, const uint8_t *rest) {
  int directory = plait_backend_enter(root_of(walk)->mount.number, step_of(walk)->directory, name, size);
  if (directory > 0) return push_step(walk, (uint32_t)directory);
  if (directory != -PLAIT_ENOTDIR) return directory;
  int rc = put_link_text(walk, name, size, rest);
  return rc == -PLAIT_EINVAL ? -PLAIT_ENOTDIR : rc;
}

static int ends(
    struct mount_walk *walk, struct plait__fs_place *place, struct plait__fs_name name, int slash, int dots) {
  struct root *root = root_of(walk);
  place->name = name;
  place->slash = slash;
  place->dots = dots;
  place->mount = root->mount.number;
  place->directory = step_of(walk)->directory;
  place->fd = -1;
  place->kind = -1;
  place->covers = 0;
  place->read_only = root->mount.read_only;
  place->where = walk->walker->where;
  return PLAIT__FS_IN_MOUNT;
}

static int ends_in_directory(struct mount_walk *walk, struct plait__fs_place *place, int dots) {
  return ends(walk, place, (struct plait__fs_name){NULL, 0, 0}, 1, dots);
}

/* Follows "..". PLAIT__FS_LEFT: into memory. */
static int go_back(struct mount_walk *walk) {
  struct text *text = text_of(walk);
  struct root *root = root_of(walk);
  int out = walk->walker->beneath ? -PLAIT_ENOTCAPABLE : -PLAIT_EPERM;
  if (walk->steps - 1 == text->floor) return out;
  if (root->step == walk->steps - 1 && (root->text != walk->texts - 1 || root->depth != text->depth)) return out;
  text->depth--;
  if (walk->steps == 1) {
    int rc = plait__fs_go_up(walk->walker);
    return rc != 0 ? rc : PLAIT__FS_LEFT;
  }
  pop_step(walk);
  return 0;
}

/* The last name of the path. 0: it was a link, whose text is the path now. */
static int last_name(struct mount_walk *walk, struct plait__fs_place *place, struct plait__fs_name name, int slash,
    const uint8_t *behind) {
  struct plait__fs_walker *walker = walk->walker;
  struct plait_fs_result *result = &walker->mine->result;
  int how = walker->how, covers = 0;
  if (slash && (how & PLAIT__FS_MAKE)) return -PLAIT_EISDIR;
  if ((how & PLAIT__FS_NAME) && root_of(walk)->mount.inner)
    covers = plait__fs_mount_there(walker->mine, walker->where, 1) != 0 ? 2 : 0;
  if (!(how & PLAIT__FS_FOLLOW) && !(slash && !(how & PLAIT__FS_NAME))) {
    int rc = ends(walk, place, name, slash, 0);
    place->covers = covers;
    return rc;
  }
  uint32_t mount = root_of(walk)->mount.number, directory = step_of(walk)->directory;
  int rc = plait_backend_stat(mount, directory, name.bytes, name.length);
  if (rc != 0 && rc != -PLAIT_ENOENT) return rc;
  int kind = rc == 0 ? (int)plait_get(&result->kind) : PLAIT_FS_NONE;
  if (kind == PLAIT_FS_SYMLINK) {
    rc = put_link_text(walk, name.bytes, name.length, behind);
    if (rc == -PLAIT_EINVAL || rc == -PLAIT_ENOENT) { /* it is no link any more: look again */
      if (walker->links++ == PLAIT_FS_LINK_DEPTH) return -PLAIT_ELOOP;
      walker->at = name.bytes;
      walker->where = step_of(walk)->length;
      text_of(walk)->depth--;
      rc = 0;
    }
    return rc;
  }
  if (kind != PLAIT_FS_NONE && slash && kind != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  rc = ends(walk, place, name, slash, 0);
  place->kind = kind;
  return rc;
}

/* One name. 0: go on; PLAIT__FS_IN_MOUNT, PLAIT__FS_LEFT, or negative: the end of the walk. */
static int walk_name(struct mount_walk *walk, struct plait__fs_place *place) {
  struct plait__fs_walker *walker = walk->walker;
  plait__fs_skip_slashes(walker);
  end_texts(walk);
  if (walker->at == walker->end) return ends_in_directory(walk, place, 3);
  const uint8_t *name = walker->at;
  while (walker->at < walker->end && *walker->at != '/') walker->at++;
  uint32_t size = (uint32_t)(walker->at - name);
  const uint8_t *behind = walker->at;
  plait__fs_skip_slashes(walker);
  int last = walker->at == walker->end, slash = behind != walker->end;
  if (name[0] == '.' && size == 1) return last ? ends_in_directory(walk, place, 1) : 0;
  if (name[0] == '.' && size == 2 && name[1] == '.') {
    int rc = go_back(walk);
    return rc == 0 && last ? ends_in_directory(walk, place, 2) : rc;
  }
  if (size > PLAIT_FS_NAME_MAX) return -PLAIT_ENAMETOOLONG;
  struct text *text = text_of(walk);
  text->depth++;
  int rc = plait__fs_where_down(walker, name, size);
  if (rc != 0) return rc;
  if (is_real(walk) && (text->floor == UINT32_MAX || (walker->how & PLAIT__FS_BY_TEXT))) note(walk);
  while (root_of(walk)->mount.inner) {
    int inner = plait__fs_mount_there(walker->mine, walker->where, 0);
    if (inner < 0) return inner;
    if (inner == 0) break;
    if (!last || !(walker->how & (PLAIT__FS_NAME | PLAIT__FS_COVER))) {
      if ((rc = enter_root(walk, (uint32_t)inner)) != -PLAIT_ESTALE) return rc;
      continue; /* it was removed just now */
    }
    ends(walk, place, (struct plait__fs_name){name, size, 0}, slash, 0);
    place->covers = 1;
    return PLAIT__FS_IN_MOUNT;
  }
  if (!last) return enter_name(walk, name, size, behind);
  return last_name(walk, place, (struct plait__fs_name){name, size, 0}, slash, behind);
}

/* After -PLAIT_ENOTDIR: the name that cannot be looked up is the one after the file that is no directory. */
static void note_next(struct mount_walk *walk) {
  struct plait__fs_walker *walker = walk->walker;
  end_texts(walk);
  if (text_of(walk)->floor != UINT32_MAX || walker->at == walker->end) return;
  const uint8_t *name = walker->at;
  while (walker->at < walker->end && *walker->at != '/') walker->at++;
  if (plait__fs_where_down(walker, name, (uint32_t)(walker->at - name)) == 0) note(walk);
}

int plait__fs_leave(int rc) {
  plait_backend_leave(1);
  return rc;
}

int plait__fs_walk_mount(
    struct plait__fs_walker *walker, uint32_t number, const struct plait_fs_at *at, struct plait__fs_place *place) {
  struct mount_walk walk;
  if (walker->how & PLAIT__FS_MEMORY) return -PLAIT_EAGAIN;
  walk.walker = walker;
  walk.steps = walk.roots = 0;
  walk.texts = 1;
  walk.text[0] = (struct text){0, 0, number == 0 ? 0 : UINT32_MAX};
  if (walker->how & PLAIT__FS_REAL) plait_put(&walker->mine->crossed, 1);
  int rc = number == 0 ? enter_start(&walk, at) : enter_root(&walk, number);
  if (rc == -PLAIT_ESTALE && number != 0) return PLAIT__FS_GONE;
  while (rc == 0) rc = walk_name(&walk, place);
  if (rc < 0) {
    if (rc == -PLAIT_ENOTDIR && is_real(&walk) && walk.steps != 0) note_next(&walk);
    while (walk.steps != 0) pop_step(&walk); /* not those of another walk, whose place the caller still has */
    return rc;
  }
  if (rc == PLAIT__FS_IN_MOUNT) plait__fs_keep_name(walker, at->second != 0, &place->name);
  return rc;
}

PLAIT_COLD_END
