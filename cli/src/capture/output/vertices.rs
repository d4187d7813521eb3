//! The vertices of the meshes that are written, as PLY or as glTF: which records they are, and where.

use anyhow::{Result, bail};

use super::Shown;
use crate::capture::records::{Column, place};
use crate::capture::space::Axes;

/// The vertices of a mesh.
pub(super) struct Vertices<'a> {
    /// The column with the positions. `None` if nothing is captured that can be a position.
    column: Option<&'a Column>,
    /// The record of each vertex. All primitives are whole.
    pub(super) records: Vec<usize>,
    /// The position of each vertex; empty without a column that has them.
    pub(super) positions: Vec<[f64; 3]>,
    /// What is to be said of the positions. The user is told, and the file says it, too.
    pub(super) remarks: Vec<String>,
}

impl<'a> Vertices<'a> {
    /// Takes all primitives, but for those of a shader's `Position` that reach behind the viewer. Tells the user what
    /// is made of a `Position` that is projected, or may be.
    pub(super) fn of(shown: &Shown<'a>) -> Result<Self> {
        let (records, count) = (shown.records, shown.records.vertices);
        let Some(column) = place(records.columns) else {
            let records = (0..count).collect();
            let (positions, remarks) = (Vec::new(), Vec::new());
            return Ok(Self { column: None, records, positions, remarks });
        };
        let all = (0..count).map(|vertex| records.place(vertex, column));
        let (axes, in_picture) = if column.is_position {
            (Axes::in_mesh(all.clone()), Axes::in_picture(all))
        } else {
            (Axes::Space, Axes::Space)
        };
        let mut this = Self {
            column: Some(column),
            records: Vec::new(),
            positions: Vec::new(),
            remarks: Vec::new(),
        };
        for first in (0..count).step_by(shown.per_primitive()) {
            let primitive = first..(first + shown.per_primitive()).min(count);
            let places = primitive.clone().map(|vertex| records.place(vertex, column));
            let places: Option<Vec<_>> = places.map(|place| axes.in_space(place)).collect();
            if let Some(places) = places {
                this.records.extend(primitive);
                this.positions.extend(places);
            }
        }
        let primitives = count / shown.per_primitive();
        let left_out = primitives - this.records.len() / shown.per_primitive();
        if left_out > 0 && left_out == primitives {
            bail!(
                "all of {primitives} primitives reach behind the viewer (w is 0 or less, or no number), \
                 where a mesh has no positions; CSV and JSON have them as they were captured"
            );
        }
        if axes == Axes::Clip {
            this.remarks.push(format!(
                "{} is projected (its w is not 1), so the mesh is as seen: x/w, -y/w, -z/w; CSV and JSON have it as it \
                 was captured, and an output named worldPos would have the shape itself",
                column.name
            ));
        } else if in_picture != axes && count > 0 {
            this.remarks.push(format!(
                "{} is in the mesh as it was captured: its w is 1, and its depths are from 0 to 1, so that it may be \
                 the shape itself or an orthographic projection, which points y downwards and z away from the viewer",
                column.name
            ));
        }
        if left_out > 0 {
            this.remarks.push(format!(
                "{left_out} of {primitives} primitives reach behind the viewer (w is 0 or less, or no number), and are \
                 not in the mesh"
            ));
        }
        this.remarks.iter().for_each(crate::print::remark);
        Ok(this)
    }

    /// Whether the positions are made of this column.
    pub(super) fn are_of(&self, column: &Column) -> bool {
        self.column.is_some_and(|position| std::ptr::eq(position, column))
    }
}
