//! Draws pictures of the captured primitives: PNG pictures, which the device renders, and SVG pictures of the
//! edges.

mod colours;
mod normals;
mod render;
mod scene;
mod svg;
mod target;
mod unseen;
mod view;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vkxfb_probe::gpu::Gpu;

use self::colours::Colouring;
use self::scene::Scene;
use self::unseen::Unseen;
use self::view::{Size, View};
use super::output::Shown;
use super::records::{Column, Records, Role, place, position};
use super::space::Axes;

/// The maximum number of primitives in an SVG picture. With more, edges could not be distinguished.
const MOST_EDGES: u64 = 10_000;

/// The options for the picture.
#[derive(Debug, clap::Args)]
pub(super) struct PictureArguments {
    /// Draw the captured primitives: a .png is shaded by the device with hidden surfaces removed, and
    /// what is farther is paler; an .svg has the edges, and for few primitives the order of their
    /// vertices. An output that is named as a normal shades triangles smoothly; otherwise each is flat
    #[arg(long, value_name = "FILE")]
    pub(super) picture: Option<PathBuf>,
    /// Size of a .png in pixels; 1024x1024 by default
    #[arg(long, value_name = "WIDTHxHEIGHT", requires = "picture")]
    size: Option<Size>,
    /// Viewpoint of the picture. 'shader': the captured Position as it is on the screen, where y is down in Vulkan,
    /// and in WGSL, which is compiled for it; a .png is clipped to the screen. 'front', 'back', 'left', 'right', 'top',
    /// 'bottom', 'corner', or two angles in degrees: everything, from outside, with y upwards; 0,0 is the front, where z
    /// comes towards the viewer, 90,0 the right side, and 0,90 the top. From outside, vertices are where an output that
    /// is named as a position has them (worldPos), otherwise where Position is, whose y is taken as down, unless w is 1
    /// and z leaves 0 to 1 as if a mesh's positions were passed on. The default is 'shader' if Position is captured; otherwise 'corner' for a .png, and 'front' for an .svg
    #[arg(
        long,
        value_name = "VIEW|AZIMUTH,ELEVATION",
        requires = "picture",
        allow_hyphen_values = true
    )]
    view: Option<View>,
    /// What colours a .png: an output, written as for --varyings (tint, @2, @Position), or one component of an output
    /// (tint.y, gl_Position.w). Three or four numbers from 0 to 1 are used as a colour directly; other numbers are
    /// scaled by their range, which is printed. By default an output that is named as a colour; otherwise
    /// counter-clockwise triangles are blue, and clockwise ones green. Distance fades colours
    #[arg(long, visible_alias = "color", value_name = "OUTPUT", requires = "picture")]
    colour: Option<String>,
}

/// A picture to be drawn, with the columns that it uses.
pub(super) struct Picture<'a> {
    pub(super) file: &'a Path,
    kind: Kind,
    size: Size,
    view: View,
    place: &'a Column,
    /// The output with the normals by which surfaces are shaded smoothly. `None` if each triangle is shaded flat.
    normal: Option<&'a Column>,
    colouring: Option<Colouring<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Svg,
}

impl Kind {
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
    /// Checks the options as far as that is possible without a shader.
    pub(super) fn check(&self) -> Result<()> {
        let Some(file) = &self.picture else { return Ok(()) };
        match Kind::of(file) {
            None => bail!("{}: pictures are .png or .svg", file.display()),
            Some(Kind::Svg) if self.size.is_some() || self.colour.is_some() => {
                bail!("{}: --size and --colour are of a .png", file.display())
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns the picture to draw from these columns; `None` if the user wants no picture.
    pub(super) fn of<'a>(&'a self, columns: &'a [Column]) -> Result<Option<Picture<'a>>> {
        let Some(file) = self.picture.as_deref() else { return Ok(None) };
        let kind = Kind::of(file).context("no picture")?;
        let on_screen = columns.iter().find(|column| column.is_position);
        let view = self.view.unwrap_or(match (on_screen, kind) {
            (None, Kind::Png) => View::CORNER,
            (None, Kind::Svg) => View::FRONT,
            (Some(_), _) => View::Shader,
        });
        let place = match view {
            View::Shader => match on_screen {
                Some(column) => Some(column).filter(|column| column.letters.len() == 4),
                None => bail!("--view shader: the built-in Position is not captured"),
            },
            View::From { .. } => place(columns),
        };
        let place = place.or_else(|| position(columns)).context(
            "nothing that is captured is a position: the built-in, or a vector of three or four floats",
        )?;
        let colouring = match kind {
            Kind::Png => Colouring::of(columns, self.colour.as_deref())?,
            Kind::Svg => None,
        };
        let normal = columns.iter().find(|column| column.role() == Some(Role::Normal));
        let size = self.size.unwrap_or_default();
        Ok(Some(Picture { file, kind, size, view, place, normal, colouring }))
    }
}

impl Picture<'_> {
    /// Draws the picture, and returns the bytes of its file.
    pub(super) fn render(&self, gpu: &mut Gpu, shown: &Shown<'_>, title: &str) -> Result<Vec<u8>> {
        let file = self.file;
        let axes = self.axes(shown.records);
        let origin = self.origin(axes).map(str::to_owned);
        let remarks = self.place.guessed_position().into_iter().chain(origin);
        for remark in remarks.chain(Unseen::of(shown, self, axes).remarks()) {
            crate::print::remark(format_args!("{}: {remark}", file.display()));
        }
        match self.kind {
            Kind::Svg => {
                if shown.primitives_written > MOST_EDGES {
                    crate::print::remark(format_args!(
                        "{}: the edges of {} primitives; a .png is shaded",
                        file.display(),
                        shown.primitives_written
                    ));
                }
                Ok(svg::draw(shown, self.place, (self.view, axes), title).into_bytes())
            }
            Kind::Png => {
                let scene = Scene::of(shown, self, axes);
                for remark in &scene.remarks {
                    crate::print::remark(format_args!("{}: {remark}", file.display()));
                }
                let pixels = render::render(gpu, &scene, self.size)?;
                encode(&pixels, self.size).context("cannot make a PNG")
            }
        }
    }

    /// Returns the axes of the positions that the picture shows.
    fn axes(&self, records: &Records<'_>) -> Axes {
        if self.place.is_position {
            Axes::in_picture((0..records.vertices).map(|vertex| records.place(vertex, self.place)))
        } else {
            Axes::Space
        }
    }

    /// Says that a view from outside shows `Position`, which a projection may distort. `None` if it shows an output
    /// with positions in space.
    fn origin(&self, axes: Axes) -> Option<&'static str> {
        match (self.view, axes) {
            (View::Shader, _) | (_, Axes::Space) => None,
            (View::From { .. }, Axes::Clip) => Some(
                "drawn from Position, as the shader projects it; an output named worldPos would have the shape itself",
            ),
            (View::From { .. }, Axes::Model) => Some(
                "drawn from Position, which looks unprojected (w is 1, z leaves 0 to 1), with its y upwards",
            ),
        }
    }
}

/// Encodes pixels as PNG. Each pixel is red, green, blue and alpha.
fn encode(pixels: &[u8], size: Size) -> Result<Vec<u8>> {
    let rgb: Vec<u8> = pixels.chunks_exact(4).flat_map(|pixel| pixel[..3].to_vec()).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}
