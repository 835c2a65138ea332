//! vectors: a Rust program whose global allocator is Plait. Vectors, strings, a map and aligned values come and go; the
//! heap counts no block more at the end.

use std::collections::BTreeMap;

#[global_allocator]
static HEAP: plait_alloc::Plait = plait_alloc::Plait;

/// As in plait_heap.h.
#[repr(C)]
#[derive(Default)]
struct Usage {
    reserved_bytes: u64,
    used_bytes: u64,
    peak_bytes: u64,
    live_blocks: u32,
    failed: u32,
}

extern "C" {
    fn plait_heap_usage(out: *mut Usage);
}

fn live_blocks() -> u32 {
    let mut usage = Usage::default();
    unsafe { plait_heap_usage(&mut usage) };
    usage.live_blocks
}

#[repr(align(256))]
#[derive(Clone)]
struct Aligned([u8; 300]);

fn work() -> usize {
    let mut names = BTreeMap::new();
    for number in 0..20000u32 {
        names.insert(number % 5000, format!("name {number}"));
    }
    let mut aligned = Vec::new();
    for byte in 0..100 {
        aligned.push(Aligned([byte; 300]));
    }
    assert!(aligned.iter().all(|value| value as *const _ as usize % 256 == 0 && value.0[299] == value.0[0]));
    assert!(vec![0u8; 1 << 20].iter().all(|byte| *byte == 0));
    names.values().map(String::len).sum()
}

fn main() {
    println!("{} bytes in names", work()); // here the standard library takes its buffers
    let before = live_blocks();
    work();
    assert!(before > 0 && live_blocks() == before, "the heap's numbers are wrong");
    println!("every block was Plait's");
}
