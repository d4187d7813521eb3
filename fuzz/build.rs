//! Links SPIRV-Tools' validator, from Debian's package `spirv-tools`.

fn main() {
    println!("cargo::rustc-link-lib=static:-bundle=SPIRV-Tools");
    println!("cargo::rustc-link-lib=stdc++");
    println!("cargo::rustc-link-search=/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
}
