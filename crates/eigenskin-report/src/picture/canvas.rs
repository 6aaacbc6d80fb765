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
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }
}
