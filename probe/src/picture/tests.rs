use super::*;
use crate::diagnose::Verdict;
use crate::self_test;

/// The vertices on the stage are those of the shown primitives, and adjacency.
#[test]
fn a_stage_has_the_vertices_of_its_primitives() {
    for topology in PrimitiveTopology::ALL {
        for first in [0, 2, 1000] {
            let stage = Stage::new(topology, first);
            let m = u64::from(topology.vertices_per_primitive());
            let mut captured: Vec<_> = (first * m..(first + stage.primitives) * m)
                .map(|output| topology.gather(ProvokingVertex::First, output))
                .collect();
            captured.sort_unstable();
            captured.dedup();
            let mut shown: Vec<_> =
                stage.vertices.iter().filter(|v| !v.adjacency).map(|v| v.vertex).collect();
            shown.sort_unstable();
            assert_eq!(shown, captured, "{topology} from primitive {first}");
            if first == 0 {
                let count = u32::try_from(stage.vertices.len()).unwrap();
                assert_eq!(topology.primitive_count(count), stage.primitives, "{topology}");
                let all: Vec<_> = (0..count).map(u64::from).collect();
                let mut every: Vec<_> = stage.vertices.iter().map(|v| v.vertex).collect();
                every.sort_unstable();
                assert_eq!(every, all, "{topology}");
            }
        }
    }
}

/// All triangles of a strip or fan have the same winding, as the order of writing promises.
#[test]
fn windings_agree() {
    for topology in PrimitiveTopology::ALL {
        if topology.vertices_per_primitive() < 3 {
            continue;
        }
        for provoking in ProvokingVertex::ALL {
            let stage = Stage::new(topology, 0);
            for primitive in 0..stage.primitives {
                let corner = |slot: u64| {
                    let vertex = topology.gather(provoking, primitive * 3 + slot);
                    stage.place(vertex).unwrap()
                };
                let (a, b, c) = (corner(0), corner(1), corner(2));
                let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
                assert!(area > 100.0, "{topology} primitive {primitive}: {area}");
            }
        }
    }
}

#[test]
fn vertices_stand_apart_and_inside() {
    for topology in PrimitiveTopology::ALL {
        let stage = Stage::new(topology, 0);
        for (i, a) in stage.vertices.iter().enumerate() {
            assert!(a.at.x > 12.0 && a.at.x < WIDTH - 12.0, "{topology} v{}", a.vertex);
            assert!(a.at.y > 12.0 && a.at.y < stage.height - 12.0, "{topology} v{}", a.vertex);
            for b in &stage.vertices[i + 1..] {
                assert!(a.at.distance(b.at) > 28.0, "{topology} v{} v{}", a.vertex, b.vertex);
            }
        }
    }
}

/// The same fault, further on in a strip.
fn move_by(mismatch: &mut Mismatch, by: u32) {
    for diff in mismatch.first.iter_mut().chain(&mut mismatch.excerpt) {
        diff.primitive += u64::from(by);
        diff.expected.iter_mut().for_each(|v| v.vertex += by);
        for slot in &mut diff.captured {
            if let Slot::Vertex(v) = slot {
                v.vertex += by;
            }
        }
    }
}

/// Writes pictures of every fault to a directory: `VKXFB_GALLERY=dir cargo test gallery`.
#[test]
fn gallery() {
    let directory = std::env::var_os("VKXFB_GALLERY").map(std::path::PathBuf::from);
    let keep = |name: &str, svg: String| {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"), "{name}");
        if let Some(directory) = &directory {
            std::fs::write(directory.join(name), svg).unwrap();
        }
    };
    keep("overview-first.svg", overview(ProvokingVertex::First));
    keep("overview-last.svg", overview(ProvokingVertex::Last));
    let far = self_test::samples(PrimitiveTopology::TriangleStrip).swap_remove(4).1;
    if let Verdict::Mismatch(mut mismatch) = far {
        move_by(&mut mismatch, 70_000);
        let svg =
            comparison_file(PrimitiveTopology::TriangleStrip, ProvokingVertex::First, &mismatch);
        assert!(svg.contains("70001") && svg.contains("xf-wrong"));
        keep("far.svg", svg);
    }
    for topology in PrimitiveTopology::ALL {
        for (name, verdict) in self_test::samples(topology) {
            if let Verdict::Mismatch(mismatch) = verdict {
                let svg = comparison_file(topology, ProvokingVertex::First, &mismatch);
                keep(&format!("{topology}-{}.svg", name.replace(' ', "-")), svg);
            }
        }
    }
}
