//! The picture's pixels, and their way into a PNG.

use super::PictureError;

/// sRGB pixels, row by row from the top.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    pub width: usize,
    pub height: usize,
    /// `row × column`
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    /// One plain colour.
    pub fn new(width: usize, height: usize, colour: [u8; 3]) -> Self {
        Self { width, height, pixels: vec![colour; width * height] }
    }

    /// Lays `colour` over a pixel; `cover` 0…1 is how much of it shows. Outside is ignored. The mix
    /// is made of sRGB values, which is what keeps dark letters on white from looking thin.
    pub fn lay(&mut self, x: i64, y: i64, colour: [u8; 3], cover: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        let cover = cover.clamp(0.0, 1.0);
        for (under, over) in pixel.iter_mut().zip(colour) {
            *under = (f32::from(*under) * (1.0 - cover) + f32::from(over) * cover).round() as u8;
        }
    }

    /// Copies finished rows of pixels, `width` to a row, to a place in this picture.
    pub fn put(&mut self, left: usize, top: usize, width: usize, pixels: &[[u8; 3]]) {
        for (row, line) in pixels.chunks_exact(width).enumerate() {
            let start = (top + row) * self.width + left;
            self.pixels[start..start + width].copy_from_slice(line);
        }
    }

    /// The picture as a PNG file, marked as sRGB.
    pub fn into_png(self) -> Result<Vec<u8>, PictureError> {
        let mut bytes = Vec::new();
        let mut writer = encoder(&mut bytes, &self).write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }
}

fn encoder<'a>(bytes: &'a mut Vec<u8>, canvas: &Canvas) -> png::Encoder<'a, &'a mut Vec<u8>> {
    let mut encoder = png::Encoder::new(bytes, canvas.width as u32, canvas.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.set_compression(png::Compression::Balanced);
    encoder
}

/// Pictures of one size as an animated PNG that starts over and over; viewers that know nothing of
/// animation show the first. `rate` is in frames per second.
pub(super) fn animated_png(frames: &[Canvas], rate: u16) -> Result<Vec<u8>, PictureError> {
    let Some(first) = frames.first() else { return Err(PictureError::NoPanels) };
    let mut bytes = Vec::new();
    let mut encoder = encoder(&mut bytes, first);
    encoder.set_animated(frames.len() as u32, 0)?;
    encoder.set_frame_delay(1, rate.max(1))?;
    let mut writer = encoder.write_header()?;
    for frame in frames {
        writer.write_image_data(frame.pixels.as_flattened())?;
    }
    writer.finish()?;
    Ok(bytes)
}
