//! Where panels, captions and the legend stand.

use super::canvas::Canvas;
use super::legend::{Legend, LegendPlace};
use super::text::{Direction, Lettering};
use super::{Panel, PictureParams};

/// Where everything stands, in pixels.
pub(super) struct Layout {
    pub width: usize,
    pub height: usize,
    columns: usize,
    rows: usize,
    margin: usize,
    gap: usize,
    /// from the top of the first row to the bottom of the last, without its captions
    panels_height: usize,
    /// height that the captions of a row take, the space above them included
    caption_height: usize,
    /// `panel × line`; the flag says whether the line is a main one
    captions: Vec<Vec<(String, bool)>>,
    large: Lettering,
    pub small: Lettering,
}

impl Layout {
    pub fn new(panels: &[Panel], legend: Option<&Legend>, params: &PictureParams) -> Self {
        let large = Lettering::new(params.text_size);
        let small = Lettering::new(0.85 * params.text_size);
        let captions: Vec<Vec<(String, bool)>> = panels
            .iter()
            .map(|panel| caption_lines(&panel.caption, &large, &small, params.panel_width as f32))
            .collect();
        let lines = captions.iter().map(Vec::len).max().unwrap_or(0);
        let line_height = large.line_height as usize;
        let caption_height = if lines == 0 { 0 } else { lines * line_height + line_height / 2 };

        let columns = params.columns.clamp(1, panels.len());
        let rows = panels.len().div_ceil(columns);
        let margin = (1.4 * params.text_size).round() as usize;
        let gap = (1.2 * params.text_size).round() as usize;
        // What the legend stands beside: all rows, captions of the last one left out.
        let panels_height = rows * params.panel_height + (rows - 1) * (caption_height + gap);
        let legend_width = legend.map_or(0, |legend| 2 * gap + legend.width(&small, panels_height));
        Self {
            width: 2 * margin + columns * params.panel_width + (columns - 1) * gap + legend_width,
            height: 2 * margin + panels_height + caption_height,
            columns,
            rows,
            margin,
            gap,
            panels_height,
            caption_height,
            captions,
            large,
            small,
        }
    }

    /// Left and top of a panel. A last row that is not full is centred.
    pub fn corner(&self, index: usize, params: &PictureParams) -> (usize, usize) {
        let (row, column) = (index / self.columns, index % self.columns);
        let in_row = self.columns.min(self.captions.len() - row * self.columns);
        let pitch = params.panel_width + self.gap;
        let indent = (self.columns - in_row) * pitch / 2;
        let top = self.margin + row * (params.panel_height + self.caption_height + self.gap);
        (self.margin + indent + column * pitch, top)
    }

    pub fn draw_caption(&self, canvas: &mut Canvas, index: usize, params: &PictureParams) {
        let (left, top) = self.corner(index, params);
        let middle = left as f32 + 0.5 * params.panel_width as f32;
        let line_height = self.large.line_height;
        let mut baseline = (top + params.panel_height) as f32 + 1.25 * line_height;
        for (line, main) in &self.captions[index] {
            let (letters, ink) = if *main {
                (&self.large, params.background.ink())
            } else {
                (&self.small, params.background.pale_ink())
            };
            let start = middle - 0.5 * letters.width(line);
            letters.draw(canvas, line, start, baseline, ink, Direction::Across);
            baseline += line_height;
        }
    }

    pub fn legend_place(&self, params: &PictureParams) -> LegendPlace {
        let panels_right = self.margin + self.columns * params.panel_width + (self.columns - 1) * self.gap;
        let share = if self.rows == 1 { 0.8 } else { 0.6 };
        let height = ((share * self.panels_height as f32) as usize).clamp(1, self.panels_height);
        LegendPlace {
            left: panels_right + 2 * self.gap,
            top: self.margin + (self.panels_height - height) / 2,
            room: self.panels_height,
            height,
            ink: params.background.ink(),
        }
    }
}

/// The lines of a caption, broken to fit; the flag marks those of its first paragraph.
fn caption_lines(caption: &str, large: &Lettering, small: &Lettering, room: f32) -> Vec<(String, bool)> {
    let paragraphs = caption.lines().enumerate();
    paragraphs
        .flat_map(|(index, paragraph)| {
            let letters = if index == 0 { large } else { small };
            letters.wrap(paragraph, room).into_iter().map(move |line| (line, index == 0))
        })
        .collect()
}
