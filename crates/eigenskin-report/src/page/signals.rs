//! Signals over joints: the parts of the skin, what their signals keep, and what more would buy.

use eigenskin_fit::method::{Fit, ParameterizationReport, PartReport};
use maud::{Markup, html};

use super::Report;
use super::chart::{Dot, DotChart, DotRow, svg};
use super::figures::{counted, figure};
use super::pictures::{HEIGHT, PictureLegend, PicturePanel, PictureRow, Shot, WIDTH};
use super::sections::key;
use crate::picture::{Panel, PictureError, PictureParams, Surface, View, draw_cutouts, mixed_colour};

/// What more or fewer signals and frames would do.
#[derive(Debug, Clone)]
pub struct SignalsSummary {
    /// fits with other limits of signals at a vertex, the smallest first
    pub by_signals: Vec<SignalsTrial>,
    /// fits to fewer frames, the most first
    pub by_frames: Vec<FramesTrial>,
    /// a sentence on why there are no such fits; empty where there are
    pub without_trials: String,
}

/// A fit with another limit of signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalsTrial {
    /// signals at any vertex
    pub signals: usize,
    /// whether this is the limit of the model
    pub is_this_model: bool,
    /// error over that of plain skinning on the frames it learnt from; `None` where skinning is exact
    pub training: Option<f64>,
    /// share of the displacements at rest that is left on frames not seen; `None` with too few to tell
    pub unseen: Option<f64>,
}

/// A fit to every second, fourth … frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FramesTrial {
    /// step from one frame to the next
    pub every: usize,
    /// frames learnt from
    pub frames: usize,
    /// error over that of plain skinning on these frames; `None` where skinning is exact
    pub training: Option<f64>,
    /// the same on frames that no fit of the row has seen
    pub unseen: Option<f64>,
}

/// Hues that also colour-blind people tell apart (Okabe and Ito 2008), without black, which a dark page
/// swallows. Those most alike stand apart, as few parts need all.
const HUES: [[u8; 3]; 7] = [
    [230, 159, 0],
    [86, 180, 233],
    [0, 158, 115],
    [204, 121, 167],
    [0, 114, 178],
    [240, 228, 66],
    [213, 94, 0],
];
/// Skin without signals.
const GREY: [u8; 3] = [150, 150, 150];
/// Components in the chart of energies, whatever is kept.
const LEAST_DOTS: usize = 16;
const MOST_DOTS: usize = 40;
/// Shares of energy below this are rounding.
const NO_ENERGY: f64 = 1e-8;
/// Names shown of a list before the rest is folded away.
const NAMES: usize = 6;

/// What was learnt, part by part.
pub(super) fn section(report: &Report) -> Markup {
    let (Some(learnt), Some(signals)) = (report.parameterization(), &report.signals) else {
        return html! {};
    };
    html! {
        section aria-labelledby="signals" {
            h2 #signals { "What was learnt" }
            p {
                "The skin is cut into parts that blend into each other. Each part’s corrections are mixed from a "
                "few displacement patterns; a signal says how much of one there is in a pose, and follows the "
                "joints that drive the part. “Energy” is the sum of squared displacements. “Unseen” is the "
                "share of the displacements that is left on frames that were left out, a fifth at a time"
                @if let Some(unseen) = learnt.cross_validation {
                    ": " (format!("{unseen:.3}")) " on the whole skin"
                }
                "."
            }
            p.hint { "The table is wide: scroll it sideways." }
            (part_table(learnt))
            (charts(learnt, signals))
        }
    }
}

/// The rest shape from the shot's view and from behind, coloured by part; `None` where the skin is one part.
pub fn partition_pictures(fit: &Fit, shot: Shot) -> Result<Option<PictureRow>, PictureError> {
    let learnt = fit.learnt.parameterization().filter(|learnt| learnt.parts.len() > 1);
    let Some(learnt) = learnt else { return Ok(None) };
    let mesh = fit.model.rig().mesh();
    let palette = part_colours(learnt.parts.len());
    let shares = shares_of_parts(fit, learnt);
    let bare = |shares: &[(usize, f32)]| (1.0 - shares.iter().map(|share| share.1).sum::<f32>()).max(0.0);
    let colours: Vec<[u8; 3]> = shares
        .iter()
        .map(|shares| {
            let parts = shares.iter().map(|&(part, share)| (palette[part], share));
            mixed_colour(parts.chain([(GREY, bare(shares))]))
        })
        .collect();
    let view = shot.view;
    let sides = [("as in the other pictures", view.from_direction), ("from behind", -view.from_direction)];
    let mut panels = Vec::with_capacity(sides.len());
    for (side, from_direction) in sides {
        let panel = Panel {
            caption: String::new(),
            positions: mesh.positions(),
            normals: mesh.normals(),
            surface: Surface::Colours { colours: &colours },
        };
        let params = PictureParams {
            panel_width: WIDTH,
            panel_height: HEIGHT,
            view: View { from_direction, ..view },
            ..PictureParams::default()
        };
        panels.extend(draw_cutouts(shot.painter, mesh, &[panel], &params)?.files.into_iter().map(|png| {
            PicturePanel {
                caption: side.to_string(),
                detail: String::new(),
                alt: format!("the rest shape seen {side}, coloured by part"),
                png,
                width: WIDTH,
                height: HEIGHT,
            }
        }));
    }
    let mut keys: Vec<([u8; 3], String)> =
        palette.into_iter().zip(learnt.parts.iter().map(|part| part.name.clone())).collect();
    if shares.iter().any(|shares| bare(shares) > 0.5) {
        keys.push((GREY, "no signals".to_string()));
    }
    Ok(Some(PictureRow {
        title: "Parts of the skin".to_string(),
        note: "Every part has signals of its own. Where parts overlap their colours mix, as their corrections do."
            .to_string(),
        panels,
        legend: PictureLegend::Parts { keys },
    }))
}

/// Colours for so many parts: hues first, then the same darker and lighter.
pub fn part_colours(count: usize) -> Vec<[u8; 3]> {
    let shade = |index: usize| {
        let hue = HUES[index % HUES.len()];
        match index / HUES.len() % 3 {
            0 => hue,
            1 => mixed_colour([(hue, 0.4), ([0; 3], 0.6)]),
            _ => mixed_colour([(hue, 0.6), ([255; 3], 0.4)]),
        }
    };
    (0..count).map(shade).collect()
}

/// `vertex` → (part, its share of the skin there).
fn shares_of_parts(fit: &Fit, learnt: &ParameterizationReport) -> Vec<Vec<(usize, f32)>> {
    let mut shares = vec![Vec::new(); fit.model.rig().vertex_count()];
    for (index, (part, layer)) in learnt.parts.iter().zip(fit.model.layers()).enumerate() {
        for (&vertex, &share) in layer.support.iter().zip(&part.mask) {
            shares[vertex as usize].push((index, share));
        }
    }
    shares
}

fn part_table(learnt: &ParameterizationReport) -> Markup {
    html! {
        div.scroll role="region" aria-label="Parts of the skin" tabindex="0" {
            table.names.words {
                caption { "Parts of the skin" }
                thead {
                    tr {
                        th scope="col" { "part" }
                        th.words scope="col" { "driven by" }
                        th scope="col" { "vertices" }
                        th scope="col" { "signals" }
                        th scope="col" { "energy kept" }
                        th scope="col" { "unseen" }
                    }
                }
                tbody {
                    @for part in &learnt.parts {
                        tr {
                            th scope="row" { (part.name) }
                            td.words { (listed(&part.drivers)) }
                            td { (part.vertex_count) }
                            td { (part.signal_count) }
                            td { (format!("{:.2} %", 100.0 * part.energy_kept)) }
                            td { (part.cross_validation.map_or("–".to_string(), |error| format!("{error:.3}"))) }
                        }
                    }
                }
            }
        }
    }
}

/// The first names.
fn listed(names: &[String]) -> String {
    let shown = if names.len() > NAMES + 1 { NAMES } else { names.len() };
    let text = names[..shown].join(", ");
    if shown < names.len() { format!("{text} and {} more", names.len() - shown) } else { text }
}

fn charts(learnt: &ParameterizationReport, signals: &SignalsSummary) -> Markup {
    let learnt_and_unseen =
        [("model", false, "frames it learnt from"), ("skinning", true, "frames left out")];
    html! {
        h3 { "Energy by component" }
        p {
            "Dots from the right: what is left of a part’s energy after one component, two, three and so on. "
            "Where they run far to the left, few are enough."
        }
        (key(&[("model", false, "kept"), ("skinning", true, "left out")]))
        div.charts { (svg(&energy_chart(&learnt.parts))) }
        h3 { "More or less of it" }
        @if !signals.without_trials.is_empty() {
            p { (signals.without_trials) }
        } @else {
            p {
                "The same fit with other limits of signals at a vertex, and learnt from fewer frames. An error of 1 "
                "is that of plain skinning."
                @if signals.by_signals.iter().any(|trial| trial.unseen.is_some()) {
                    " For the number of signals, frames are left out a fifth at a time and compared at rest."
                }
                @if !signals.by_frames.is_empty() {
                    " For the number of frames, all fits are measured on the same frames, which none has seen."
                }
            }
            (key(&learnt_and_unseen))
            div.charts {
                (svg(&signals_chart(&signals.by_signals)))
                @if signals.by_frames.is_empty() {
                    p.note { "There are too few frames to learn from fewer." }
                } @else {
                    (svg(&frames_chart(&signals.by_frames)))
                }
            }
        }
    }
}

/// The share of each part's energy that is left after so many components.
fn energy_chart(parts: &[PartReport]) -> DotChart {
    let rows = parts.iter().map(|part| DotRow {
        label: part.name.clone(),
        joined: true,
        dots: energies_left(part)
            .into_iter()
            .enumerate()
            .map(|(index, left)| {
                let kept = index < part.signal_count;
                Dot {
                    value: 100.0 * left,
                    class: if kept { "model" } else { "skinning" },
                    hollow: !kept,
                    name: format!(
                        "{} % left after {}",
                        figure(100.0 * left),
                        counted(index + 1, "component", "components")
                    ),
                }
            })
            .collect(),
    });
    let kept: usize = parts.iter().map(|part| part.signal_count).sum();
    let found: usize = parts.iter().map(|part| part.energies.len()).sum();
    DotChart {
        title: "Energy left after 1, 2, 3 … components".to_string(),
        description: format!("{kept} of {found} components are kept."),
        axis: "share of the energy left in % (logarithmic)".to_string(),
        logarithmic: true,
        without_dots: "one component holds all",
        rows: rows.collect(),
    }
}

/// `component`: the share of energy left after it, as long as there is any.
fn energies_left(part: &PartReport) -> Vec<f64> {
    let mut energies = part.energies.clone();
    // Coordinates with components of their own stand one after the other.
    energies.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = energies.iter().sum();
    // From the end, so that what is left is no difference of large numbers.
    let mut left = vec![0.0; energies.len()];
    for index in (1..energies.len()).rev() {
        left[index - 1] = left[index] + energies[index];
    }
    let shown = (part.signal_count + 4).clamp(LEAST_DOTS, MOST_DOTS);
    left.into_iter().take(shown).map(|left| left / total).take_while(|&left| left > NO_ENERGY).collect()
}

fn signals_chart(trials: &[SignalsTrial]) -> DotChart {
    let rows = trials.iter().map(|trial| DotRow {
        label: if trial.is_this_model {
            format!("{} (this model)", trial.signals)
        } else {
            trial.signals.to_string()
        },
        joined: true,
        dots: trial_dots(trial.training, trial.unseen),
    });
    let best = least(trials.iter().map(|trial| (trial.signals, trial.unseen)));
    DotChart {
        title: "Error by number of signals".to_string(),
        description: best.map_or(String::new(), |(signals, error)| {
            format!(
                "Smallest on frames left out: {} with {}.",
                figure(error),
                counted(signals, "signal", "signals")
            )
        }),
        axis: "relative error".to_string(),
        logarithmic: false,
        without_dots: "skinning is exact",
        rows: rows.collect(),
    }
}

fn frames_chart(trials: &[FramesTrial]) -> DotChart {
    let nth = |every: usize| if every == 2 { "2nd".to_string() } else { format!("{every}th") };
    let rows = trials.iter().map(|trial| DotRow {
        label: format!("{} (every {})", trial.frames, nth(trial.every)),
        joined: true,
        dots: trial_dots(trial.training, trial.unseen),
    });
    let best = least(trials.iter().map(|trial| (trial.frames, trial.unseen)));
    DotChart {
        title: "Error by number of frames".to_string(),
        description: best.map_or(String::new(), |(frames, error)| {
            format!("Smallest on frames left out: {} with {frames} frames.", figure(error))
        }),
        axis: "relative error".to_string(),
        logarithmic: false,
        without_dots: "skinning is exact",
        rows: rows.collect(),
    }
}

fn trial_dots(training: Option<f64>, unseen: Option<f64>) -> Vec<Dot> {
    let dot = |value: f64, class, hollow, who: &str| Dot {
        value,
        class,
        hollow,
        name: format!("{} on {who}", figure(value)),
    };
    let training = training.map(|error| dot(error, "model", false, "frames it learnt from"));
    training.into_iter().chain(unseen.map(|error| dot(error, "skinning", true, "frames left out"))).collect()
}

/// The trial with the smallest error; the first of equals.
fn least(trials: impl Iterator<Item = (usize, Option<f64>)>) -> Option<(usize, f64)> {
    trials.filter_map(|(count, error)| Some((count, error?))).min_by(|a, b| a.1.total_cmp(&b.1))
}
