//! Compiles the C++ side of the LevelDB peer, if that is part of the build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "leveldb")]
    leveldb();
}

#[cfg(feature = "leveldb")]
fn leveldb() {
    const SOURCE: &str = "src/systems/leveldb/store.cc";
    println!("cargo:rerun-if-changed={SOURCE}");
    // Where `leveldb-sys` has put the headers of the LevelDB that it built.
    let root = std::env::var("DEP_LEVELDB_ROOT").expect("leveldb-sys says where it built LevelDB");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(format!("{root}/include"))
        .file(SOURCE)
        .compile("sidekey_lab_leveldb");
}
