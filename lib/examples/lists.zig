//! lists: a Zig program without a C library whose allocator is Plait's. The heap counts no block more at the end.

const std = @import("std");
const plait = @import("plait");

const Usage = extern struct {
    reserved_bytes: u64 = 0,
    used_bytes: u64 = 0,
    peak_bytes: u64 = 0,
    live_blocks: u32 = 0,
    failed: u32 = 0,
};

extern fn plait_heap_usage(out: *Usage) void;

fn liveBlocks() u32 {
    var usage: Usage = .{};
    plait_heap_usage(&usage);
    return usage.live_blocks;
}

fn work(allocator: std.mem.Allocator) !u32 {
    var list: std.ArrayList(u64) = .empty;
    defer list.deinit(allocator);
    for (0..100000) |number| try list.append(allocator, number);
    if (list.items[99999] != 99999) return error.HeapIsWrong;
    const aligned = try allocator.alignedAlloc(u8, .fromByteUnits(256), 1000);
    defer allocator.free(aligned);
    if (@intFromPtr(aligned.ptr) % 256 != 0) return error.HeapIsWrong;
    const shorter = try allocator.realloc(try allocator.alloc(u8, 5000), 100);
    defer allocator.free(shorter);
    return liveBlocks();
}

pub fn main() !void {
    const during = try work(plait.allocator);
    if (during != 3 or liveBlocks() != 0) return error.NotPlaits;
}
