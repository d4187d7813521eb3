//! Prints the picture of the README, `examples/topologies.svg`: what a capture of each topology writes,
//! in which order.

fn main() {
    print!("{}", vkxfb_probe::picture::overview(vkxfb::topology::ProvokingVertex::First));
}
