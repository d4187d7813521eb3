//! Computes where the nodes of a scene are at a given time of an animation.

use anyhow::{Context, Result, bail};
use glam::{DMat4, DQuat, DVec3};
use gltf::animation::util::ReadOutputs;
use gltf::animation::{Animation, Channel, Interpolation};
use gltf::scene::Transform;
use gltf::{Gltf, Node};

use super::matrix;

/// The time of an animation at which a mesh is read.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(in crate::capture) struct Pose {
    /// Read a glTF file with its nodes moved as they are at this time of its animation. Its skins reach the shader by
    /// =skin (--uniform 0.1.joints=skin), with inputs for joints and weights. Before the first keyframe
    /// they are as at the first keyframe, and after the last keyframe as at the last one
    #[arg(long, value_name = "SECONDS", requires = "mesh", value_parser = seconds,
        allow_negative_numbers = true)]
    pub(in crate::capture) time: Option<f64>,
    /// The name or number of the animation; by default the first
    #[arg(long, value_name = "NAME", requires = "time")]
    animation: Option<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    seconds.ok_or_else(|| "a number of seconds".to_owned())
}

/// The transformation of a node relative to its parent, as translation, rotation and scale.
#[derive(Clone, Copy)]
struct Local {
    translation: DVec3,
    rotation: DQuat,
    scale: DVec3,
}

impl Local {
    fn of(node: &Node<'_>) -> Self {
        let (translation, rotation, scale) = node.transform().decomposed();
        Self {
            translation: DVec3::from_array(translation.map(f64::from)),
            rotation: DQuat::from_array(rotation.map(f64::from)),
            scale: DVec3::from_array(scale.map(f64::from)),
        }
    }

    fn matrix(self) -> DMat4 {
        DMat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

impl Pose {
    /// Returns the matrix of each node relative to its parent: at the time of the animation, or as the file says if no
    /// time is given.
    pub(super) fn locals(&self, gltf: &Gltf, buffers: &[Vec<u8>]) -> Result<Vec<DMat4>> {
        let rest = |node: Node<'_>| match node.transform() {
            Transform::Matrix { matrix: columns } => matrix(&columns),
            Transform::Decomposed { .. } => Local::of(&node).matrix(),
        };
        let mut matrices: Vec<DMat4> = gltf.nodes().map(rest).collect();
        let Some(time) = self.time else { return Ok(matrices) };
        let animation = self.animation(gltf)?;
        let mut locals: Vec<Local> = gltf.nodes().map(|node| Local::of(&node)).collect();
        for channel in animation.channels() {
            let node = channel.target().node().index();
            let number = channel.index();
            let what = || format!("channel {number} of the animation");
            move_to(&mut locals[node], &channel, buffers, time).with_context(what)?;
            matrices[node] = locals[node].matrix();
        }
        Ok(matrices)
    }

    fn animation<'g>(&self, gltf: &'g Gltf) -> Result<Animation<'g>> {
        let Some(wanted) = &self.animation else {
            return gltf.animations().next().context("--time: the file has no animation");
        };
        let is_wanted = |animation: &Animation<'_>| {
            animation.name() == Some(wanted) || animation.index().to_string() == *wanted
        };
        gltf.animations().find(is_wanted).with_context(|| {
            let name = |animation: Animation<'_>| match animation.name() {
                Some(name) => name.to_owned(),
                None => animation.index().to_string(),
            };
            let all: Vec<String> = gltf.animations().map(name).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            format!("no animation '{wanted}'; there are: {all}")
        })
    }
}

/// Sets the part of `local` that `channel` animates (translation, rotation or scale) to the value of the channel at
/// `time`.
fn move_to(local: &mut Local, channel: &Channel<'_>, buffers: &[Vec<u8>], time: f64) -> Result<()> {
    let reader = channel.reader(|buffer| buffers.get(buffer.index()).map(Vec::as_slice));
    let times = reader.read_inputs().context("its times are outside of their buffer")?;
    let times: Vec<f64> = times.map(f64::from).collect();
    let interpolation = channel.sampler().interpolation();
    let curve = |values: Vec<[f64; 4]>, is_rotation| {
        Curve { times: &times, values: &values, interpolation, is_rotation }.at(time)
    };
    let three = |[x, y, z]: [f32; 3]| [x, y, z, 0.0].map(f64::from);
    let vector = |[x, y, z, _]: [f64; 4]| DVec3::new(x, y, z);
    match reader.read_outputs().context("its values are outside of their buffer")? {
        ReadOutputs::Translations(values) => {
            local.translation = vector(curve(values.map(three).collect(), false)?);
        }
        ReadOutputs::Scales(values) => {
            local.scale = vector(curve(values.map(three).collect(), false)?);
        }
        ReadOutputs::Rotations(values) => {
            let values = values.into_f32().map(|value| value.map(f64::from));
            local.rotation = DQuat::from_array(curve(values.collect(), true)?).normalize();
        }
        // Morph targets are not supported, so their weights are ignored.
        ReadOutputs::MorphTargetWeights(_) => {}
    }
    Ok(())
}

/// The values of a channel at certain times. A cubic spline has three values for each time: the tangent of the curve
/// before the time, the value, and the tangent after the time.
struct Curve<'a> {
    times: &'a [f64],
    values: &'a [[f64; 4]],
    interpolation: Interpolation,
    is_rotation: bool,
}

impl Curve<'_> {
    /// Returns the value at a time, by [the
    /// specification's](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#appendix-c-interpolation)
    /// formulas. Before the first time, returns the first value, and after the last time the last
    /// value.
    fn at(&self, time: f64) -> Result<[f64; 4]> {
        let each = if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        if self.times.is_empty() || self.values.len() < each * self.times.len() {
            bail!("it has {} times, and {} values", self.times.len(), self.values.len());
        }
        let value = |key: usize| self.values[each * key + each / 2];
        let behind = self.times.partition_point(|key| *key <= time);
        let Some(before) = behind.checked_sub(1) else { return Ok(value(0)) };
        if behind == self.times.len() {
            return Ok(value(before));
        }
        let length = self.times[behind] - self.times[before];
        let t = (time - self.times[before]) / length;
        let (from, to) = (value(before), value(behind));
        Ok(match self.interpolation {
            Interpolation::Step => from,
            Interpolation::Linear if self.is_rotation => {
                let [from, to] = [from, to].map(DQuat::from_array);
                from.slerp(to, t).to_array()
            }
            Interpolation::Linear => {
                std::array::from_fn(|axis| from[axis] + (to[axis] - from[axis]) * t)
            }
            Interpolation::CubicSpline => {
                let (leaving, arriving) = (self.values[3 * before + 2], self.values[3 * behind]);
                let (t2, t3) = (t * t, t * t * t);
                std::array::from_fn(|axis| {
                    (2.0 * t3 - 3.0 * t2 + 1.0) * from[axis]
                        + length * (t3 - 2.0 * t2 + t) * leaving[axis]
                        + (3.0 * t2 - 2.0 * t3) * to[axis]
                        + length * (t3 - t2) * arriving[axis]
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(interpolation: Interpolation, values: &[[f64; 4]], time: f64) -> Option<[f64; 4]> {
        let times = [1.0, 2.0, 4.0];
        let curve = Curve { times: &times, values, interpolation, is_rotation: false };
        curve.at(time).ok()
    }

    #[test]
    fn curves_go_through_their_values() {
        let values = [1.0, 3.0, 9.0].map(|x| [x, 0.0, -x, 0.0]);
        let linear = |time| at(Interpolation::Linear, &values, time).map(|value| value[0]);
        let step = |time| at(Interpolation::Step, &values, time).map(|value| value[0]);
        assert_eq!(
            [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0].map(linear),
            [1.0, 1.0, 2.0, 3.0, 6.0, 9.0, 9.0].map(Some)
        );
        assert_eq!([0.0, 1.5, 2.0, 5.0].map(step), [1.0, 1.0, 3.0, 9.0].map(Some));
        assert_eq!(at(Interpolation::Linear, &values[..2], 1.0), None);
    }

    /// A spline that has the tangents of a parabola equals that parabola.
    #[test]
    fn splines_have_their_tangents() {
        let key = |t: f64| [[2.0 * t; 4], [t * t; 4], [2.0 * t; 4]];
        let values = [1.0, 2.0, 4.0].map(key).concat();
        for time in [1.0, 1.25, 2.0, 2.5, 3.75, 4.0] {
            let [x, ..] = at(Interpolation::CubicSpline, &values, time).unwrap_or_default();
            assert!((x - time * time).abs() < 1e-12, "{time}: {x}");
        }
    }
}
