//! Links Plait's archive in WebAssembly. It is built already, so users need no C compiler.

use std::env;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    if let Some(named) = env::var_os("PLAIT_LIB_DIR") {
        return named.into();
    }
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let packed = here.join("lib");
    if packed.is_dir() {
        return packed;
    }
    here.join("../../../build")
}

fn link(folder: &Path, name: &str) {
    let file = folder.join(format!("lib{name}.a"));
    assert!(file.exists(), "{} is missing: run `make heap-library` in Plait's repository", file.display());
    println!("cargo:rerun-if-changed={}", file.display());
    println!("cargo:rustc-link-lib=static={name}");
}

fn main() {
    println!("cargo:rerun-if-env-changed=PLAIT_LIB_DIR");
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("wasm32") {
        return;
    }
    let folder = folder();
    println!("cargo:rustc-link-search=native={}", folder.display());
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if !features.split(',').any(|feature| feature == "atomics") {
        return link(&folder, "plait_heap_single");
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("wasi") {
        link(&folder, "plait_heap_pthread");
    }
    link(&folder, "plait_heap");
}
