//! Pictures, as files.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A picture of so many columns, of bytes of red, green and blue.
pub struct Picture {
    pub width: u32,
    pub rgb: Vec<u8>,
}

impl Picture {
    /// A picture of pixels with alpha, which is dropped. Squares of `scale` by `scale` pixels become one.
    pub fn smaller(rgba: &[u8], width: u32, scale: u32) -> Self {
        let (columns, scale) = (width as usize, scale as usize);
        let rows = rgba.len() / 4 / columns;
        let mut rgb = Vec::with_capacity(rgba.len() / 4 * 3 / (scale * scale));
        for y in 0..rows / scale {
            for x in 0..columns / scale {
                let mut sums = [0u32; 3];
                for row in 0..scale {
                    let start = ((y * scale + row) * columns + x * scale) * 4;
                    for pixel in rgba[start..start + scale * 4].chunks(4) {
                        sums.iter_mut().zip(pixel).for_each(|(sum, c)| *sum += u32::from(*c));
                    }
                }
                rgb.extend(sums.map(|sum| (sum / (scale * scale) as u32) as u8));
            }
        }
        Self { width: width / scale as u32, rgb }
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.rgb.len() as u32 / 3 / self.width
    }
}

/// Writes pictures of one size as a file: of several one that moves, so many a second.
pub fn write(path: &Path, pictures: &[Picture], per_second: u16) -> Result<()> {
    let first = pictures.first().context("no picture")?;
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), first.width, first.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    if pictures.len() > 1 {
        encoder.set_animated(pictures.len() as u32, 0)?;
        encoder.set_frame_delay(1, per_second)?;
    }
    let mut writer = encoder.write_header()?;
    for picture in pictures {
        writer.write_image_data(&picture.rgb)?;
    }
    Ok(writer.finish()?)
}
