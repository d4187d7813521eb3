//! Compiles the C programs that `vkxfb probe reproduce` writes, and runs them: the driver of the tests captures as the
//! specification demands.

use std::path::Path;
use std::process::{Command, Output};

use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::command::{Ran, Shaders, vkxfb};

/// Writes a program, and returns its directory.
fn write(files: &Shaders, name: &str, arguments: &[&str]) -> String {
    let directory = files.path(name).to_str().unwrap().to_owned();
    let ran = vkxfb(&[&["probe", "reproduce", &directory], arguments].concat()).exits(0);
    let told = format!("$ cd {directory} && cc main.c -o reproduce -lvulkan && ./reproduce");
    assert!(ran.stdout.contains(&told), "{}", ran.stdout);
    directory
}

fn compile(directory: &str) {
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]);
    cc.args(["main.c", "-o", "reproduce", "-lvulkan"]).current_dir(directory);
    Ran::new(cc.output().unwrap()).exits(0);
}

/// Runs a program under the validation layer, whose messages are on standard output.
fn run(directory: &str) -> Output {
    let mut program = Command::new(Path::new(directory).join("reproduce"));
    program.current_dir(directory).env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    program.output().unwrap()
}

/// Writes, compiles and runs a program, and checks that the draw is captured as demanded.
fn holds(files: &Shaders, name: &str, arguments: &[&str]) -> Ran {
    let directory = write(files, name, arguments);
    compile(&directory);
    let ran = Ran::new(run(&directory)).exits(0);
    assert!(ran.stdout.ends_with("\n0 differences\n"), "{}", ran.stdout);
    assert!(
        !ran.stdout.contains("Validation") && ran.stderr.is_empty(),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    ran
}

/// With 9 vertices each strip has odd and even primitives, and each list an incomplete one.
#[test]
fn each_topology_is_captured_as_demanded() {
    let files = Shaders::new();
    for topology in PrimitiveTopology::ALL {
        for provoking in ["first", "last"] {
            let (name, topology) = (format!("{topology}-{provoking}"), topology.to_string());
            let draw = ["--topology", &topology, "--provoking", provoking, "--vertices", "9"];
            let ran = holds(&files, &name, &[&draw[..], &["--instances", "2"]].concat());
            assert!(ran.stdout.contains(", instance 1: demanded v"), "{}", ran.stdout);
        }
    }
}

/// Several buffers, gaps, attributes of both rates, and geometry shaders. Of the shader with four
/// streams, the buffer of stream 1 is too small for this draw (`Subject::overflowing_stream`).
#[test]
fn each_kind_of_shader_is_captured_as_demanded() {
    let files = Shaders::new();
    for (shader, topology, buffers) in [
        ("two_buffers", "line-strip", 2),
        ("attributes", "triangle-fan", 1),
        ("triangles_to_triangles_cut", "triangle-strip", 2),
        ("lines_adjacency_to_lines", "line-strip-with-adjacency", 2),
        ("points_to_points_4_streams", "point-list", 4),
    ] {
        let draw = ["--shader", shader, "--topology", topology, "--vertices", "4"];
        let ran = holds(&files, shader, &[&draw[..], &["--instances", "2"]].concat());
        assert_eq!(ran.stdout.matches("\nbuffer ").count(), buffers, "{}", ran.stdout);
    }
}

/// Patches are captured one after the other, each in an order of the device's choice. Of four patches the last is culled,
/// and one vertex belongs to none.
#[test]
fn tessellation_is_captured_as_demanded() {
    let files = Shaders::new();
    for shader in ["patches_to_points", "patches_to_lines", "patches_to_triangles"] {
        let draw = ["--shader", shader, "--topology", "patch-list", "--vertices", "13"];
        let ran = holds(&files, shader, &[&draw[..], &["--instances", "2"]].concat());
        assert!(ran.stdout.contains("the order within each patch is free"), "{}", ran.stdout);
        assert_eq!(ran.stdout.matches("\nbuffer ").count(), 2, "{}", ran.stdout);
    }
}

/// Tessellation with another winding, another direction, or the primitives of another patch is found, however the
/// order within a patch is. The evaluation shader is that of the header with another expectation.
#[test]
fn a_difference_in_a_patch_is_found() {
    let files = Shaders::new();
    for (shader, m) in [("patches_to_lines", 2), ("patches_to_triangles", 3)] {
        let draw = ["--shader", shader, "--topology", "patch-list", "--vertices", "6"];
        let directory = write(&files, shader, &draw);
        let header = Path::new(&directory).join("case.h");
        let right = std::fs::read_to_string(&header).unwrap();
        let (before, list) = right.split_once("uint32_t expected_0[] = {\n").unwrap();
        let (list, behind) = list.split_once("};").unwrap();
        let numbers: Vec<u32> =
            list.split(',').filter_map(|number| number.trim().parse().ok()).collect();
        let of = |numbers: &[u32]| {
            let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
            let list = list.join(", ");
            let text = format!("{before}uint32_t expected_0[] = {{\n{list}}};{behind}");
            std::fs::write(&header, text).unwrap();
            compile(&directory);
            Ran::new(run(&directory))
        };
        // In the second patch, the primitives are in the opposite order.
        let (first, second) = numbers.split_at(if m == 2 { 2 } else { 6 });
        let reversed = second.chunks(m).rev().flatten().copied();
        let reversed: Vec<u32> = first.iter().copied().chain(reversed).collect();
        assert_ne!(reversed, numbers);
        of(&reversed).exits(0);
        let flipped: Vec<u32> = numbers.chunks(m).flat_map(|p| p.iter().rev().copied()).collect();
        let ran = of(&flipped).exits(1);
        let all = numbers.len() / m;
        assert_eq!(ran.stdout.matches("<-- differs").count(), all, "{}", ran.stdout);
        // Both patches have the primitives of the second.
        let mut other = numbers.clone();
        other[..m].copy_from_slice(&numbers[numbers.len() - m..]);
        let ran = of(&other).exits(1);
        assert!(ran.stdout.contains("primitive 0, instance 0: demanded v"), "{}", ran.stdout);
        // The same primitive is demanded twice.
        let mut twice = numbers.clone();
        let last = numbers.len() - m;
        twice.copy_within(last - m..last, last);
        of(&twice).exits(1);
    }
}

/// A draw without primitives must write nothing.
#[test]
fn a_draw_without_primitives_is_captured_as_demanded() {
    let files = Shaders::new();
    let draw = ["--topology", "triangle-list", "--vertices", "2"];
    let ran = holds(&files, "empty", &draw);
    assert!(!ran.stdout.contains("primitive 0"), "{}", ran.stdout);
}

/// A program whose expectation is wrong finds differences. Otherwise it would find none in a driver.
#[test]
fn a_difference_is_found() {
    let files = Shaders::new();
    let directory = write(&files, "wrong", &["--topology", "triangle-strip", "--vertices", "5"]);
    let header = Path::new(&directory).join("case.h");
    let right = std::fs::read_to_string(&header).unwrap();
    let other = |from: &str, to: &str| {
        assert!(right.contains(from), "no {from} in {right}");
        std::fs::write(&header, right.replace(from, to)).unwrap();
        compile(&directory);
        Ran::new(run(&directory)).exits(1).stdout
    };
    let flipped = other("0, 1, 2, 1, 3, 2, 2, 3, 4", "0, 1, 2, 1, 2, 3, 2, 3, 4");
    let told = "primitive 1, instance 0: demanded v1 v2 v3, captured v1 v3 v2  <-- differs\n";
    assert!(flipped.contains(told) && flipped.contains("\n1 differences\n"), "{flipped}");
    // The mark in the last dword of the record of each vertex.
    let unknown = other("0x424658", "0x424659");
    assert!(unknown.contains("demanded v0 v1 v2, captured ? ? ?  <-- differs"), "{unknown}");
    let more = other("records_0, 9, expected_0", "records_0, 6, expected_0");
    assert!(more.contains("byte 96 was written: the records end at 96"), "{more}");
    assert!(more.contains("the counter is 144: it has to be 96"), "{more}");
}

#[test]
fn what_has_no_program_is_refused() {
    let files = Shaders::new();
    let directory = files.path("none").to_str().unwrap().to_owned();
    let refused = |arguments: &[&str], why: &[&str]| {
        vkxfb(&[&["probe", "reproduce", &directory], arguments].concat()).refuses(why);
    };
    refused(
        &["--shader", "patches_to_lines", "--topology", "line-list"],
        &["patches_to_lines takes no primitives of line-list"],
    );
    refused(
        &["--shader", "lines_to_lines", "--topology", "point-list"],
        &["no primitives of point-list"],
    );
    refused(&["--topology", "patch-list"], &["identify takes no primitives of patch-list"]);
    refused(
        &["--topology", "point-list", "--vertices", "4000000000", "--instances", "4000000000"],
        &["4000000000 vertices x 4000000000 instances", "the limit of a program is"],
    );
    assert!(!Path::new(&directory).exists());
}
