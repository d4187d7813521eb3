use crate::diagnose::Verdict;
use crate::diagnose::tests::injections;
use crate::picture::*;
use crate::shaders::Emitted;

/// The vertices on a stage (the part of a topology that a picture shows) are the vertices and the
/// adjacency vertices of the shown primitives.
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

/// If the vertices of each triangle are taken in the order in which they are written, all triangles of a strip or fan
/// have the same winding.
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

/// Moves the primitives of a mismatch to a place in the strip that is `by` primitives later.
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

/// A picture of any fault is a complete SVG document. With `VKXFB_GALLERY=dir` in the environment,
/// `cargo test gallery` also writes these pictures to that directory.
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
    let far = injections::samples(PrimitiveTopology::TriangleStrip).swap_remove(4).1;
    if let Verdict::Mismatch(mut mismatch) = far {
        move_by(&mut mismatch, 70_000);
        let [_, svg] =
            comparison(PrimitiveTopology::TriangleStrip, ProvokingVertex::First, &mismatch)
                .pictures;
        assert!(svg.contains("70001") && svg.contains("xf-wrong"));
        keep("far.svg", svg);
    }
    for (row, source) in rows() {
        for (name, verdict) in injections::samples(source) {
            if let Verdict::Mismatch(mismatch) = verdict {
                let pictures = comparison(row, ProvokingVertex::First, &mismatch).pictures;
                for (svg, what) in pictures.into_iter().zip(["expected", "captured"]) {
                    let file = format!("{}-{name}-{what}.svg", title(row, None));
                    keep(&file.replace(' ', "-"), svg);
                }
            }
        }
    }
}

/// Returns rows of the report's table, each with a source from which an injection makes a capture for that row.
fn rows() -> impl Iterator<Item = (Row, injections::Source)> {
    use PrimitiveTopology as T;
    let drawn = T::ALL.map(|topology| (topology.into(), topology.into()));
    let emitted = [
        (T::PointList, T::TriangleStrip),
        (T::LineList, T::LineStrip),
        (T::TriangleFan, T::PointList),
    ];
    let emitted = emitted.map(|(topology, strip)| {
        let stage = match topology {
            T::PointList => CapturedStage::GeometryStreams,
            _ => CapturedStage::Geometry,
        };
        (Row { stage, topology }, injections::Source::Emitted(strip))
    });
    let row = Row { stage: CapturedStage::Tessellation, topology: T::PatchList };
    let divided = Emitted::ALL.map(|output| (row, injections::Source::Divided(output)));
    drawn.into_iter().chain(emitted).chain(divided)
}

/// Vertices of patches are drawn at their tessellation coordinates, so that triangles that are captured in the right
/// order are counter-clockwise, as the shader declares, and others are clockwise.
#[test]
fn patches_are_drawn_with_their_windings() {
    let row = Row { stage: CapturedStage::Tessellation, topology: PrimitiveTopology::PatchList };
    let source = injections::Source::Divided(Emitted::Triangles);
    let diffs = injections::sample_trace(source);
    let diffs: Vec<_> = diffs.iter().collect();
    let stage = Stage::of_patches(row, &diffs);
    // Patches of one and of four quads.
    assert_eq!((stage.primitives, stage.vertices.len()), (2 + 8, 4 + 9));
    let winding = |vertices: &[Option<u64>]| {
        let [a, b, c] = [0, 1, 2].map(|slot| stage.place(vertices[slot].unwrap()).unwrap());
        ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)).signum()
    };
    let captured = |diff: &PrimitiveDiff| {
        let vertices = diff.captured.iter().map(|slot| vertex_of(slot, diff.instance));
        winding(&vertices.collect::<Vec<_>>())
    };
    assert!(diffs.iter().all(|diff| captured(diff) == -1.0));
    for (i, a) in stage.vertices.iter().enumerate() {
        assert!(a.at.x > 12.0 && a.at.x < WIDTH - 12.0, "v{}", a.vertex);
        assert!(a.at.y > 12.0 && a.at.y < stage.height - 12.0, "v{}", a.vertex);
        for b in &stage.vertices[i + 1..] {
            assert!(a.at.distance(b.at) > 28.0, "v{} v{}", a.vertex, b.vertex);
        }
    }
    let mut samples = injections::samples(source).into_iter();
    let flipped = samples.find(|(name, _)| *name == "last two vertices swapped").unwrap().1;
    let Verdict::Mismatch(mismatch) = flipped else { panic!("{flipped:?}") };
    assert_eq!(mismatch.fault, Fault::FlippedWinding);
    assert_eq!(captured(mismatch.first.as_ref().unwrap()), 1.0);
    let [picture, _] = comparison(row, ProvokingVertex::First, &mismatch).pictures;
    assert!(picture.contains("patch-list into tessellation, expected around"), "{picture}");
}

/// Strips are drawn beside each other, in the order in which they are emitted, and do not overlap.
#[test]
fn strips_of_a_geometry_shader_are_drawn() {
    let diffs =
        injections::sample_trace(injections::Source::Emitted(PrimitiveTopology::TriangleStrip));
    let diffs: Vec<_> = diffs.iter().collect();
    let row = Row { stage: CapturedStage::Geometry, topology: PrimitiveTopology::PointList };
    let stage = Stage::of_emitted(row, &diffs);
    // The strips have five, one, four and two vertices. Only two of them contain triangles.
    let shown: Vec<_> = stage.vertices.iter().map(|placed| placed.vertex).collect();
    assert_eq!(shown, [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(stage.primitives, 5);
    let x = |index: usize| stage.vertices[index].at.x;
    let apart = x(1) - x(0);
    assert!(apart > 22.0, "{apart}");
    for index in 1..shown.len() {
        let columns = if shown[index] == 6 { 2.0 } else { 1.0 };
        assert!((x(index) - x(index - 1) - columns * apart).abs() < 0.1, "{shown:?}");
    }
}

/// Returns every line of text in a picture: its x coordinate, its class, and the text.
fn lines(svg: &str) -> Vec<(f32, String, String)> {
    let attribute = |head: &str, name: &str| {
        let (_, rest) = head.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let mut all = Vec::new();
    for part in svg.split("<text").skip(1) {
        let (head, rest) = part.split_once('>').unwrap();
        let content = rest.split_once("</text>").unwrap().0.trim().replace("&gt;", ">");
        let class = attribute(head, "class").unwrap();
        all.push((attribute(head, " x").unwrap().parse().unwrap(), class, content));
    }
    all
}

/// Lines of text that are wider than the picture would be cut off, so they must be broken.
#[test]
fn captions_are_broken_and_not_cut() {
    // The average width of a letter in English text in DejaVu Sans, relative to the font size.
    let widths = [("xf-title", 14.0 * 0.57), ("xf-note", 11.5 * 0.5)];
    let check = |svg: &str, width: f32, expected: &[&str]| {
        let lines = lines(svg);
        for (x, class, line) in &lines {
            let Some((_, each)) = widths.iter().find(|(of, _)| of == class) else { continue };
            let end = x + line.chars().count() as f32 * each;
            assert!(end <= width, "'{line}' ends at {end} of {width}");
        }
        for expected in expected {
            // No text is lost: joined together, the lines are the text without spaces.
            let plain = |text: &str| text.replace(' ', "");
            let all: String = lines.iter().map(|(.., line)| plain(line)).collect();
            assert!(all.contains(&plain(expected)), "no '{expected}' in {svg}");
        }
    };
    let title = format!("{}.vert.spv", "a_long_name_without_spaces_".repeat(9));
    let note = "an.output.with.a.path[3].of.its.own, triangle-strip-with-adjacency, ".repeat(3);
    let place = |x: f64| Some([x, 0.5 * x * x]);
    for count in [2, 60] {
        let primitives = (0..count).map(|n| vec![place(f64::from(n)), place(f64::from(n) + 0.5)]);
        let mut primitives: Vec<_> = primitives.collect();
        primitives.push(vec![None]);
        let drawing = Drawing { title: title.clone(), note: note.clone(), primitives };
        let svg = wireframe(&drawing);
        check(&svg, 640.0, &[&title, &format!("{note}; 1 are not seen")]);
        let height = |svg: &str| {
            let (_, rest) = svg.split_once("viewBox=\"0 0 640 ").unwrap();
            rest.split_once('"').unwrap().0.parse::<f32>().unwrap()
        };
        let short = Drawing { title: "short".to_owned(), note: "short".to_owned(), ..drawing };
        // A picture with more lines of text is higher, so that the space for the primitives stays
        // the same.
        assert!(height(&svg) > height(&wireframe(&short)) + 50.0);
    }
    check(&overview(ProvokingVertex::Last), 848.0, &[KEY]);
    for (row, source) in rows() {
        for (name, verdict) in injections::samples(source) {
            let Verdict::Mismatch(mut mismatch) = verdict else { continue };
            mismatch.note = Some(format!("{name}: {note}"));
            let Comparison { pictures, captions } =
                comparison(row, ProvokingVertex::First, &mismatch);
            pictures.iter().for_each(|svg| check(svg, 400.0, &[]));
            assert!(captions.iter().any(|caption| caption.contains(&note)), "{captions:?}");
        }
    }
}

/// The font sizes with which text is broken into lines are those of the style sheet.
#[test]
fn the_style_sheet_has_the_sizes_of_the_lettering() {
    for lettering in [Lettering::Title, Lettering::Note] {
        let rule = STYLE.lines().find(|line| line.starts_with(&format!(".{} ", lettering.class())));
        let rule = rule.unwrap();
        assert!(rule.contains(&format!("font-size: {}px;", lettering.size())), "{rule}");
        assert_eq!(rule.contains("font-weight: 600"), lettering.is_bold(), "{rule}");
    }
}
