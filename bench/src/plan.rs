//! Chooses the cases that are measured.

#![forbid(unsafe_code)]

use serde::Deserialize;

use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::case::{Case, Division, Emission, PATCH, Record, RecordError, Workload};
use crate::contestant::Contestant;

const KI: u32 = 1 << 10;
const MI: u32 = 1 << 20;

/// The numbers of vertices of a draw that are measured by default.
const VERTICES: [u32; 5] = [3, KI, 32 * KI, MI, 16 * MI];

/// The numbers of vertices of a draw that are measured with `--full`, instead of [`VERTICES`].
const ALL_VERTICES: [u32; 9] = [3, 64, KI, 16 * KI, 128 * KI, MI, 4 * MI, 16 * MI, 64 * MI];

/// The record of most cases: its size in bytes, and the number of buffers.
const RECORD: (u32, u32) = (32, 1);

/// The other records that are measured by default, as size in bytes and number of buffers.
const RECORDS: [(u32, u32); 6] = [(16, 1), (64, 1), (256, 1), (64, 2), (64, 3), (64, 4)];
const RECORD_VERTICES: [u32; 2] = [64 * KI, 4 * MI];

/// The topologies in workloads that are not measured with all topologies.
const FEW: [PrimitiveTopology; 2] =
    [PrimitiveTopology::TriangleList, PrimitiveTopology::TriangleStrip];

/// The number of draws in captures of many draws.
const MANY: u32 = 1000;
const MANY_VERTICES: [u32; 3] = [3, 30, 300];

/// The numbers of vertices or indices in indexed draws and in draws with formats of real models.
const OTHER_VERTICES: [u32; 2] = [256 * KI, 16 * MI];

/// The numbers of vertices of draws with a geometry shader, for 100 thousand, 1 million and 4
/// million triangles.
const GEOMETRY_VERTICES: [u32; 3] = [300_000, 3_000_000, 12_000_000];

/// The numbers of patches that are divided into few triangles, and into many.
const PATCHES: [(Division, &[u32]); 2] =
    [(Division::Few, &[100_000]), (Division::Many, &[64, 600])];

/// The record that the shader `formats.vert` captures.
const FORMATS_RECORD: (u32, u32) = (64, 1);

/// A part of the benchmark, which can be selected with `--part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Captures of one draw without indices.
    Draw,
    /// Captures of many small draws, with and without counters.
    ManyDraws,
    /// Captures of indexed draws, with and without primitive restart.
    Indexed,
    /// Captures of draws with attributes in formats of real models.
    Formats,
    /// Captures of draws with a geometry shader, which takes lists of triangles.
    Geometry,
    /// Captures of draws with tessellation shaders, which take patches.
    Tessellation,
    /// Measurements of the time that it takes to create pipelines.
    Pipelines,
}

/// The measurements that the user selects. If a list is empty, the plan chooses.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The parts of the benchmark.
    pub parts: Vec<Part>,
    /// The topologies of draws.
    pub topologies: Vec<PrimitiveTopology>,
    /// The sizes of records in bytes.
    pub sizes: Vec<u32>,
    /// The numbers of capture buffers.
    pub buffers: Vec<u32>,
    /// The numbers of vertices or, for indexed draws, of indices of a draw.
    pub vertices: Vec<u32>,
    /// The contestants. The roofline is always added.
    pub contestants: Vec<Contestant>,
    /// Whether to measure all combinations of sizes, numbers of buffers and topologies, with more
    /// numbers of vertices.
    pub full: bool,
}

/// The reason why a selection cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A selected record is not possible.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A selected number of vertices is 0, or larger than 64 Mi.
    #[error("{0} vertices: 1 to 67108864 can be measured")]
    Vertices(u32),
    /// No case is left to be measured.
    #[error(
        "nothing to measure: too few vertices, or too many for buffers of at most 2^32 - 4 bytes"
    )]
    Empty,
}

/// The measurements of a run, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The cases of captures. Cases that differ only in the number of vertices are adjacent, in
    /// increasing order of that number.
    pub cases: Vec<Case>,
    /// Cases that are not measured because they need a larger capture buffer than is allowed.
    pub too_large: Vec<Case>,
    /// The records for which the creation of pipelines is measured.
    pub pipelines: Vec<Record>,
    /// The contestants that are measured.
    pub contestants: Vec<Contestant>,
}

impl Plan {
    /// Makes the plan for a selection.
    ///
    /// # Errors
    /// [`PlanError`]
    pub fn new(selection: &Selection) -> Result<Self, PlanError> {
        if let Some(n) = selection.vertices.iter().find(|n| !(1..=64 * MI).contains(*n)) {
            return Err(PlanError::Vertices(*n));
        }
        let mut plan = Self {
            cases: Vec::new(),
            too_large: Vec::new(),
            pipelines: Vec::new(),
            contestants: Vec::new(),
        };
        let wants = |part| selection.parts.is_empty() || selection.parts.contains(&part);
        let records = selection.records()?;
        if wants(Part::Draw) {
            plan.add_draws(selection, &records)?;
        }
        let few = selection.topologies_or(&FEW);
        if wants(Part::ManyDraws) {
            for counters in [false, true] {
                let workload = Workload::ManyDraws { draws: MANY, counters };
                let small = selection.vertices.iter().copied().filter(|n| *n <= 4 * KI);
                let small: Vec<u32> = if selection.vertices.is_empty() {
                    MANY_VERTICES.to_vec()
                } else {
                    small.collect()
                };
                plan.add(workload, &few, &[default_record()?], &small);
            }
        }
        let others = selection.vertices_or(&OTHER_VERTICES);
        let of = |t: PrimitiveTopology| {
            let chosen = selection.topologies.is_empty() || selection.topologies.contains(&t);
            if chosen { vec![t] } else { Vec::new() }
        };
        if wants(Part::Indexed) {
            let whole: Vec<u32> = others.iter().map(|n| n.next_multiple_of(6)).collect();
            let record = [default_record()?];
            plan.add(Workload::Grid, &of(PrimitiveTopology::TriangleList), &record, &whole);
            for restart in [false, true] {
                let strips = of(PrimitiveTopology::TriangleStrip);
                plan.add(Workload::Strips { restart }, &strips, &record, &others);
            }
        }
        if wants(Part::Formats) {
            let record = Record::new(FORMATS_RECORD.0, FORMATS_RECORD.1)?;
            plan.add(Workload::Formats, &few, &[record], &others);
        }
        if wants(Part::Geometry) {
            let lists = of(PrimitiveTopology::TriangleList);
            let vertices = selection.vertices_or(&GEOMETRY_VERTICES);
            for emission in Emission::ALL {
                plan.add(Workload::Geometry(emission), &lists, &[default_record()?], &vertices);
            }
        }
        if wants(Part::Tessellation) {
            let patches = of(PrimitiveTopology::PatchList);
            for (division, counts) in PATCHES {
                let counts: Vec<u32> = counts.iter().map(|patches| patches * PATCH).collect();
                let vertices = selection.vertices_or(&counts);
                let workload = Workload::Tessellated(division);
                plan.add(workload, &patches, &[default_record()?], &vertices);
            }
        }
        if wants(Part::Pipelines) {
            plan.pipelines = if selection.sizes.is_empty() && selection.buffers.is_empty() {
                Record::SIZES.into_iter().map(|b| Record::new(b, 1)).collect::<Result<_, _>>()?
            } else {
                records
            };
        }
        if plan.cases.is_empty() && plan.pipelines.is_empty() {
            return Err(PlanError::Empty);
        }
        let chosen = |c: &Contestant| {
            *c == Contestant::Roofline
                || selection.contestants.is_empty()
                || selection.contestants.contains(c)
        };
        plan.contestants = Contestant::ALL.into_iter().filter(chosen).collect();
        Ok(plan)
    }

    fn add_draws(&mut self, selection: &Selection, records: &[Record]) -> Result<(), PlanError> {
        let topologies = selection.topologies_or(&PrimitiveTopology::ALL);
        if selection.full {
            let vertices = selection.vertices_or(&ALL_VERTICES);
            self.add(Workload::Draw, &topologies, records, &vertices);
            return Ok(());
        }
        let vertices = selection.vertices_or(&VERTICES);
        self.add(Workload::Draw, &topologies, records, &vertices);
        if selection.sizes.is_empty()
            && selection.buffers.is_empty()
            && selection.vertices.is_empty()
        {
            let few: Vec<_> = FEW.into_iter().filter(|t| topologies.contains(t)).collect();
            let others: Result<Vec<_>, _> =
                RECORDS.into_iter().map(|(bytes, buffers)| Record::new(bytes, buffers)).collect();
            self.add(Workload::Draw, &few, &others?, &RECORD_VERTICES);
        }
        Ok(())
    }

    fn add(
        &mut self,
        workload: Workload,
        topologies: &[PrimitiveTopology],
        records: &[Record],
        vertices: &[u32],
    ) {
        let mut vertices = vertices.to_vec();
        vertices.sort_unstable();
        vertices.dedup();
        for &topology in topologies {
            for &record in records {
                let case = |&vertices| Case { workload, topology, record, vertices };
                let something = vertices.iter().map(case).filter(|case| case.records() > 0);
                let (fitting, too_large): (Vec<_>, Vec<_>) = something.partition(Case::fits);
                self.cases.extend(fitting);
                self.too_large.extend(too_large);
            }
        }
    }
}

fn default_record() -> Result<Record, RecordError> {
    Record::new(RECORD.0, RECORD.1)
}

impl Selection {
    fn topologies_or(&self, otherwise: &[PrimitiveTopology]) -> Vec<PrimitiveTopology> {
        if self.topologies.is_empty() { otherwise } else { &self.topologies }.to_vec()
    }

    fn vertices_or(&self, otherwise: &[u32]) -> Vec<u32> {
        if self.vertices.is_empty() { otherwise } else { &self.vertices }.to_vec()
    }

    /// Returns a record of every selected size with every selected number of buffers, as far as
    /// that is possible.
    fn records(&self) -> Result<Vec<Record>, RecordError> {
        let one =
            |all: &[u32], otherwise: &[u32]| if all.is_empty() { otherwise } else { all }.to_vec();
        let sizes = one(&self.sizes, if self.full { &Record::SIZES } else { &[RECORD.0] });
        let buffers = one(&self.buffers, if self.full { &[1, 2, 3, 4] } else { &[RECORD.1] });
        let mut records = Vec::new();
        for &bytes in &sizes {
            for &buffers in &buffers {
                match Record::new(bytes, buffers) {
                    Ok(record) => records.push(record),
                    // If several sizes are combined with numbers of buffers, impossible
                    // combinations are left out instead of being errors.
                    Err(RecordError::Buffers { .. })
                        if (1..=4).contains(&buffers) && sizes.len() > 1 => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(selection: Selection) -> Plan {
        Plan::new(&selection).unwrap()
    }

    #[test]
    fn by_default_every_topology_and_workload_is_there() {
        let plan = plan(Selection::default());
        for topology in PrimitiveTopology::ALL {
            let draws = plan.cases.iter().filter(|c| c.topology == topology);
            let most = draws.filter(|c| c.workload == Workload::Draw).map(|c| c.vertices).max();
            assert_eq!(most, Some(16 * MI), "{topology}");
        }
        let names: std::collections::BTreeSet<_> =
            plan.cases.iter().map(|c| c.workload.to_string()).collect();
        assert_eq!(names.len(), 12, "{names:?}");
        for emission in Emission::ALL {
            let of = |c: &&Case| c.workload == Workload::Geometry(emission);
            let triangles = plan.cases.iter().filter(of).map(|c| c.vertices / 3);
            let thousands: Vec<u32> = triangles.map(|triangles| triangles / 1000).collect();
            assert_eq!(thousands, [100, 1000, 4000]);
        }
        assert_eq!(plan.pipelines.len(), 4);
        assert_eq!(plan.contestants, Contestant::ALL);
    }

    #[test]
    fn the_whole_matrix_stays_within_the_largest_buffer() {
        let plan = plan(Selection { full: true, ..Default::default() });
        assert!(plan.cases.iter().all(Case::fits));
        let records: std::collections::BTreeSet<_> = plan.cases.iter().map(|c| c.record).collect();
        // The records are 16 bytes in one buffer, 32 bytes in one or two buffers, and 64 and 256
        // bytes in one to four buffers.
        assert_eq!(records.len(), 1 + 2 + 4 + 4);
        assert!(plan.cases.iter().any(|c| c.vertices == 64 * MI));
        assert!(plan.too_large.iter().any(|c| c.vertices == 64 * MI));
        assert!(!plan.too_large.iter().any(Case::fits));
    }

    #[test]
    fn series_rise() {
        for full in [false, true] {
            let plan = plan(Selection { full, ..Default::default() });
            for pair in plan.cases.windows(2) {
                let series = |c: &Case| (c.workload, c.topology, c.record);
                if series(&pair[0]) == series(&pair[1]) {
                    assert!(pair[0].vertices < pair[1].vertices, "{}", pair[1]);
                }
            }
        }
    }

    #[test]
    fn tessellation_shaders_take_patches() {
        let parts = vec![Part::Tessellation];
        let plan = Plan::new(&Selection { parts, ..Default::default() }).unwrap();
        let triangles: Vec<u64> = plan.cases.iter().map(|case| case.records() / 3).collect();
        assert_eq!(triangles, [100_000 * 12, 64 * 2_088, 600 * 2_088]);
    }

    #[test]
    fn geometry_shaders_take_lists_of_triangles() {
        let of = |topology| {
            let (parts, topologies) = (vec![Part::Geometry], vec![topology]);
            Plan::new(&Selection { parts, topologies, vertices: vec![3], ..Default::default() })
        };
        let cases = of(PrimitiveTopology::TriangleList).unwrap().cases;
        let records: Vec<u64> = cases.iter().map(Case::records).collect();
        assert_eq!(records, [3, 3, 12]);
        assert_eq!(of(PrimitiveTopology::TriangleStrip), Err(PlanError::Empty));
    }

    #[test]
    fn selections_that_leave_nothing_are_refused() {
        let refused = |selection: Selection| Plan::new(&selection).unwrap_err();
        let parts = vec![Part::Draw];
        let vertices =
            |n| Selection { vertices: vec![n], parts: parts.clone(), ..Default::default() };
        assert_eq!(refused(vertices(0)), PlanError::Vertices(0));
        assert_eq!(refused(vertices(64 * MI + 1)), PlanError::Vertices(64 * MI + 1));
        let adjacency = vec![PrimitiveTopology::TriangleListWithAdjacency];
        let few = Selection { topologies: adjacency, ..vertices(5) };
        assert_eq!(refused(few), PlanError::Empty);
        let buffers = Selection { sizes: vec![16], buffers: vec![2], ..Default::default() };
        assert!(matches!(refused(buffers), PlanError::Record(RecordError::Buffers { .. })));
        let size = Selection { sizes: vec![20], ..Default::default() };
        assert_eq!(refused(size), PlanError::Record(RecordError::Bytes(20)));
    }
}
