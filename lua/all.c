/*
 * all: the Lua module as one translation unit, with the core's part that it needs.
 */
#include "../core/message/status.c"
#include "../core/message/wire.c"
#include "../core/message/schema.c"
#include "../core/message/number.c"
#include "../core/message/descriptor.c"
#include "../core/message/resolve.c"
#include "../core/message/freeze.c"
#include "../core/message/pattern.c"
#include "values.c"
#include "decode.c"
#include "encode.c"
#include "flat.c"
#include "view.c"
#include "pbc.c"
#include "ffi.c"
#include "module.c"
