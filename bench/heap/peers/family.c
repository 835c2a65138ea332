/* What a program has to do for any allocator: for the size of the malloc family by itself. */
extern void __wasm_call_ctors(void); /* made by the linker; naming it keeps the linker from wrapping every export */

__attribute__((export_name("start"))) void start(void) {
  __wasm_call_ctors();
}
