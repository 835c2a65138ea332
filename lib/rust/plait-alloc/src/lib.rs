//! Plait's heap as the global allocator of a program for WebAssembly. On other targets it is the system's allocator.
//!
//! ```
//! #[global_allocator]
//! static HEAP: plait_alloc::Plait = plait_alloc::Plait;
//!
//! fn main() {
//!     assert_eq!(vec![1; 1000].len(), 1000);
//! }
//! ```

#![no_std]

/// The allocator: for `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plait;

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ptr;

    /// Blocks of every size have this alignment.
    const ALIGNMENT: usize = 16;

    extern "C" {
        fn plait_malloc(size: usize) -> *mut u8;
        fn plait_calloc(count: usize, size: usize) -> *mut u8;
        fn plait_realloc(block: *mut u8, size: usize) -> *mut u8;
        fn plait_aligned_alloc(alignment: usize, size: usize) -> *mut u8;
        fn plait_free(block: *mut u8);
    }

    /// Names the object that releases a thread's place when the thread ends: so the linker loads it.
    #[cfg(all(target_os = "wasi", target_feature = "atomics"))]
    mod thread_ends {
        extern "C" {
            fn plait_heap_key_create() -> i32;
        }
        #[used]
        static LOADED: unsafe extern "C" fn() -> i32 = plait_heap_key_create;
    }

    // SAFETY: the functions are a malloc family for all threads; they never unwind.
    unsafe impl GlobalAlloc for super::Plait {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGNMENT {
                return plait_malloc(layout.size());
            }
            plait_aligned_alloc(layout.align(), layout.size())
        }

        #[inline]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if layout.align() <= ALIGNMENT {
                return plait_calloc(1, layout.size());
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                ptr::write_bytes(block, 0, layout.size());
            }
            block
        }

        #[inline]
        unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
            plait_free(block);
        }

        #[inline]
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            if layout.align() <= ALIGNMENT {
                return plait_realloc(block, size);
            }
            let moved = plait_aligned_alloc(layout.align(), size);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                plait_free(block);
            }
            moved
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    extern crate std;

    use core::alloc::{GlobalAlloc, Layout};
    use std::alloc::System;

    // SAFETY: all calls are the system allocator's.
    unsafe impl GlobalAlloc for super::Plait {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            System.alloc(layout)
        }

        #[inline]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            System.alloc_zeroed(layout)
        }

        #[inline]
        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            System.dealloc(block, layout);
        }

        #[inline]
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            System.realloc(block, layout, size)
        }
    }
}
