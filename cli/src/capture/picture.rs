//! Draws pictures of the captured primitives: PNG pictures, which the device renders, and SVG pictures of the
//! edges.

mod colours;
mod normals;
mod render;
mod scene;
mod svg;
mod target;
mod unseen;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use vkxfb_probe::gpu::Gpu;

use self::scene::Scene;
use self::unseen::Unseen;
use super::output::Shown;
use super::records::{Column, Records, Role, place};
use super::space::Axes;

/// The maximum number of primitives in an SVG picture. With more, edges could not be distinguished.
const MOST_EDGES: u64 = 10_000;

/// The width and height of a PNG picture in pixels.
const SIZE: u32 = 1024;

/// The option for the picture.
#[derive(Debug, clap::Args)]
pub(super) struct PictureArguments {
    /// Draw the captured primitives: a .png is shaded by the device with hidden surfaces removed, and what is farther
    /// is paler; an .svg has the edges, and for few primitives the order of their vertices. A projected Position is
    /// drawn as it is on the screen, where a .png is clipped; all else from the front. Outputs that are named as a
    /// normal or a colour shade and colour a .png
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
}

/// A picture to be drawn, with the columns that it uses.
pub(super) struct Picture<'a> {
    pub(super) file: &'a Path,
    kind: PictureKind,
    /// The built-in `Position`, if it is captured.
    screen: Option<&'a Column>,
    /// The positions that are drawn if `screen` is not projected.
    shape: &'a Column,
    /// The output with the normals by which surfaces are shaded smoothly. `None` if each triangle is shaded flat.
    normal: Option<&'a Column>,
    /// The output with the colours. `None` if the visible side of a triangle determines its colour.
    colour: Option<&'a Column>,
}

/// What of the captured outputs a picture shows, and from where.
#[derive(Clone, Copy)]
struct View<'a> {
    /// The output with the positions.
    place: &'a Column,
    /// What the positions are. Those in clip space are seen as the shader sees them, others from the front.
    axes: Axes,
}

impl View<'_> {
    /// Whether the picture has what the shader sees.
    fn is_of_shader(self) -> bool {
        self.axes == Axes::Clip
    }

    /// Returns a position in the axes of the picture: to the right, downwards, and away from the viewer. `None` for a
    /// position that is behind the viewer.
    fn seen(self, place: [f64; 4]) -> Option<[f64; 3]> {
        let [x, y, z] = self.axes.in_space(place)?;
        Some([x, -y, -z])
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PictureKind {
    Png,
    Svg,
}

impl PictureKind {
    fn of(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        match &*extension {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }
}

impl PictureArguments {
    /// Returns the picture to draw from these columns; `None` if the user wants no picture.
    pub(super) fn of<'a>(&'a self, columns: &'a [Column]) -> Result<Option<Picture<'a>>> {
        let Some(file) = self.picture.as_deref() else { return Ok(None) };
        let kind = PictureKind::of(file)
            .with_context(|| format!("{}: pictures are .png or .svg", file.display()))?;
        let is_screen = |column: &&Column| column.is_position && column.letters.len() >= 3;
        let shape = place(columns).context(
            "nothing that is captured is a position: the built-in, or a vector of three or four floats",
        )?;
        let of_role = |role| columns.iter().find(|column| column.role() == Some(role));
        Ok(Some(Picture {
            file,
            kind,
            screen: columns.iter().find(is_screen),
            shape,
            normal: of_role(Role::Normal),
            colour: of_role(Role::Color),
        }))
    }
}

impl<'a> Picture<'a> {
    /// Draws the picture, and returns the bytes of its file.
    pub(super) fn render(&self, gpu: &mut Gpu, shown: &Shown<'_>, title: &str) -> Result<Vec<u8>> {
        let file = self.file;
        let view = self.view(shown.records);
        let unprojected = (view.axes == Axes::Model).then(|| {
            "drawn from the front, since Position looks unprojected (w is 1, z leaves 0 to 1)"
                .to_owned()
        });
        let remarks = view.place.guessed_position().into_iter().chain(unprojected);
        for remark in remarks.chain(Unseen::of(shown, self.kind, view).remarks()) {
            crate::print::remark(format_args!("{}: {remark}", file.display()));
        }
        match self.kind {
            PictureKind::Svg => {
                if shown.primitives_written > MOST_EDGES {
                    crate::print::remark(format_args!(
                        "{}: the edges of {} primitives; a .png is shaded",
                        file.display(),
                        shown.primitives_written
                    ));
                }
                Ok(svg::draw(shown, view, title).into_bytes())
            }
            PictureKind::Png => {
                let scene = Scene::of(shown, self, view);
                for remark in &scene.remarks {
                    crate::print::remark(format_args!("{}: {remark}", file.display()));
                }
                encode(&render::render(gpu, &scene)?).context("cannot make a PNG")
            }
        }
    }

    /// Determines what the picture shows: `Position` as the shader projects it; otherwise positions in space.
    fn view(&self, records: &Records<'_>) -> View<'a> {
        let axes = |column| {
            Axes::in_picture((0..records.vertices).map(|vertex| records.place(vertex, column)))
        };
        match (self.screen, self.screen.map(axes)) {
            (Some(place), Some(Axes::Clip)) => View { place, axes: Axes::Clip },
            (_, Some(axes)) if self.shape.is_position => View { place: self.shape, axes },
            _ => View { place: self.shape, axes: Axes::Space },
        }
    }
}

/// Encodes pixels as PNG. Each pixel is red, green, blue and alpha.
fn encode(pixels: &[u8]) -> Result<Vec<u8>> {
    let rgb: Vec<u8> = pixels.chunks_exact(4).flat_map(|pixel| pixel[..3].to_vec()).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE, SIZE);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}
