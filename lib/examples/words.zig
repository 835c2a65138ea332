//! words: a Zig program for WASI whose std.heap.c_allocator is Plait's. It fills a hash map, lets aligned blocks grow, and
//! frees everything.

const std = @import("std");

extern fn printf(format: [*:0]const u8, ...) c_int;
extern fn plait_heap_usage(out: *Usage) void;
extern fn plait_heap_is_whole() c_int;

/// As in plait_heap.h.
const Usage = extern struct {
    reserved_bytes: u64,
    used_bytes: u64,
    peak_bytes: u64,
    live_blocks: u32,
    failed: u32,
};

const key_count = 20000;

fn usage(when: [*:0]const u8) Usage {
    var now: Usage = undefined;
    plait_heap_usage(&now);
    _ = printf("heap, %s: %u live blocks, %llu KiB in use, %llu at peak\n", when, now.live_blocks, now.used_bytes / 1024, now.peak_bytes / 1024);
    return now;
}

fn fill(allocator: std.mem.Allocator, map: *std.StringHashMapUnmanaged(u32)) !void {
    for (0..key_count) |i| {
        const key = try std.fmt.allocPrint(allocator, "key {d}", .{i});
        try map.put(allocator, key, @intCast(i));
    }
}

fn empty(allocator: std.mem.Allocator, map: *std.StringHashMapUnmanaged(u32)) void {
    var keys = map.keyIterator();
    while (keys.next()) |key| allocator.free(key.*);
    map.deinit(allocator);
}

/// Zig makes room in front of what is aligned to more than 16 itself, and grows a block where it lies if it can.
fn growAligned(allocator: std.mem.Allocator) !bool {
    var block = try allocator.alignedAlloc(u8, .fromByteUnits(4096), 100);
    defer allocator.free(block);
    @memset(block, 7);
    block = try allocator.realloc(block, 100000);
    return @intFromPtr(block.ptr) % 4096 == 0 and block[99] == 7;
}

pub fn main() !void {
    const allocator = std.heap.c_allocator;
    _ = printf("%d keys\n", @as(c_int, key_count));
    const before = usage("before");
    var map: std.StringHashMapUnmanaged(u32) = .empty;
    try fill(allocator, &map);
    const found = map.get("key 12345") == 12345;
    const during = usage("with all keys");
    empty(allocator, &map);
    const aligned = try growAligned(allocator);
    const after = usage("after");
    // 1: the map's table. If these were another malloc's blocks, the numbers would not move.
    if (!found or !aligned or during.live_blocks != before.live_blocks + key_count + 1 or
        after.live_blocks != before.live_blocks or plait_heap_is_whole() == 0) return error.HeapIsWrong;
    _ = printf("every block was Plait's\n");
}
