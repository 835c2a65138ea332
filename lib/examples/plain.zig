//! plain: what plain.c is, in Zig.

const std = @import("std");

extern fn puts(text: [*:0]const u8) c_int;

pub fn main() !void {
    const allocator = std.heap.c_allocator;
    var block = try allocator.alloc(u8, 100);
    defer allocator.free(block);
    block[99] = 7;
    block = try allocator.realloc(block, 100000);
    if (block[99] != 7) return error.HeapIsWrong;
    _ = puts("a program that knows nothing of Plait");
}
