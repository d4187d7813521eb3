//! A series is the cases that differ only in the number of vertices. The time of a smaller case
//! predicts that of a larger one.

#![forbid(unsafe_code)]

use std::time::Duration;

use crate::case::Case;
use crate::contestant::Contestant;

/// If a case would take too long, contestants that are more than this many times as slow as the
/// roofline are left out.
pub(super) const SLOW: f64 = 10.0;

/// The minimum number of captured bytes at which the time of a capture is proportional to the
/// number of bytes.
const PREDICTING: u64 = 1 << 20;

/// The results of the case that was measured last. They predict the results of the next case.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The case that was measured last.
    pub(super) case: Case,
    /// The time in seconds that a capture took, for each contestant.
    pub(super) captures: Vec<(Contestant, f64)>,
    /// The contestants that were left out because they were too slow.
    pub(super) slow: Vec<Contestant>,
}

impl Series {
    /// Returns the contestants that must be left out of a case because they are too slow, so that `captures`
    /// captures by each other contestant stay within the limit. An error says why the case itself must be
    /// left out.
    pub(super) fn too_slow(
        &self,
        case: &Case,
        captures: u32,
        limit: Duration,
    ) -> Result<Vec<Contestant>, String> {
        let is_next = Case { vertices: case.vertices, ..self.case } == *case;
        let growth = f64::from(case.vertices) / f64::from(self.case.vertices);
        if !is_next || growth < 1.0 {
            return Ok(Vec::new());
        }
        // The times of small captures do not predict those of large ones.
        if self.case.bytes_written() < PREDICTING {
            return Ok(self.slow.clone());
        }
        let all = |is_counted: &dyn Fn(f64) -> bool| {
            let seconds = self.captures.iter().map(|(_, seconds)| *seconds);
            let sum: f64 = seconds.filter(|seconds| is_counted(*seconds)).sum();
            sum * growth * f64::from(captures)
        };
        let (limit_s, seconds) = (limit.as_secs_f64(), all(&|_| true));
        if seconds <= limit_s {
            return Ok(self.slow.clone());
        }
        let roofline = self.captures.iter().find(|(c, _)| *c == Contestant::Roofline);
        let least = roofline.map_or(f64::INFINITY, |(_, seconds)| seconds * SLOW);
        if all(&|seconds| seconds <= least) > limit_s {
            return Err(format!("it would take about {seconds:.0} s, more than {limit:?}"));
        }
        let slow = self.captures.iter().filter(|(_, seconds)| *seconds > least);
        Ok(self.slow.iter().copied().chain(slow.map(|(c, _)| *c)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Record, Workload};
    use vkxfb_rewriter::topology::PrimitiveTopology;

    fn case(vertices: u32) -> Case {
        let (workload, topology) = (Workload::Draw, PrimitiveTopology::TriangleFan);
        Case { workload, topology, record: Record::new(32, 1).unwrap(), vertices }
    }

    fn series(vertices: u32, captures: &[(Contestant, f64)]) -> Series {
        Series { case: case(vertices), captures: captures.to_vec(), slow: Vec::new() }
    }

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn who_is_slow_goes_first_and_stays_away() {
        use Contestant::{Compute, Native, Roofline, Vertex};
        let all = [(Native, 0.09), (Vertex, 0.2), (Compute, 0.02), (Roofline, 0.01)];
        let small = series(1 << 20, &all);
        let too_slow = |vertices| small.too_slow(&case(vertices), 10, LIMIT);
        assert_eq!(too_slow(2 << 20), Ok(vec![]), "6.4 s");
        assert_eq!(too_slow(4 << 20), Ok(vec![Vertex]), "12.8 s, and 4.8 s without");
        assert_eq!(
            too_slow(16 << 20),
            Err("it would take about 51 s, more than 10s".to_owned()),
            "19.2 s even so"
        );
        let next = Series { slow: vec![Vertex], ..series(4 << 20, &all[2..]) };
        assert_eq!(next.too_slow(&case(5 << 20), 10, LIMIT), Ok(vec![Vertex]));
    }

    #[test]
    fn other_series_and_small_captures_tell_nothing() {
        let native = [(Contestant::Native, 100.0)];
        let told = |series: Series, case: Case| series.too_slow(&case, 10, LIMIT).is_err();
        assert!(told(series(1 << 20, &native), case(1 << 21)));
        assert!(!told(series(1 << 10, &native), case(1 << 21)));
        assert!(!told(series(1 << 21, &native), case(1 << 20)));
        let record = Record::new(64, 1).unwrap();
        assert!(!told(series(1 << 20, &native), Case { record, ..case(1 << 21) }));
    }
}
