/* quickjs: QuickJS with its std and os modules over files, on four threads: one runtime each. */
#include "../workers.h"
#include "quickjs-libc.h"
#include "quickjs.h"

static const char script[] =
    "import * as std from 'qjs:std';\n"
    "import * as os from 'qjs:os';\n"
    "const here = `js-${me}-`;\n"
    "let file = std.open(here + 'lines', 'w');\n"
    "for (let i = 0; i < 3000; i++) file.puts(`${i} ${i * i % 977} ${'x'.repeat(i % 60)}\\n`);\n"
    "tell(file.tell()); file.close();\n"
    "file = std.open(here + 'lines', 'r'); let lines = 0, sum = 0;\n"
    "for (let line; (line = file.getline()) !== null; lines++) sum = (sum * 31 + line.length) % 1000003;\n"
    "tell(lines, sum, file.eof()); file.seek(-30, std.SEEK_END); tell(file.readAsString()); file.close();\n"
    "const error = {}; tell(std.open(here + 'none', 'r', error), error.errno === std.Error.ENOENT);\n"
    "tell(os.mkdir(here + 'dir'), os.mkdir(here + 'dir') < 0);\n"
    "for (let i = 0; i < 50; i++) { const f = std.open(`${here}dir/${i}`, 'w'); "
    "f.puts(JSON.stringify({ i, a: Array(i).fill(i) })); f.close(); }\n"
    "const [names, code] = os.readdir(here + 'dir'); tell(names.length, code);\n"
    "tell(names.filter((n) => n[0] !== '.').map((n) => "
    "JSON.parse(std.loadFile(`${here}dir/${n}`)).a.length).sort((a, b) => a - b).join(' '));\n"
    "tell(os.rename(here + 'dir/7', here + 'seven'), os.stat(here + 'seven')[0].size, os.remove(here + "
    "'dir/8'), os.stat(here + 'dir/8')[1] !== 0);\n"
    "const fd = os.open(here + 'bytes', os.O_RDWR | os.O_CREAT | os.O_TRUNC);\n"
    "const bytes = new Uint8Array(100000).map((_, i) => i * 7);\n"
    "tell(os.write(fd, bytes.buffer, 0, bytes.length), os.seek(fd, 500, std.SEEK_SET), os.read(fd, "
    "bytes.buffer, 0, 3), bytes.subarray(0, 3).join());\n"
    "tell(os.close(fd));\n";

static JSValue tell_values(JSContext *context, JSValueConst this, int count, JSValueConst *values) {
  (void)this;
  struct worker *worker = JS_GetContextOpaque(context);
  for (int i = 0; i < count; i++) {
    const char *text = JS_ToCString(context, values[i]);
    tell(worker, "%s%s", i > 0 ? ", " : "", text != NULL ? text : "?");
    JS_FreeCString(context, text);
  }
  tell(worker, "\n");
  return JS_UNDEFINED;
}

static void *interpret(void *argument) {
  struct worker *worker = argument;
  JSRuntime *runtime = JS_NewRuntime();
  JS_SetMaxStackSize(runtime, 200000);
  js_std_init_handlers(runtime);
  JSContext *context = JS_NewContext(runtime);
  JS_SetContextOpaque(context, worker);
  js_init_module_std(context, "qjs:std");
  js_init_module_os(context, "qjs:os");
  JSValue global = JS_GetGlobalObject(context);
  JS_SetPropertyStr(context, global, "me", JS_NewInt32(context, worker->number));
  JS_SetPropertyStr(context, global, "tell", JS_NewCFunction(context, tell_values, "tell", 1));
  JS_FreeValue(context, global);
  JSValue result = JS_Eval(context, script, sizeof script - 1, "script", JS_EVAL_TYPE_MODULE);
  if (!JS_IsException(result)) result = js_std_await(context, result);
  if (JS_IsException(result)) {
    JSValue exception = JS_GetException(context);
    const char *text = JS_ToCString(context, exception);
    tell(worker, "exception: %s\n", text != NULL ? text : "?");
    JS_FreeCString(context, text);
    JS_FreeValue(context, exception);
  }
  JS_FreeValue(context, result);
  js_std_free_handlers(runtime);
  JS_FreeContext(context);
  JS_FreeRuntime(runtime);
  char name[40];
  snprintf(name, sizeof name, "js-%d-lines", worker->number);
  tell_file(worker, name);
  snprintf(name, sizeof name, "js-%d-bytes", worker->number);
  tell_file(worker, name);
  return NULL;
}

int main(void) {
  fresh();
  work(interpret);
  show_tree();
  return 0;
}
