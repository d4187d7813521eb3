//! Links SPIRV-Tools' validator, as Debian's package `spirv-tools` has it.

fn main() {
    println!("cargo::rustc-link-lib=static:-bundle=SPIRV-Tools");
    println!("cargo::rustc-link-lib=stdc++");
    println!("cargo::rustc-link-search=/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
}
