//! Tests the PNG pictures of `vkxfb capture`.
//!
//! The place and the colour of what is seen were worked out from the numbers in the shaders.

use crate::command::{Ran, Shaders, vkxfb};

/// The colour of the background.
const GROUND: [u8; 3] = [246, 247, 249];

/// A picture. Each pixel is red, green and blue; the pixels are stored row by row.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Picture {
    fn read(file: &std::path::Path) -> Self {
        let bytes = std::fs::read(file).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        assert_eq!(reader.info().color_type, png::ColorType::Rgb);
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        Self { width, height, pixels }
    }

    /// Returns the pixel at a place: x and y are from -1 to 1, to the right and downwards.
    fn at(&self, x: f64, y: f64) -> [u8; 3] {
        let pixel = |place: f64, pixels: usize| {
            ((place + 1.0) / 2.0 * pixels as f64).clamp(0.0, pixels as f64 - 1.0) as usize
        };
        let start = 3 * (pixel(y, self.height) * self.width + pixel(x, self.width));
        *self.pixels[start..].first_chunk().unwrap()
    }

    /// Returns the fraction of the pixels that do not have the colour of the background.
    fn drawn(&self) -> f64 {
        let drawn = self.pixels.chunks(3).filter(|pixel| *pixel != GROUND).count();
        drawn as f64 / (self.width * self.height) as f64
    }
}

/// Returns which colour component is far larger than the others: 'r', 'g' or 'b'. Returns '-' for
/// the background.
#[track_caller]
fn hue(pixel: [u8; 3]) -> char {
    if pixel == GROUND {
        return '-';
    }
    let strong = (0..3).max_by_key(|component| pixel[*component]).unwrap();
    let others = (0..3).filter(|component| *component != strong);
    assert!(others.clone().all(|other| pixel[other] + 60 < pixel[strong]), "{pixel:?}");
    ['r', 'g', 'b'][strong]
}

fn draw(shaders: &Shaders, arguments: &[&str]) -> (Picture, Ran) {
    let file = shaders.path("out.png");
    let always = ["--validate", "--picture", file.to_str().unwrap()];
    let ran = vkxfb(&[&["capture"], arguments, &always].concat()).exits(0);
    (Picture::read(&file), ran)
}

/// A shader that draws squares in clip space, of two triangles each. The arrays have half of their
/// sides, their depths, their fourth components and their colours.
const SQUARES: &str = "
    struct Out { @builtin(position) place: vec4f, @location(0) colour: vec3f, @location(1) @interpolate(flat) number: u32 }
    const SIDES = array(0.25, 0.5, 0.9, 0.9, 2.0);
    const DEPTHS = array(0.25, 0.5, 1.5, 0.1, 0.75);
    const LAST = array(1.0, 2.0, 1.0, -1.0, 1.0);
    const TINTS = array(vec3f(1, 0, 0), vec3f(0, 1, 0), vec3f(1, 1, 1), vec3f(1, 1, 1), vec3f(0, 0, 1));
    @vertex fn main(@builtin(vertex_index) v: u32) -> Out {
        let square = v / 6u;
        let corner = select(v % 6u, 6u - v % 6u, v % 6u > 2u);
        let at = (vec2f(vec2u(corner & 1u, corner >> 1u)) * 2.0 - 1.0) * SIDES[square];
        return Out(vec4f(at, DEPTHS[square], 1.0) * LAST[square], TINTS[square], square);
    }";

#[test]
fn what_is_nearer_hides_what_is_farther_within_the_view() {
    let shaders = Shaders::new();
    let shader = shaders.file("squares.wgsl", SQUARES.as_bytes());
    // The second of the first three squares is behind the first, and the third is beyond the
    // farthest depth.
    let (picture, ran) = draw(&shaders, &[&shader, "--vertices", "18"]);
    assert_eq!((picture.width, picture.height), (1024, 1024));
    let hues = |picture: &Picture| [0.0, 0.2, 0.3, 0.45, 0.55].map(|x| hue(picture.at(x, -x)));
    assert_eq!(hues(&picture), ['r', 'r', 'g', 'g', '-']);
    assert!((picture.drawn() - 0.25).abs() < 0.01, "{}", picture.drawn());
    // The table of vertices is not printed.
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("18 vertices of 6 primitives"), "{}", ran.stdout);
    // The fourth square is behind the viewer, and the fifth is larger than the picture.
    let (all, said) = draw(&shaders, &[&shader, "--vertices", "30"]);
    assert_eq!(hues(&all), ['r', 'r', 'g', 'g', 'b']);
    assert!((all.drawn() - 1.0).abs() < f64::EPSILON);
    let cut =
        "60 % of the primitives are outside of, or cut by, the shader's view; an .svg has all";
    assert!(said.stderr.contains(&format!("out.png: {cut}")), "{}", said.stderr);
    // Lighting dims all components alike, so a surface that faces the viewer has one colour.
    assert_eq!(all.at(0.9, 0.9), all.at(-0.7, 0.2));

    // The third square alone is not projected as it seems, and then it is drawn from the front.
    let third = shaders.file("third.txt", b"12 13 14 15 16 17");
    let (front, said) = draw(&shaders, &[&shader, "--indices", &third]);
    assert!((front.drawn() - 0.92 * 0.92).abs() < 0.01, "{}", front.drawn());
    assert!(said.stderr.contains("drawn from the front"), "{}", said.stderr);
}

/// If a picture is empty, a remark gives the reason, whichever it is.
#[test]
fn what_is_not_seen_is_said_with_its_reason() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "unseen.wgsl",
        b"override KIND: u32;
        @group(0) @binding(0) var<uniform> zero: vec4f;
        struct Out { @builtin(position) place: vec4f, @location(0) worldPos: vec3f }
        @vertex fn main(@builtin(vertex_index) v: u32) -> Out {
            let triangle = array(vec2f(-0.5, 0.5), vec2f(0.5, 0.5), vec2f(0.0, -0.5));
            var place = vec4f(triangle[v % 3], 0.5, 1.0);
            if v < 3 && KIND == 0 { place = vec4f(0.0); }
            if v < 3 && KIND == 1 { place.x = 1.0 / zero.x; }
            if v < 3 && KIND == 2 { place.w = -1.0; }
            if v < 3 && KIND == 3 { place.x = place.y; }
            if v < 3 && KIND == 4 { place.x += 2.0; }
            return Out(place, place.xyz);
        }",
    );
    let run = |kind: &str, vertices: &str, more: &[&str]| {
        let kind = format!("KIND={kind}");
        let always =
            [&*shader, "--vertices", vertices, "--constant", &kind, "--uniform", "0.0.*=0"];
        let (picture, ran) = draw(&shaders, &[&always[..], more].concat());
        (picture.drawn() > 0.0, ran.stderr)
    };
    let from_front = ["--varyings", "worldPos"];
    for (kind, more, why) in [
        ("0", &[][..], "all with positions whose w is 0"),
        ("1", &[], "all with positions that are not finite"),
        ("1", &from_front, "all with positions that are not finite"),
        ("2", &[], "all behind the viewer (w is 0 or less)"),
        ("3", &[], "all without area"),
        ("4", &[], "all outside of the shader's view"),
    ] {
        let (is_drawn, said) = run(kind, "3", more);
        let expected = format!("out.png: none of 1 primitives is seen: {why}");
        assert!(!is_drawn && said.contains(&expected), "{kind}: {is_drawn} {said}");
        // If another triangle is seen, the remark is only about reasons that mean wrong positions.
        let (is_drawn, said) = run(kind, "6", more);
        let some = format!("not seen of 2 primitives: {}", why.replacen("all", "1", 1));
        assert!(is_drawn && said.contains(&some) == ["0", "1"].contains(&kind), "{kind}: {said}");
    }
    // The remark is the same for an SVG.
    let file = shaders.path("out.svg");
    let draw = ["capture", &shader, "--vertices", "3", "--constant", "KIND=0", "--uniform"];
    let ran = vkxfb(&[&draw[..], &["0.0.*=0", "--picture", file.to_str().unwrap()]].concat());
    assert!(ran.exits(0).stderr.contains("whose w is 0"));
}

#[test]
fn sides_of_triangles_have_colours() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "sides.spv",
        "
        #version 450
        const vec2 AT[6] = vec2[](
            vec2(-0.9, 0.5), vec2(-0.1, 0.5), vec2(-0.5, -0.5), vec2(0.9, 0.5), vec2(0.1, 0.5), vec2(0.5, -0.5));
        void main() { gl_Position = vec4(AT[gl_VertexIndex], 0, 1); }",
    );
    let (picture, _) = draw(&shaders, &[&shader, "--vertices", "6"]);
    // The first triangle goes to the right and then up, so it is counter-clockwise as it is seen.
    // Counter-clockwise triangles are blue, as in an SVG.
    assert_eq!(hue(picture.at(-0.5, 0.2)), 'b');
    let [r, g, b] = picture.at(0.5, 0.2);
    assert!(g > r && g > b, "{r} {g} {b}");
}

/// There are points on both ends of the axes. On the positive ends they have a different colour for
/// each axis, on the negative ends they are black.
#[test]
fn the_view_from_the_front_has_the_axes_where_it_says() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 0) out vec3 worldPos;
        layout(location = 1) out vec3 colour;
        void main() {
            vec3 axis = vec3(0);
            axis[gl_VertexIndex / 2] = 1;
            float positive = gl_VertexIndex % 2;
            worldPos = axis * (2 * positive - 1);
            colour = axis * positive;
        }";
    let shader = shaders.glsl("axes.spv", source);
    let draw_of = |topology: &str| {
        let outputs = ["--varyings", "worldPos,colour", "--topology", topology];
        draw(&shaders, &[&[&*shader, "--vertices", "6"], &outputs[..]].concat()).0
    };
    let points = draw_of("point-list");
    for (axis, x, y) in [('r', 0.92, 0.0), ('g', 0.0, -0.92)] {
        assert_eq!(hue(points.at(x, y)), axis);
        // The other end is black, except that distance fades colours.
        let [r, g, b] = points.at(-x, -y);
        assert!(r.abs_diff(g) < 10 && g.abs_diff(b) < 10 && r < 120, "{axis}: {r} {g} {b}");
    }
    // The end of the third axis is in front of its beginning.
    assert_eq!(hue(points.at(0.0, 0.0)), 'b');
    assert_eq!(hue(points.at(0.92, 0.92)), '-');
    // The lines lead from one end of an axis to the other, through the middle.
    let lines = draw_of("line-list");
    let [r, g, b] = lines.at(0.92 * 0.9, 0.0);
    assert!(r > g && g.abs_diff(b) < 12, "{r} {g} {b}");
    assert_eq!(hue(lines.at(0.46, 0.46)), '-');
    assert!(lines.drawn() > 0.001 && lines.drawn() < 0.05, "{}", lines.drawn());
}

/// `Position` has y down in clip space, and y up where a shader passes on the positions of a mesh.
#[test]
fn a_position_is_upright_whether_projected_or_not() {
    let shaders = Shaders::new();
    let source = |place: &str| {
        format!(
            "#version 450
            layout(location = 0) out vec3 colour;
            const vec2 AT[3] = vec2[](vec2(-1, -1), vec2(1, -1), vec2(0, 1));
            void main() {{
                vec3 position = vec3(AT[gl_VertexIndex], -0.5);
                colour = vec3(0, 1, 0);
                gl_Position = {place};
            }}"
        )
    };
    for (name, place, is_passed) in [
        ("passed.spv", "vec4(position, 1)", true),
        ("projected.spv", "vec4(position.x, -position.y, 0.5, 1)", false),
    ] {
        let shader = shaders.glsl(name, &source(place));
        let (picture, ran) = draw(&shaders, &[&shader, "--vertices", "3"]);
        // The triangle points upwards.
        let ends = [-0.8, 0.8].map(|y| hue(picture.at(0.7, y)));
        assert_eq!(ends, ['-', 'g'], "{name}");
        assert_eq!(ran.stderr.contains("Position looks unprojected"), is_passed, "{name}");
    }
}

/// The expected brightness was worked out from the light in `picture.wgsl`, for normals that are
/// not those of the triangle.
#[test]
fn outputs_that_are_normals_shade_smoothly() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "smooth.wgsl",
        b"struct Out {
            @builtin(position) place: vec4f, @location(0) worldPos: vec3f, @location(1) vNormal: vec3f,
            @location(2) colour: vec3f,
        }
        @vertex fn main(@builtin(vertex_index) v: u32) -> Out {
            let at = array(vec2f(-1, -1), vec2f(1, -1), vec2f(0, 1))[v];
            return Out(vec4f(at, 0.5, 1), vec3f(at, 0), vec3f(at.x, 0, 1) * 7, vec3f(0.5));
        }",
    );
    let draw_of =
        |outputs: &str| draw(&shaders, &[&shader, "--vertices", "3", "--varyings", outputs]).0;
    let level = |towards: f64| (255.0 * 0.5 * (0.45 + 0.6 * towards)).round() as u8;
    // The light comes from the left, from above and from behind the viewer.
    let light = |x: f64, z: f64| (-0.37 * x + 0.74 * z) / x.hypot(z);
    let is_near = |found: [u8; 3], expected: u8| {
        assert!(found.iter().all(|part| part.abs_diff(expected) <= 2), "{found:?} {expected}");
    };
    let smooth = draw_of("worldPos,vNormal,colour");
    let flat = draw_of("worldPos,colour");
    is_near(smooth.at(0.0, 0.0), level(light(0.0, 1.0)));
    // These places are near the lower corners, where the normals are at 45 degrees.
    for side in [-1.0, 1.0] {
        is_near(smooth.at(side * 0.88, 0.9), level(light(side, 1.05)));
        is_near(flat.at(side * 0.88, 0.9), level(light(0.0, 1.0)));
    }
}

/// The side of a cylinder has normals in a plane, which determine how they lie in clip space.
#[test]
fn a_cylinder_in_the_view_of_the_shader_is_smooth() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "cylinder.wgsl",
        b"struct Out {
            @builtin(position) place: vec4f, @location(0) vNormal: vec3f, @location(1) gColor: vec3f,
        }
        // Four facets, of which the middle two face the viewer. The axis of the normals is y, and on the screen it
        // lies.
        @vertex fn main(@builtin(vertex_index) v: u32) -> Out {
            let angle = f32(v / 2) * radians(45.0);
            let at = vec3f(cos(angle), f32(v % 2) * 1.6 - 0.8, -sin(angle));
            return Out(vec4f(at.y, at.x * 0.8, 0.9 + at.z * 0.5, 1), vec3f(at.x, 0, at.z), vec3f(0.5));
        }",
    );
    let draw_of = |outputs: &str| {
        let how = ["--vertices", "10", "--topology", "triangle-strip"];
        draw(&shaders, &[&[&*shader, "--varyings", outputs], &how[..]].concat())
    };
    // The places are on both sides of the edge between two facets, which is at 0.8 * cos(45 degrees).
    let step = |picture: &Picture| {
        let [first, second] = [0.55, 0.58].map(|y| picture.at(0.2, y)[0]);
        first.abs_diff(second)
    };
    let (smooth, said) = draw_of("@Position,vNormal,gColor");
    assert!(!said.stderr.contains("triangles are flat"), "{}", said.stderr);
    assert!(step(&smooth) <= 8, "{}", step(&smooth));
    let (flat, _) = draw_of("@Position,gColor");
    assert!(step(&flat) > 16, "{}", step(&flat));
}

/// What the names of outputs do not tell is said: that nothing is a colour, a position or a usable normal.
#[test]
fn what_is_guessed_is_said() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "names.wgsl",
        b"struct Out {
            @builtin(position) place: vec4f, @location(0) geomColour: vec3f, @location(1) sway: vec3f,
            @location(2) gPos: vec3f, @location(3) gNormal: vec3f,
        }
        @vertex fn main(@builtin(vertex_index) v: u32) -> Out {
            let at = array(vec2f(-1, 1), vec2f(1, 1), vec2f(0, -1))[v];
            return Out(vec4f(at, 0.5, 1), vec3f(1, 0, 0), vec3f(at, 0), vec3f(at, 0), vec3f(f32(v), 0, 1));
        }",
    );
    let (colour, position, flat) =
        ("no output is named as a colour", "no position is captured", "triangles are flat");
    for (outputs, said) in [
        ("@Position,geomColour", &[][..]),
        ("gPos,geomColour", &[]),
        ("gPos,gNormal,geomColour", &[]),
        ("@Position,sway", &[colour]),
        ("geomColour,gPos,sway", &[]),
        ("sway,geomColour", &[position]),
        ("sway", &[colour, position]),
        ("@Position,gNormal,geomColour", &[flat]),
    ] {
        let how = ["--vertices", "3", "--varyings", outputs];
        let (picture, ran) = draw(&shaders, &[&[&*shader], &how[..]].concat());
        for part in [colour, position, flat] {
            assert_eq!(
                ran.stderr.contains(part),
                said.contains(&part),
                "{outputs}: {}",
                ran.stderr
            );
        }
        let is_red = picture.pixels.chunks(3).any(|pixel| pixel != GROUND && hue_is_red(pixel));
        assert_eq!(is_red, outputs.contains("Colour"), "{outputs}");
    }
    let file = shaders.path("out.ply");
    let mesh = ["capture", &shader, "--vertices", "3", "-o", file.to_str().unwrap()];
    let ran = vkxfb(&[&mesh[..], &["--varyings", "sway"]].concat()).exits(0);
    let said = "out.ply: no position is captured: vertices are where sway has them";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stdout.contains("out.ply: 3 vertices of 1 primitive"), "{}", ran.stdout);
    assert!(!vkxfb(&mesh).exits(0).stderr.contains("no position"));
}

fn hue_is_red(pixel: &[u8]) -> bool {
    pixel[1..].iter().all(|other| pixel[0] > other.saturating_add(60))
}

#[test]
fn a_line_that_begins_behind_the_viewer_comes_into_view() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "line.spv",
        "
        #version 450
        void main() { gl_Position = gl_VertexIndex == 0 ? vec4(0.2, 0, 0.5, 1) : vec4(4, 0, -0.5, -1); }",
    );
    let draw_line = ["--vertices", "2", "--topology", "line-list"];
    let (picture, _) = draw(&shaders, &[&[shader.as_str()], &draw_line[..]].concat());
    // The line leaves the picture to the right, and does not go through the middle.
    let drawn = [0.3, 0.95, -0.2].map(|x| picture.at(x, 0.0) != GROUND);
    assert_eq!(drawn, [true, true, false]);
}

#[test]
fn what_cannot_be_drawn_is_refused_before_work() {
    let shaders = Shaders::new();
    let shader = shaders.file("squares.wgsl", SQUARES.as_bytes());
    let refuses = |file: &str, more: &[&str], what: &[&str]| {
        let file = shaders.path(file);
        let always = ["capture", &shader, "--vertices", "3", "--device", "no such device"];
        let picture = ["--picture", file.to_str().unwrap()];
        vkxfb(&[&always[..], &picture, more].concat()).refuses(what);
    };
    refuses("a.gif", &[], &["a.gif: pictures are .png or .svg"]);
    refuses("a.png", &["--varyings", "number"], &["nothing that is captured is a position"]);
}

/// The picture in the README is the one that the command draws, except for rounding by the device.
#[test]
fn the_knot_of_the_readme_is_what_is_drawn() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let (shaders, shader) = (Shaders::new(), root.join("knot.wgsl"));
    let (drawn, _) = draw(&shaders, &[shader.to_str().unwrap(), "--vertices", "216000"]);
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::copy(shaders.path("out.png"), root.join("knot.png")).unwrap();
    }
    let shown = Picture::read(&root.join("knot.png"));
    assert_eq!((drawn.width, drawn.height), (shown.width, shown.height));
    let pairs = drawn.pixels.iter().zip(&shown.pixels);
    let other = pairs.filter(|(a, b)| a.abs_diff(**b) > 8).count();
    assert!(other * 100 < drawn.pixels.len(), "{other} of {}", drawn.pixels.len());
}
