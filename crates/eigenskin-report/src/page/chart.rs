//! Charts of named rows with dots along one axis, as SVG.

use std::collections::BTreeSet;

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
    /// what a row without dots says
    pub without_dots: &'static str,
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
const LEFT: f64 = 172.0;
const RIGHT: f64 = WIDTH - 14.0;
const ROW: f64 = 19.0;
const TOP: f64 = 8.0;
/// axis numbers and axis label
const BOTTOM: f64 = 42.0;
/// letters that a label has room for
const LABEL_LETTERS: usize = 22;

/// The chart. Rows without dots keep their label.
pub(super) fn svg(chart: &DotChart) -> Markup {
    let axis = Axis::new(chart);
    let floor = TOP + ROW * chart.rows.len() as f64;
    let height = floor + BOTTOM;
    let labels = short_labels(&chart.rows);
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
                @for (index, (row, label)) in chart.rows.iter().zip(&labels).enumerate() {
                    @let y = TOP + ROW * (index as f64 + 0.5);
                    (row_svg(row, label, y, &axis))
                    @if row.dots.is_empty() {
                        text.tick x=(LEFT + 8.0) y=(number(y + 4.0)) { (chart.without_dots) }
                    }
                }
            }
        }
    }
}

fn row_svg(row: &DotRow, label: &str, y: f64, axis: &Axis) -> Markup {
    let places: Vec<f64> = row.dots.iter().map(|dot| axis.x(dot.value)).collect();
    let ends = (row.joined && places.len() > 1)
        .then(|| (places.iter().copied().fold(WIDTH, f64::min), places.iter().copied().fold(0.0, f64::max)));
    html! {
        text.label x=(LEFT - 8.0) y=(number(y + 4.0)) text-anchor="end" {
            (label)
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

/// The next of 1, 2, 2.5, 5, 10 … that is not smaller.
fn round_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * decade);
    steps.into_iter().find(|round| *round >= step * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

pub(super) fn tick_label(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = figure(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Labels that fit. Where names are too long, the words in their middle that most of them have in
/// common ("finger", "phalanx") become an ellipsis, as long as all labels still differ.
fn short_labels(rows: &[DotRow]) -> Vec<String> {
    let names: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    let distinct = |labels: &[String]| labels.iter().collect::<BTreeSet<_>>().len();
    let too_long = |labels: &[String]| labels.iter().any(|label| label.chars().count() > LABEL_LETTERS);
    let mut labels: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
    let expected = distinct(&labels);
    let mut left_out: Vec<&str> = Vec::new();
    for word in common_words(&names) {
        if !too_long(&labels) {
            break;
        }
        left_out.push(word);
        let shorter: Vec<String> = names.iter().map(|name| without_words(name, &left_out)).collect();
        if distinct(&shorter) == expected {
            labels = shorter;
        } else {
            left_out.pop();
        }
    }
    labels.iter().map(|label| shortened(label)).collect()
}

const BETWEEN_WORDS: [char; 6] = ['-', '_', ' ', '.', ':', '|'];

/// Words that stand in the middle of at least two names, the most common first.
fn common_words<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        let words: Vec<&str> = name.split(BETWEEN_WORDS).collect();
        for &word in words.iter().take(words.len() - 1).skip(1).filter(|word| !word.is_empty()) {
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
    }
    counts.retain(|&(_, count)| count > 1);
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    counts.into_iter().map(|(word, _)| word).collect()
}

/// The name with some words of its middle, and what stands around them, as an ellipsis.
fn without_words(name: &str, left_out: &[&str]) -> String {
    let parts: Vec<&str> = name.split_inclusive(BETWEEN_WORDS).collect();
    let mut label = String::new();
    for (place, part) in parts.iter().enumerate() {
        let word = part.trim_end_matches(BETWEEN_WORDS);
        if place > 0 && place + 1 < parts.len() && left_out.contains(&word) {
            label.truncate(label.trim_end_matches(BETWEEN_WORDS).len());
            if !label.ends_with('…') {
                label.push('…');
            }
        } else {
            label.push_str(part);
        }
    }
    label
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
            without_dots: "",
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
        assert_eq!(shortened("a name that is far too long"), "a name th…far too long");
        assert_eq!(tick_label(2000.0), "2000");
        assert_eq!(tick_label(0.5), "0.5");
    }

    #[test]
    fn labels_leave_out_what_names_share() {
        let labels = |names: &[&str]| {
            let row = |name: &&str| DotRow { label: (*name).to_string(), joined: false, dots: vec![] };
            short_labels(&names.iter().map(row).collect::<Vec<_>>())
        };
        let fingers = [
            "thumb-metacarpal",
            "middle-finger-phalanx-proximal",
            "middle-finger-phalanx-intermediate",
            "index-finger-phalanx-intermediate",
        ];
        assert_eq!(
            labels(&fingers),
            ["thumb-metacarpal", "middle…proximal", "middle…intermediate", "index…intermediate"]
        );
        assert_eq!(labels(&["a-b-c", "a-d-c"]), ["a-b-c", "a-d-c"], "short ones stay");
        // Left and right would become one.
        let sides = labels(&["shoulder-left-with-armour", "shoulder-right-with-armour", "x-left-y"]);
        assert_eq!(sides.iter().collect::<BTreeSet<_>>().len(), 3, "{sides:?}");
        assert!(sides.iter().all(|label| label.chars().count() <= LABEL_LETTERS), "{sides:?}");
    }
}
