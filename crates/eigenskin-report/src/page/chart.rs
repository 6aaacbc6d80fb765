//! Charts of named rows with dots along one axis, as SVG.

use maud::{Markup, html};

use super::figures::figure;

/// Rows of dots.
pub(super) struct DotChart {
    /// what is shown
    pub title: String,
    /// the same in a sentence, for those who do not see it
    pub description: String,
    /// what the axis measures, with its unit
    pub axis: String,
    /// whether equal steps are equal factors
    pub logarithmic: bool,
    /// from the top
    pub rows: Vec<DotRow>,
}

/// One row.
pub(super) struct DotRow {
    pub label: String,
    /// whether a line joins the dots
    pub joined: bool,
    pub dots: Vec<Dot>,
}

/// A value and its look: a class of the style sheet, and what it is called.
pub(super) struct Dot {
    pub value: f64,
    pub class: &'static str,
    /// hollow dots stay legible in print and to those who cannot tell the colours
    pub hollow: bool,
    pub name: String,
}

// All in units of the drawing, which is as wide as a phone's screen has points.
const WIDTH: f64 = 420.0;
const LEFT: f64 = 148.0;
const RIGHT: f64 = WIDTH - 14.0;
const ROW: f64 = 19.0;
const TOP: f64 = 8.0;
/// axis numbers and axis label
const BOTTOM: f64 = 42.0;
/// letters that a label has room for
const LABEL_LETTERS: usize = 21;

/// The chart. Rows without dots keep their label.
pub(super) fn svg(chart: &DotChart) -> Markup {
    let axis = Axis::new(chart);
    let floor = TOP + ROW * chart.rows.len() as f64;
    let height = floor + BOTTOM;
    html! {
        figure.chart {
            figcaption { (chart.title) }
            svg viewBox={ "0 0 " (WIDTH) " " (number(height)) } role="img"
                aria-label={ (chart.title) ". " (chart.description) } {
                @for tick in &axis.ticks {
                    @let x = number(axis.x(*tick));
                    line.grid x1=(x) x2=(x) y1=(TOP) y2=(number(floor)) {}
                    text.tick x=(x) y=(number(floor + 15.0)) text-anchor="middle" { (tick_label(*tick)) }
                }
                line.axis x1=(LEFT) x2=(RIGHT) y1=(number(floor)) y2=(number(floor)) {}
                text.axis-label x=(number(0.5 * (LEFT + RIGHT))) y=(number(floor + 34.0)) text-anchor="middle" {
                    (chart.axis)
                }
                @for (index, row) in chart.rows.iter().enumerate() {
                    (row_svg(row, TOP + ROW * (index as f64 + 0.5), &axis))
                }
            }
        }
    }
}

fn row_svg(row: &DotRow, y: f64, axis: &Axis) -> Markup {
    let places: Vec<f64> = row.dots.iter().map(|dot| axis.x(dot.value)).collect();
    let ends = (row.joined && places.len() > 1)
        .then(|| (places.iter().copied().fold(WIDTH, f64::min), places.iter().copied().fold(0.0, f64::max)));
    html! {
        text.label x=(LEFT - 8.0) y=(number(y + 4.0)) text-anchor="end" {
            (shortened(&row.label))
            title { (row.label) }
        }
        @if let Some((first, last)) = ends {
            line.join x1=(number(first)) x2=(number(last)) y1=(number(y)) y2=(number(y)) {}
        }
        @for (dot, x) in row.dots.iter().zip(&places) {
            circle class={ (dot.class) @if dot.hollow { " hollow" } } cx=(number(*x)) cy=(number(y)) r="4" {
                title { (row.label) ": " (dot.name) }
            }
        }
    }
}

struct Axis {
    least: f64,
    most: f64,
    logarithmic: bool,
    ticks: Vec<f64>,
}

impl Axis {
    fn new(chart: &DotChart) -> Self {
        let values = chart.rows.iter().flat_map(|row| &row.dots).map(|dot| dot.value);
        let (least, most) = values
            .filter(|value| value.is_finite() && (!chart.logarithmic || *value > 0.0))
            .fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
        if most <= 0.0 {
            return Self { least: 0.0, most: 1.0, logarithmic: false, ticks: vec![0.0, 1.0] };
        }
        if chart.logarithmic {
            // Twelve decades are enough for anything that is not rounding.
            let last = most.log10().ceil() as i32;
            let first = (least.log10().floor() as i32).clamp(last - 12, last - 1);
            let every = (last - first).div_euclid(6) + 1;
            let ticks = (first..=last).step_by(every as usize).map(|e| 10f64.powi(e)).collect();
            return Self { least: 10f64.powi(first), most: 10f64.powi(last), logarithmic: true, ticks };
        }
        let step = round_step(most / 4.0);
        let count = (most / step - 1e-9).ceil() as usize;
        let ticks = (0..=count).map(|tick| tick as f64 * step).collect();
        Self { least: least.min(0.0), most: count as f64 * step, logarithmic: false, ticks }
    }

    fn x(&self, value: f64) -> f64 {
        let along = if self.logarithmic {
            (value.max(self.least) / self.least).log10() / (self.most / self.least).log10()
        } else {
            (value - self.least) / (self.most - self.least)
        };
        LEFT + along.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// The next of 1, 2, 5, 10 … that is not smaller.
fn round_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    steps.into_iter().find(|round| *round >= step * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

pub(super) fn tick_label(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = figure(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL_LETTERS {
        return label.to_string();
    }
    // Names of joints and poses often differ only at their ends.
    let letters: Vec<char> = label.chars().collect();
    let front = LABEL_LETTERS / 2 - 2;
    let back = &letters[letters.len() - (LABEL_LETTERS - front - 1)..];
    letters[..front].iter().chain(&['…']).chain(back).collect()
}

/// Coordinates need no more than a tenth of a point.
fn number(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64], logarithmic: bool) -> DotChart {
        let dots = values
            .iter()
            .map(|&value| Dot { value, class: "model", hollow: false, name: String::new() })
            .collect();
        DotChart {
            title: "a".into(),
            description: "b".into(),
            axis: "c".into(),
            logarithmic,
            rows: vec![DotRow { label: "d".into(), joined: true, dots }],
        }
    }

    #[test]
    fn axes_hold_all_values_between_round_numbers() {
        let linear = Axis::new(&chart(&[0.3, 7.2], false));
        assert_eq!(linear.ticks, [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert!((linear.x(4.0) - 0.5 * (LEFT + RIGHT)).abs() < 1e-9);
        let logarithmic = Axis::new(&chart(&[0.02, 30.0], true));
        assert_eq!(logarithmic.ticks, [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert!((logarithmic.x(1.0) - 0.5 * (LEFT + RIGHT)).abs() < 1e-9);
    }

    #[test]
    fn nothing_and_oddities_still_draw() {
        for values in [&[][..], &[0.0], &[f64::NAN], &[f64::INFINITY, 1.0], &[1e-300]] {
            for logarithmic in [false, true] {
                let text = svg(&chart(values, logarithmic)).into_string();
                assert!(text.contains("</svg>") && !text.contains("inf"), "{values:?}: {text}");
            }
        }
        assert_eq!(shortened("a name that is far too long"), "a name t…far too long");
        assert_eq!(tick_label(2000.0), "2000");
        assert_eq!(tick_label(0.5), "0.5");
    }
}
