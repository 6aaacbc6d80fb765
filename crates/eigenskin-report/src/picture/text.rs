//! Words in the picture, in DejaVu Sans.

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

use super::canvas::Canvas;

/// Draws and measures text of one size.
pub(super) struct Lettering {
    font: FontRef<'static>,
    scale: PxScale,
    /// pixels from one baseline to the next
    pub line_height: f32,
}

/// Which way a line of text runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// from left to right
    Across,
    /// from bottom to top, as beside the axis of a chart
    Upward,
}

impl Lettering {
    /// Letters of `em` pixels.
    pub fn new(em: f32) -> Self {
        let font = FontRef::try_from_slice(dejavu::sans::regular()).expect("the built-in font is sound");
        let em_height = font.units_per_em().unwrap_or(2048.0);
        let scale = PxScale::from(em * font.height_unscaled() / em_height);
        Self { font, scale, line_height: (1.35 * em).round() }
    }

    /// Pixels that `text` takes on its line.
    pub fn width(&self, text: &str) -> f32 {
        self.layout(text).1
    }

    /// Height of a capital letter in pixels.
    pub fn capital_height(&self) -> f32 {
        let capital = self.font.glyph_id('H').with_scale(self.scale);
        self.font.outline_glyph(capital).map_or(0.0, |outline| outline.px_bounds().height())
    }

    /// Breaks `text` at spaces so that no line is wider than `room`, where its words allow it.
    pub fn wrap(&self, text: &str, room: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match (lines.last_mut(), longer) {
                (Some(line), Some(longer)) if self.width(&longer) <= room => *line = longer,
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// Draws `text` with its baseline starting at (`x`, `y`).
    pub fn draw(&self, canvas: &mut Canvas, text: &str, x: f32, y: f32, colour: [u8; 3], run: Direction) {
        // Whole pixels across the line keep the baseline and the bars of letters sharp.
        let (x, y) = match run {
            Direction::Across => (x, y.round()),
            Direction::Upward => (x.round(), y),
        };
        for mut glyph in self.layout(text).0 {
            // Upward text is laid out on a line along −y; its pixels are turned when drawn.
            glyph.position.x += if run == Direction::Across { x } else { -y };
            glyph.position.y += if run == Direction::Across { y } else { x };
            let Some(outline) = self.font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|column, row, cover| {
                let (along, down) = (corner.x as i64 + i64::from(column), corner.y as i64 + i64::from(row));
                match run {
                    Direction::Across => canvas.lay(along, down, colour, cover),
                    Direction::Upward => canvas.lay(down, -along - 1, colour, cover),
                }
            });
        }
    }

    /// Glyphs on a line from the origin, and the line's length.
    fn layout(&self, text: &str) -> (Vec<Glyph>, f32) {
        let font = self.font.as_scaled(self.scale);
        let (mut glyphs, mut along, mut last) = (Vec::new(), 0.0, None);
        for letter in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
            let id = font.glyph_id(letter);
            along += last.map_or(0.0, |last| font.kern(last, id));
            glyphs.push(id.with_scale_and_position(self.scale, point(along, 0.0)));
            along += font.h_advance(id);
            last = Some(id);
        }
        (glyphs, along)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INK: [u8; 3] = [0, 0, 0];

    /// Columns and rows that hold ink, as (left, top, right, bottom).
    fn inked(canvas: &Canvas) -> (i64, i64, i64, i64) {
        let png = canvas.clone().into_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        let mut bounds = (i64::MAX, i64::MAX, -1, -1);
        for (index, pixel) in bytes.chunks_exact(3).enumerate().filter(|(_, p)| p[0] < 128) {
            let (x, y) = ((index % canvas.width) as i64, (index / canvas.width) as i64);
            assert_eq!(pixel[0], pixel[1]);
            bounds = (bounds.0.min(x), bounds.1.min(y), bounds.2.max(x), bounds.3.max(y));
        }
        bounds
    }

    #[test]
    fn letters_stand_on_the_baseline_and_fill_their_width() {
        let letters = Lettering::new(40.0);
        let mut canvas = Canvas::new(300, 100, [255; 3]);
        letters.draw(&mut canvas, "HHHH", 20.0, 70.0, INK, Direction::Across);
        let (left, top, right, bottom) = inked(&canvas);
        assert_eq!(bottom, 69);
        assert!((bottom + 1 - top - letters.capital_height() as i64).abs() <= 1);
        // Capitals of this font are 0.73 em high.
        assert!((28..=31).contains(&(bottom + 1 - top)), "{top}");
        assert!(left >= 20 && right <= 20 + letters.width("HHHH") as i64);
        assert!(letters.width("HHHH") - (right - left) as f32 <= 0.25 * 40.0);
    }

    /// Upward text is the same picture, turned: what was to the right is now above.
    #[test]
    fn upward_text_is_turned_to_the_left() {
        let letters = Lettering::new(40.0);
        let mut canvas = Canvas::new(100, 300, [255; 3]);
        letters.draw(&mut canvas, "HHHH", 70.0, 280.0, INK, Direction::Upward);
        let (left, top, right, bottom) = inked(&canvas);
        assert_eq!(right, 69);
        assert!((28..=31).contains(&(right + 1 - left)), "{left}");
        assert!(bottom < 280 && 280 - top <= letters.width("HHHH") as i64);
    }

    #[test]
    fn the_signs_that_captions_need_exist() {
        let letters = Lettering::new(20.0);
        let missing = letters.font.glyph_id('\u{10FFFF}');
        for sign in "–—%µ°≤≥±×·‖αλσφ0123456789ÄÖÜäöüßéÅ“”’…".chars() {
            assert_ne!(letters.font.glyph_id(sign), missing, "{sign}");
        }
    }

    #[test]
    fn long_lines_break_at_spaces() {
        let letters = Lettering::new(20.0);
        let room = letters.width("linear blend skin");
        let lines = letters.wrap("linear blend skinning of an unseen fist", room);
        assert_eq!(lines, ["linear blend", "skinning of an", "unseen fist"]);
        assert_eq!(letters.wrap("Rindfleischetikettierung", 10.0).len(), 1);
        assert!(letters.wrap("  ", room).is_empty());
    }
}
