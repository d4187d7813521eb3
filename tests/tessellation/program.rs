//! Random pipelines with tessellation: their shaders, and what these compute.

use vkxfb_rewriter::tessellator::{Domain, Spacing, Tessellator};

use crate::common::rng::Rng;
use crate::levels::tessellators;

/// What a vertex is captured as.
pub const RECORD_DWORDS: usize = 12;
pub const STRIDE: u64 = 4 * RECORD_DWORDS as u64;

/// A pipeline.
#[derive(Debug, Clone)]
pub struct Program {
    /// The number of control points of a patch, before and after the control shader.
    pub taken: u32,
    pub returned: u32,
    pub tessellator: Tessellator,
    pub clockwise: bool,
    pub lower_left: bool,
    /// Levels are multiples of 1/8 up to this.
    pub most: u32,
    /// Whether some patches are discarded.
    discards: bool,
    /// How many barriers the control shader has, and whether it is optimized.
    pub barriers: u32,
    pub optimized: bool,
    /// Whether the control shader copies its inputs to structures first, and built-in inputs of the evaluation shader
    /// have the decoration `Patch`, as DXC has both.
    pub as_dxc: bool,
    /// Whether there is a geometry shader behind, and whether it emits lines; otherwise it emits points.
    pub geometry: Option<bool>,
    /// How many invocations the geometry shader has.
    pub invocations: u32,
}

/// A vertex as the vertex shader has it: `VertexIndex` and `InstanceIndex`.
pub type Id = [u32; 2];

pub const VERTEX: &str = "#version 450
    layout(location = 0) flat out uvec2 id;
    layout(location = 1) flat out uint own;
    out gl_PerVertex { vec4 gl_Position; };
    void main() {
        id = uvec2(gl_VertexIndex, gl_InstanceIndex);
        own = uint(gl_VertexIndex) * 3u % 16u;
        gl_Position = vec4(uint(gl_VertexIndex) % 1024u, gl_InstanceIndex, 0.0, 1.0);
    }";

const HASH: &str = "
    uint hash(uint x) {
        x ^= x >> 16; x *= 0x7feb352du;
        x ^= x >> 15; x *= 0x846ca68bu;
        return x ^ (x >> 16);
    }";

fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

impl Program {
    pub fn random(rng: &mut Rng) -> Self {
        let sizes = [1, 2, 3, 3, 4, 4, 5, 9, 16, 31, 32];
        let (clockwise, lower_left) = (rng.percent(50), rng.percent(30));
        let tessellator = rng.pick(&tessellators());
        Self {
            taken: rng.pick(&sizes),
            returned: rng.pick(&sizes),
            tessellator: Tessellator { flipped: clockwise == lower_left, ..tessellator },
            clockwise,
            lower_left,
            most: rng.pick(&[2, 4, 4, 9, 9, 20, 66]),
            discards: rng.percent(30),
            barriers: rng.pick(&[0, 0, 1, 2]),
            optimized: rng.percent(30),
            as_dxc: rng.percent(30),
            geometry: rng.percent(40).then(|| rng.percent(60)),
            invocations: rng.range(1, 3),
        }
    }

    /// The stages and sources of its shaders.
    pub fn sources(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            ("vert", VERTEX.to_owned()),
            ("tesc", self.control()),
            ("tese", self.evaluation()),
        ];
        all.extend(self.geometry().map(|source| ("geom", source)));
        all
    }

    pub fn control(&self) -> String {
        let Self { returned, most, discards, .. } = self;
        let elements: Vec<String> = (0..32).map(|i| format!("Point(id[{i}], own[{i}])")).collect();
        let (copies, id) = if self.as_dxc {
            (format!("Point points[32] = Point[]({});", elements.join(", ")), "points[i].id")
        } else {
            (String::new(), "id[i]")
        };
        let id = |index: &str| id.replace("[i]", &format!("[{index}]"));
        let (id_i, id_me) = (id("i"), id("me % n"));
        // Behind barriers an invocation uses what it had before, and what others have written.
        let behind = [
            "point[gl_InvocationID].w += point[(me + 1u) % M].z + local[me % 3u] + global;",
            "point[gl_InvocationID].w += (more[(me + 1u) % M].sum ^ sum) % 7u + local[n % 3u];
            local[1]++;",
        ];
        let behind: String = behind[..self.barriers as usize]
            .iter()
            .map(|code| format!("barrier();\n{}\n", code.replace('M', &format!("{returned}u"))))
            .collect();
        format!(
            "#version 450
            layout(vertices = {returned}) out;
            layout(location = 0) flat in uvec2 id[];
            layout(location = 1) flat in uint own[];
            in gl_PerVertex {{ vec4 gl_Position; }} gl_in[gl_MaxPatchVertices];
            out gl_PerVertex {{ vec4 gl_Position; }} gl_out[];
            layout(location = 0) out uvec4 point[];
            layout(location = 1) out More {{ uint sum; vec2 pair; }} more[];
            layout(location = 4) patch out uvec3 whole;
            layout(location = 5) patch out float rows[2];
            uint global = 3u;
            struct Point {{ uvec2 id; uint own; }};
            {HASH}
            float level(uint number) {{
                uint h = hash(hash(id[0].x * 31u + id[0].y) + number);
                if ({discards} && h % 16u == 0u) return -1.0;
                return float((h >> 8) % {most}u + 1u) - float((h >> 4) % 8u) / 8.0;
            }}
            void main() {{
                uint n = uint(gl_PatchVerticesIn), me = uint(gl_InvocationID), sum = 0u;
                {copies}
                for (uint i = 0u; i < n; i++) sum += {id_i}.x * (i + 1u) + {id_i}.y;
                point[gl_InvocationID] = uvec4({id_me}, me, gl_PrimitiveID);
                if (me < n) point[gl_InvocationID].w += own[gl_InvocationID];
                more[gl_InvocationID].sum = sum + me;
                more[gl_InvocationID].pair = vec2(me, n);
                gl_out[gl_InvocationID].gl_Position = gl_in[me % n].gl_Position + float(me);
                if (me == 0u) {{
                    whole = uvec3(sum, n, gl_PrimitiveID);
                    for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = level(uint(i));
                }}
                if (me == {returned}u - 1u) {{
                    rows[0] = float(n);
                    rows[1] = float(me);
                    gl_TessLevelInner[0] = level(4u);
                    gl_TessLevelInner[1] = level(5u);
                }}
                uint local[3] = uint[](me, n, 5u);
                global += me;
                {behind}
            }}"
        )
    }

    /// Of the captured vectors the first is the same for all vertices of a patch.
    pub fn evaluation(&self) -> String {
        let Self { tessellator, clockwise, .. } = *self;
        let modes = modes(tessellator, clockwise);
        let outputs = outputs(self.geometry.is_none());
        format!(
            "#version 450
            layout({modes}) in;
            in gl_PerVertex {{ vec4 gl_Position; }} gl_in[gl_MaxPatchVertices];
            layout(location = 0) in uvec4 point[];
            layout(location = 1) in More {{ uint sum; vec2 pair; }} more[];
            layout(location = 4) patch in uvec3 whole;
            layout(location = 5) patch in float rows[2];
            {outputs}
            void main() {{
                uint n = uint(gl_PatchVerticesIn), sum = 0u;
                for (uint i = 0u; i < n; i++) {{
                    uvec4 p = point[i];
                    sum += (p.x + p.y * 3u + p.z * 7u + p.w) * (i + 1u) + more[i].sum;
                    sum += uint(more[i].pair.x * 5.0 + more[i].pair.y);
                    sum += uint(gl_in[i].gl_Position.x + gl_in[i].gl_Position.y * 2.0);
                }}
                of_patch = uvec4(
                    gl_PrimitiveID,
                    sum,
                    whole.x + whole.y * 3u + whole.z * 5u + n * 11u + uint(rows[0] * 64.0 + rows[1]),
                    floatBitsToUint(gl_TessLevelOuter[1]) + floatBitsToUint(gl_TessLevelInner[0])
                );
                at = vec4(gl_TessCoord, 1.0);
                uint place = uint(gl_TessCoord.x * 16777216.0) + uint(gl_TessCoord.y * 16777216.0);
                of_point = point[place % n];
            }}"
        )
    }

    /// Each invocation emits the vertices of a primitive in one strip, and for odd patches the last one again.
    pub fn geometry(&self) -> Option<String> {
        let output = if self.geometry? { "line_strip" } else { "points" };
        let invocations = self.invocations;
        let vertices = self.tessellator.primitive_vertices();
        let input = ["points", "lines", "triangles"][vertices as usize - 1];
        let outputs = outputs(true);
        Some(format!(
            "#version 450
            layout({input}, invocations = {invocations}) in;
            layout({output}, max_vertices = 4) out;
            layout(location = 0) flat in uvec4 patch_of[];
            layout(location = 1) in vec4 place_of[];
            layout(location = 2) flat in uvec4 point_of[];
            {outputs}
            void emit(int i) {{
                of_patch = patch_of[i] + uvec4(gl_PrimitiveIDIn * 1000, gl_InvocationID, 0, 0);
                at = place_of[i];
                of_point = point_of[i];
                EmitVertex();
            }}
            void main() {{
                for (int i = 0; i < {vertices}; i++) emit(i);
                if (patch_of[0].x % 2u == 1u) emit({vertices} - 1);
            }}"
        ))
    }

    /// The number of vertices of a captured primitive.
    pub fn captured_vertices(&self) -> usize {
        match self.geometry {
            Some(lines) => 1 + usize::from(lines),
            None => self.tessellator.primitive_vertices() as usize,
        }
    }

    /// The records of all primitives of a patch.
    pub fn patch(&self, ids: &[Id], primitive: u32) -> Vec<[u32; RECORD_DWORDS]> {
        let evaluated = self.evaluated(ids, primitive);
        let Some(lines) = self.geometry else { return evaluated };
        let mut records = Vec::new();
        for vertices in evaluated.chunks(self.tessellator.primitive_vertices() as usize) {
            for invocation in 0..self.invocations {
                let mut strip = vertices.to_vec();
                strip.extend(vertices.last().filter(|_| primitive % 2 == 1));
                for record in &mut strip {
                    record[0] += 1000 * primitive;
                    record[1] = record[1].wrapping_add(invocation);
                }
                if lines {
                    strip.windows(2).for_each(|line| records.extend(line))
                } else {
                    records.extend(strip)
                }
            }
        }
        records
    }

    /// What the control shader has added to its control points.
    fn behind_barriers(&self, mut points: Vec<[u32; 4]>, ids: &[Id], sum: u32) -> Vec<[u32; 4]> {
        let n = ids.len() as u32;
        let count = self.returned;
        for me in 0..count {
            let next = (me + 1) % count;
            let local = [me, n, 5];
            let point = &mut points[me as usize];
            if self.barriers > 0 {
                point[3] += next + local[me as usize % 3] + 3 + me;
            }
            if self.barriers > 1 {
                point[3] += (sum.wrapping_add(next) ^ sum) % 7 + local[n as usize % 3];
            }
        }
        points
    }

    /// The outputs of the evaluation shader for each vertex of a patch with these vertices.
    fn evaluated(&self, ids: &[Id], primitive: u32) -> Vec<[u32; RECORD_DWORDS]> {
        let n = ids.len() as u32;
        let sum = (1..)
            .zip(ids)
            .fold(0u32, |sum, (i, id)| sum.wrapping_add(id[0].wrapping_mul(i)).wrapping_add(id[1]));
        let level = |number: u32| {
            let [x, y] = ids[0];
            let h = hash(hash(x.wrapping_mul(31).wrapping_add(y)).wrapping_add(number));
            if self.discards && h.is_multiple_of(16) {
                -1.0
            } else {
                ((h >> 8) % self.most + 1) as f32 - ((h >> 4) % 8) as f32 / 8.0
            }
        };
        let outer = [0, 1, 2, 3].map(level);
        let inner = [4, 5].map(level);
        let points: Vec<[u32; 4]> = (0..self.returned)
            .map(|me| {
                let [x, y] = ids[(me % n) as usize];
                let own = ids.get(me as usize).map_or(0, |id| id[0].wrapping_mul(3) % 16);
                [x, y, me, primitive + own]
            })
            .collect();
        let points = self.behind_barriers(points, ids, sum);
        let of_points = (0..).zip(&points).fold(0u32, |all, (i, p)| {
            let [x, y] = [p[0], p[1]];
            let own = x.wrapping_add(y.wrapping_mul(3)).wrapping_add(p[2] * 7).wrapping_add(p[3]);
            all.wrapping_add(own.wrapping_mul(i + 1))
                .wrapping_add(sum.wrapping_add(i))
                .wrapping_add(i * 5 + n)
                .wrapping_add(x % 1024 + i + 2 * (y + i))
        });
        let whole = sum.wrapping_add(n * 3).wrapping_add(primitive * 5);
        let of_patch = [
            primitive,
            of_points,
            whole.wrapping_add(self.returned * 11 + n * 64 + self.returned - 1),
            outer[1].to_bits().wrapping_add(inner[0].to_bits()),
        ];
        let divided = self.tessellator.divide(outer, inner);
        let slots = self.tessellator.primitive_vertices();
        let vertices = 0..divided.primitive_count() * slots;
        vertices
            .map(|vertex| {
                let [u, v, _] = divided.vertex(vertex / slots, vertex % slots);
                let at = divided.coordinates(vertex / slots, vertex % slots).map(f32::to_bits);
                let of_point = points[((u + v) % self.returned) as usize];
                let mut record = [0; RECORD_DWORDS];
                record[..4].copy_from_slice(&of_patch);
                record[4..7].copy_from_slice(&at);
                record[7] = 1f32.to_bits();
                record[8..].copy_from_slice(&of_point);
                record
            })
            .collect()
    }
}

/// What the shaders after the control shader have as outputs.
fn outputs(are_captured: bool) -> String {
    let at = |offset: u32| {
        if are_captured {
            format!(", xfb_buffer = 0, xfb_stride = {STRIDE}, xfb_offset = {offset}")
        } else {
            String::new()
        }
    };
    format!(
        "layout(location = 0{}) flat out uvec4 of_patch;
        layout(location = 1{}) out vec4 at;
        layout(location = 2{}) flat out uvec4 of_point;",
        at(0),
        at(16),
        at(32)
    )
}

/// The execution modes, in GLSL.
pub fn modes(tessellator: Tessellator, clockwise: bool) -> String {
    let domain = match tessellator.domain {
        Domain::Triangles => "triangles",
        Domain::Quads => "quads",
        Domain::Isolines => "isolines",
    };
    let spacing = match tessellator.spacing {
        Spacing::Equal => "equal_spacing",
        Spacing::FractionalEven => "fractional_even_spacing",
        Spacing::FractionalOdd => "fractional_odd_spacing",
    };
    let order = if clockwise { "cw" } else { "ccw" };
    let points = if tessellator.points { ", point_mode" } else { "" };
    format!("{domain}, {spacing}, {order}{points}")
}
