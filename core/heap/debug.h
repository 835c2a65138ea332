/*
 * heap debug: renames the functions of heap.c that take or return blocks, so that debug.c can wrap them. all.c includes
 * this before heap.c, in debug builds only.
 */
#define plait_heap_alloc plait__bare_alloc
#define plait_heap_alloc_zeroed plait__bare_alloc_zeroed
#define plait_heap_alloc_aligned plait__bare_alloc_aligned
#define plait_heap_realloc plait__bare_realloc
#define plait_heap_free plait__bare_free
#define plait_heap_size plait__bare_size
#define plait_heap_place(block) plait__bare_place(block) /* the function, not the enum */
