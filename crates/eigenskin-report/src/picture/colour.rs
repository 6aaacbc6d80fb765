//! Colours: the sRGB curve, the heat map and the displacement map.
//!
//! Light adds up in linear light, so shading and blending of surfaces work there; bytes are sRGB.

use std::sync::LazyLock;

use eigenskin_core::glam::Vec3;

/// The heat map from no error to the largest, in sRGB bytes: ivory, apricot, coral, wine, night.
/// Every step is darker than the one before, so the order survives grey printing, and no error
/// looks like plain clay.
const HEAT_STOPS: [[u8; 3]; 7] = [
    [246, 240, 226],
    [251, 217, 158],
    [248, 172, 96],
    [234, 112, 76],
    [196, 54, 84],
    [132, 24, 92],
    [58, 12, 74],
];

/// Entries of the tabulated heat map: fine enough that no step is visible.
const HEAT_ENTRIES: usize = 512;

/// The heat map, tabulated in linear light, in steps that look equal: the path through the stops is
/// walked at constant speed in Oklab.
static HEAT_TABLE: LazyLock<Vec<Vec3>> = LazyLock::new(|| {
    let stops = HEAT_STOPS.map(|stop| oklab_from_linear(linear_from_bytes(stop)));
    let lengths: Vec<f32> = stops.windows(2).map(|pair| pair[0].distance(pair[1])).collect();
    let whole: f32 = lengths.iter().sum();
    (0..HEAT_ENTRIES)
        .map(|entry| {
            let mut along = whole * entry as f32 / (HEAT_ENTRIES - 1) as f32;
            let mut leg = 0;
            while leg + 1 < lengths.len() && along > lengths[leg] {
                along -= lengths[leg];
                leg += 1;
            }
            let mixed = stops[leg].lerp(stops[leg + 1], (along / lengths[leg]).min(1.0));
            linear_from_oklab(mixed).clamp(Vec3::ZERO, Vec3::ONE)
        })
        .collect()
});

/// The heat colour of a `fraction` of the largest error, in linear light. Beyond 0…1 it stays at
/// the end.
pub(super) fn heat_colour(fraction: f32) -> Vec3 {
    let along = fraction.clamp(0.0, 1.0) * (HEAT_ENTRIES - 1) as f32;
    let first = (along as usize).min(HEAT_ENTRIES - 2);
    HEAT_TABLE[first].lerp(HEAT_TABLE[first + 1], along - first as f32)
}

/// A displacement as a colour in linear light: x, y and z are red, green and blue around a middle
/// grey (EigenSkin, Figure 5). A component of length `scale` is fully bright or fully dark.
pub(super) fn displacement_colour(displacement: Vec3, scale: f32) -> Vec3 {
    let relative = if scale > 0.0 { displacement / scale } else { Vec3::ZERO };
    let srgb = (Vec3::splat(0.5) + 0.5 * relative).clamp(Vec3::ZERO, Vec3::ONE);
    Vec3::from(srgb.to_array().map(linear_from_srgb))
}

/// An sRGB colour in bytes as linear light.
pub(super) fn linear_from_bytes(bytes: [u8; 3]) -> Vec3 {
    Vec3::from(bytes.map(|byte| linear_from_srgb(f32::from(byte) / 255.0)))
}

/// Linear light as sRGB bytes; too bright is white.
pub(super) fn bytes_from_linear(linear: Vec3) -> [u8; 3] {
    linear.to_array().map(|x| (srgb_from_linear(x.clamp(0.0, 1.0)) * 255.0).round() as u8)
}

fn linear_from_srgb(x: f32) -> f32 {
    if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

fn srgb_from_linear(x: f32) -> f32 {
    if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
}

/// Oklab (Ottosson 2020): equal steps look about equal. Its first coordinate is the lightness.
fn oklab_from_linear(rgb: Vec3) -> Vec3 {
    let cones = Vec3::new(
        rgb.dot(Vec3::new(0.412_221_46, 0.536_332_55, 0.051_445_995)),
        rgb.dot(Vec3::new(0.211_903_5, 0.680_699_5, 0.107_396_96)),
        rgb.dot(Vec3::new(0.088_302_46, 0.281_718_85, 0.629_978_7)),
    );
    let roots = Vec3::from(cones.to_array().map(f32::cbrt));
    Vec3::new(
        roots.dot(Vec3::new(0.210_454_26, 0.793_617_8, -0.004_072_047)),
        roots.dot(Vec3::new(1.977_998_5, -2.428_592_2, 0.450_593_7)),
        roots.dot(Vec3::new(0.025_904_037, 0.782_771_77, -0.808_675_77)),
    )
}

fn linear_from_oklab(lab: Vec3) -> Vec3 {
    let roots = Vec3::new(
        lab.dot(Vec3::new(1.0, 0.396_337_78, 0.215_803_76)),
        lab.dot(Vec3::new(1.0, -0.105_561_346, -0.063_854_17)),
        lab.dot(Vec3::new(1.0, -0.089_484_18, -1.291_485_5)),
    );
    let cones = roots * roots * roots;
    Vec3::new(
        cones.dot(Vec3::new(4.076_741_7, -3.307_711_6, 0.230_969_94)),
        cones.dot(Vec3::new(-1.268_438, 2.609_757_4, -0.341_319_4)),
        cones.dot(Vec3::new(-0.004_196_086_3, -0.703_418_6, 1.707_614_7)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_linear_light() {
        for byte in 0..=255 {
            let grey = [byte, 255 - byte, byte / 2];
            assert_eq!(bytes_from_linear(linear_from_bytes(grey)), grey);
        }
        // The reference point of the curve: middle grey is far below half the light.
        assert!((linear_from_srgb(0.5) - 0.214_041).abs() < 1e-5);
    }

    #[test]
    fn oklab_agrees_with_its_published_white_and_red() {
        let white = oklab_from_linear(Vec3::ONE);
        assert!((white - Vec3::new(1.0, 0.0, 0.0)).length() < 1e-4, "{white}");
        let red = oklab_from_linear(Vec3::X);
        assert!((red - Vec3::new(0.627_955, 0.224_863, 0.125_846)).length() < 1e-4, "{red}");
        assert!((linear_from_oklab(red) - Vec3::X).length() < 1e-4);
    }

    /// Larger errors must always look darker, by steps that the eye finds about equal.
    #[test]
    fn heat_is_perceptually_ordered() {
        let colours: Vec<Vec3> =
            (0..=20).map(|step| oklab_from_linear(heat_colour(step as f32 / 20.0))).collect();
        let steps: Vec<f32> = colours.windows(2).map(|pair| (pair[1] - pair[0]).length()).collect();
        for pair in colours.windows(2) {
            assert!(pair[1].x < pair[0].x - 0.01, "lightness {} then {}", pair[0].x, pair[1].x);
        }
        let (least, most) = steps.iter().fold((f32::MAX, 0f32), |(a, b), &s| (a.min(s), b.max(s)));
        assert!(most < 1.15 * least, "steps from {least} to {most}");
        assert_eq!(heat_colour(7.0), heat_colour(1.0));
        assert_eq!(heat_colour(-1.0), heat_colour(0.0));
    }

    #[test]
    fn displacements_turn_grey_to_red_green_and_blue() {
        let colour = |x, y, z| bytes_from_linear(displacement_colour(Vec3::new(x, y, z), 2.0));
        assert_eq!(colour(0.0, 0.0, 0.0), [128, 128, 128]);
        assert_eq!(colour(2.0, 0.0, -2.0), [255, 128, 0]);
        assert_eq!(colour(0.0, 1.0, 9.0), [128, 191, 255]);
    }
}
