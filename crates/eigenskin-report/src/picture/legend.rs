//! What colours mean: beside heat maps a bar with ticks, beside displacements a swatch for each direction.

use super::canvas::Canvas;
use super::colour::{bytes_from_linear, heat_colour};
use super::cutouts::direction_keys;
use super::text::{Direction, Lettering};

/// A legend that is ready to be drawn.
pub(super) enum Legend {
    Heat(HeatLegend),
    Directions,
}

/// The scale of heat maps.
pub(super) struct HeatLegend {
    /// error at the top of the bar
    pub maximum: f32,
    /// some errors are larger than `maximum`
    pub exceeded: bool,
    /// what is measured, and in which unit
    pub label: String,
}

/// Where the bar stands and what it is drawn with.
pub(super) struct LegendPlace {
    pub left: usize,
    pub top: usize,
    /// pixels of the bar
    pub height: usize,
    /// pixels that the label may take, centred on the bar
    pub room: usize,
    pub ink: [u8; 3],
}

impl Legend {
    /// Error at the top of the heat scale.
    pub fn heat_maximum(&self) -> Option<f32> {
        match self {
            Self::Heat(heat) => Some(heat.maximum),
            Self::Directions => None,
        }
    }

    /// Pixels that it takes across; labels break where they are longer than `room` pixels.
    pub fn width(&self, letters: &Lettering, room: usize) -> usize {
        match self {
            Self::Heat(heat) => heat.width(letters, room),
            Self::Directions => directions_width(letters),
        }
    }

    /// Draws it.
    pub fn draw(&self, canvas: &mut Canvas, letters: &Lettering, place: &LegendPlace) {
        match self {
            Self::Heat(heat) => heat.draw(canvas, letters, place),
            Self::Directions => draw_directions(canvas, letters, place),
        }
    }
}

/// From swatch to swatch, in lines, where there is room.
const SWATCH_PITCH: f32 = 1.25;

fn directions_width(letters: &Lettering) -> usize {
    let sizes = Sizes::of(letters);
    let widest = direction_keys().iter().map(|(label, _)| letters.width(label)).fold(0.0, f32::max);
    (sizes.bar as f32 + 2.0 * sizes.gap + widest).ceil() as usize
}

/// Swatches below each other around the middle of the place.
fn draw_directions(canvas: &mut Canvas, letters: &Lettering, place: &LegendPlace) {
    let (sizes, keys) = (Sizes::of(letters), direction_keys());
    let pitch = (SWATCH_PITCH * letters.line_height).min(place.room as f32 / keys.len() as f32);
    let middle = (place.top + place.height / 2) as f32;
    let first = (middle - 0.5 * pitch * keys.len() as f32).max(0.0);
    for (index, (label, colour)) in keys.into_iter().enumerate() {
        let top = first + index as f32 * pitch;
        let middle = top + 0.5 * pitch;
        let swatch = (middle - 0.5 * sizes.bar as f32).round() as i64;
        for (row, column) in (0..sizes.bar).flat_map(|row| (0..sizes.bar).map(move |column| (row, column))) {
            canvas.lay((place.left + column) as i64, swatch + row as i64, colour, 1.0);
        }
        let left = (place.left + sizes.bar) as f32 + 2.0 * sizes.gap;
        let baseline = middle + 0.5 * letters.capital_height();
        letters.draw(canvas, label, left, baseline, place.ink, Direction::Across);
    }
}

impl HeatLegend {
    /// Pixels that bar, ticks and label take across. The label breaks where it is longer than
    /// `room` pixels.
    pub fn width(&self, letters: &Lettering, room: usize) -> usize {
        let sizes = Sizes::of(letters);
        let lines = letters.wrap(&self.label, room as f32).len();
        let label = if lines == 0 { 0.0 } else { sizes.gap + lines as f32 * letters.line_height };
        (sizes.bar as f32 + sizes.tick + sizes.gap + self.widest_tick(letters) + label).ceil() as usize
    }

    /// Draws the bar with its ticks and label.
    pub fn draw(&self, canvas: &mut Canvas, letters: &Lettering, place: &LegendPlace) {
        let sizes = Sizes::of(letters);
        self.draw_bar(canvas, &sizes, place);

        let bar_right = place.left + sizes.bar;
        let label_left = bar_right as f32 + sizes.tick + sizes.gap;
        for tick in ticks(self.maximum) {
            let up = tick.value / self.maximum * (place.height - 1) as f32;
            let y = (place.top + place.height - 1) as f32 - up;
            for x in 0..sizes.tick as i64 {
                canvas.lay(bar_right as i64 + x, y.round() as i64, place.ink, 0.8);
            }
            let baseline = y + 0.5 * letters.capital_height();
            letters.draw(canvas, &tick.label, label_left, baseline, place.ink, Direction::Across);
        }

        let mut baseline = label_left + self.widest_tick(letters) + sizes.gap + letters.capital_height();
        for line in letters.wrap(&self.label, place.room as f32) {
            let start = (place.top + place.height / 2) as f32 + 0.5 * letters.width(&line);
            letters.draw(canvas, &line, baseline, start, place.ink, Direction::Upward);
            baseline += letters.line_height;
        }
    }

    fn draw_bar(&self, canvas: &mut Canvas, sizes: &Sizes, place: &LegendPlace) {
        for row in 0..place.height {
            let fraction = 1.0 - row as f32 / (place.height - 1).max(1) as f32;
            let colour = bytes_from_linear(heat_colour(fraction));
            for column in 0..sizes.bar {
                let border = row == 0 || row + 1 == place.height || column == 0 || column + 1 == sizes.bar;
                let (x, y) = ((place.left + column) as i64, (place.top + row) as i64);
                canvas.lay(x, y, colour, 1.0);
                canvas.lay(x, y, place.ink, if border { 0.25 } else { 0.0 });
            }
        }
        if self.exceeded {
            // An arrow head on top, as charts mark "and more".
            let half = 0.5 * sizes.bar as f32;
            let colour = bytes_from_linear(heat_colour(1.0));
            for rise in 0..half as usize {
                for column in 0..sizes.bar {
                    let from_axis = (column as f32 + 0.5 - half).abs();
                    let cover = half - rise as f32 - from_axis;
                    let y = place.top as i64 - 1 - rise as i64;
                    let x = (place.left + column) as i64;
                    canvas.lay(x, y, colour, cover);
                    canvas.lay(x, y, place.ink, if cover > 0.0 && cover <= 1.0 { 0.25 } else { 0.0 });
                }
            }
        }
    }

    fn widest_tick(&self, letters: &Lettering) -> f32 {
        ticks(self.maximum).iter().map(|tick| letters.width(&tick.label)).fold(0.0, f32::max)
    }
}

/// Lengths that go with the size of the letters, in pixels.
struct Sizes {
    bar: usize,
    tick: f32,
    gap: f32,
}

impl Sizes {
    fn of(letters: &Lettering) -> Self {
        let unit = letters.line_height;
        Self { bar: (0.75 * unit).round() as usize, tick: (0.22 * unit).round(), gap: 0.3 * unit }
    }
}

struct Tick {
    value: f32,
    label: String,
}

/// Round values from zero to `maximum`, seven at most.
fn ticks(maximum: f32) -> Vec<Tick> {
    let step = round_up(f64::from(maximum) / 6.0, &[1.0, 2.0, 5.0]);
    let count = (f64::from(maximum) / step + 1e-6) as usize;
    // Digits after the point that the step itself needs.
    let digits = (-step.log10().floor()).max(0.0) as usize;
    (0..=count)
        .map(|index| {
            let value = index as f64 * step;
            let plain = index == 0 || (digits <= 4 && value < 1e6);
            let label = match (index, plain) {
                (0, _) => "0".to_owned(),
                (_, true) => format!("{value:.digits$}"),
                (_, false) => format!("{value:.1e}"),
            };
            Tick { value: value as f32, label }
        })
        .collect()
}

/// A round end for a scale that holds `largest`. Zero gives one.
pub(super) fn round_maximum(largest: f32) -> f32 {
    round_up(f64::from(largest), &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]) as f32
}

/// The smallest of `leads` times a power of ten that is not below `value`. Zero gives one.
fn round_up(value: f64, leads: &[f64]) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let lead = leads.iter().copied().find(|lead| value <= lead * power * (1.0 + 1e-6)).unwrap_or(10.0);
    lead * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(maximum: f32) -> Vec<String> {
        ticks(maximum).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_end_at_the_maximum() {
        assert_eq!(labels(10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(0.05), ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]);
        assert_eq!(labels(13.0), ["0", "5", "10"]);
        assert_eq!(labels(12.0), ["0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!(labels(2e-7), ["0", "5.0e-8", "1.0e-7", "1.5e-7", "2.0e-7"]);
    }

    #[test]
    fn maxima_are_rounded_up() {
        let cases =
            [(0.0, 1.0), (0.7, 0.8), (1.0, 1.0), (1.3, 1.5), (11.8, 12.0), (0.031, 0.04), (9.1, 10.0)];
        for (largest, rounded) in cases {
            assert!((round_maximum(largest) - rounded).abs() < 1e-6 * rounded, "{largest}");
        }
    }
}
