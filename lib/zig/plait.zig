//! Plait's heap as a std.mem.Allocator, in wasm32 with and without a C library. Link libplait_heap_single.a, or
//! libplait_heap.a if the program has threads.

const std = @import("std");
const Alignment = std.mem.Alignment;

pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &vtable };

const vtable: std.mem.Allocator.VTable = .{ .alloc = alloc, .resize = resize, .remap = remap, .free = free };

/// Blocks of every size have this alignment.
const smallest: Alignment = .@"16";

extern fn plait_malloc(size: usize) ?[*]u8;
extern fn plait_realloc(block: [*]u8, size: usize) ?[*]u8;
extern fn plait_aligned_alloc(alignment: usize, size: usize) ?[*]u8;
extern fn plait_free(block: [*]u8) void;
extern fn plait_malloc_usable_size(block: [*]u8) usize;

fn alloc(_: *anyopaque, len: usize, alignment: Alignment, _: usize) ?[*]u8 {
    if (alignment.compare(.lte, smallest)) return plait_malloc(len);
    return plait_aligned_alloc(alignment.toByteUnits(), len);
}

/// In place: as far as the block has room.
fn resize(_: *anyopaque, memory: []u8, _: Alignment, len: usize, _: usize) bool {
    return len <= plait_malloc_usable_size(memory.ptr);
}

fn remap(_: *anyopaque, memory: []u8, alignment: Alignment, len: usize, _: usize) ?[*]u8 {
    if (alignment.compare(.lte, smallest)) return plait_realloc(memory.ptr, len);
    return if (len <= plait_malloc_usable_size(memory.ptr)) memory.ptr else null;
}

fn free(_: *anyopaque, memory: []u8, _: Alignment, _: usize) void {
    plait_free(memory.ptr);
}
