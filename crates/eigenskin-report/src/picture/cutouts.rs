//! Panels as pictures of their own, without background, captions or legend: for pages that bring
//! these themselves.

use eigenskin_core::glam::Vec3;
use eigenskin_core::mesh::Mesh;

use super::colour::{bytes_from_linear, displacement_colour, heat_colour, linear_from_bytes};
use super::painter::PanelPainter;
use super::panel::{Stage, draw_cutout};
use super::{Panel, PictureError, PictureParams, camera_of, check, legend_of};

/// Panels drawn with one camera and one heat scale.
#[derive(Debug, Clone)]
pub struct Cutouts {
    /// `panel`: PNG files, 8-bit sRGB with opacity
    pub files: Vec<Vec<u8>>,
    /// error at the top of the heat scale; `None` without heat maps
    pub heat_maximum: Option<f32>,
}

/// Draws each panel into a picture of its own. Captions, columns and background are not used.
pub fn draw_cutouts(
    painter: &dyn PanelPainter,
    mesh: &Mesh,
    panels: &[Panel],
    params: &PictureParams,
) -> Result<Cutouts, PictureError> {
    check(mesh, panels, params)?;
    let heat_maximum = legend_of(panels, &params.heat).and_then(|legend| legend.heat_maximum());
    let camera = camera_of(panels, params);
    let stage = Stage::new(mesh, &camera, params, heat_maximum);
    let files = panels
        .iter()
        .map(|panel| png_file(params.panel_width, params.panel_height, &draw_cutout(painter, panel, &stage)?))
        .collect::<Result<_, _>>()?;
    Ok(Cutouts { files, heat_maximum })
}

/// `count` colours of the heat map from no error to the largest, sRGB bytes.
pub fn heat_colours(count: usize) -> Vec<[u8; 3]> {
    let last = count.saturating_sub(1).max(1) as f32;
    (0..count).map(|step| bytes_from_linear(heat_colour(step as f32 / last))).collect()
}

/// Names and colours of full displacements along the axes, and of none, sRGB bytes.
pub fn direction_keys() -> [(&'static str, [u8; 3]); 7] {
    [
        ("+x", Vec3::X),
        ("−x", Vec3::NEG_X),
        ("+y", Vec3::Y),
        ("−y", Vec3::NEG_Y),
        ("+z", Vec3::Z),
        ("−z", Vec3::NEG_Z),
        ("still", Vec3::ZERO),
    ]
    .map(|(name, direction)| (name, bytes_from_linear(displacement_colour(direction, 1.0))))
}

/// Colours mixed in linear light by their shares, sRGB bytes; black without shares.
pub fn mixed_colour(shares: impl IntoIterator<Item = ([u8; 3], f32)>) -> [u8; 3] {
    let (sum, total) = shares.into_iter().fold((Vec3::ZERO, 0.0), |(sum, total), (colour, share)| {
        (sum + share * linear_from_bytes(colour), total + share)
    });
    bytes_from_linear(if total > 0.0 { sum / total } else { Vec3::ZERO })
}

fn png_file(width: usize, height: usize, pixels: &[[u8; 4]]) -> Result<Vec<u8>, PictureError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.set_compression(png::Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.as_flattened())?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Surface;
    use crate::picture::painter::CpuPainter;

    /// A square that fills the middle of its panel: opaque there, clear in the corners.
    #[test]
    fn only_the_shape_is_opaque() {
        let positions = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
        let positions = positions.map(Vec3::from).to_vec();
        let mesh = Mesh::new(positions.clone(), vec![[0, 1, 2], [0, 2, 3]], None).unwrap();
        let errors = [0.0, 1.0, 2.0, 3.5];
        let normals = vec![Vec3::Z; 4];
        let panel = Panel {
            caption: String::new(),
            positions: &positions,
            normals: &normals,
            surface: Surface::Heat { errors: &errors },
        };
        let params = PictureParams { panel_width: 60, panel_height: 30, ..PictureParams::default() };
        let cutouts = draw_cutouts(&CpuPainter, &mesh, &[panel], &params).unwrap();
        assert_eq!(cutouts.heat_maximum, Some(4.0));
        let mut reader = png::Decoder::new(std::io::Cursor::new(&cutouts.files[0])).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        let opacity = |x: usize, y: usize| bytes[4 * (y * 60 + x) + 3];
        assert_eq!(opacity(30, 15), 255);
        assert_eq!((opacity(0, 0), opacity(2, 15), opacity(59, 29)), (0, 0, 0));
        assert_eq!(heat_colours(3)[0], [246, 240, 226]);
    }
}
