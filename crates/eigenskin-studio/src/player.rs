//! Plays, pauses and scrubs the clips of a file.

/// Which clip, and where in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipPlayer {
    /// `clip`, seconds
    durations: Vec<f64>,
    clip: Option<usize>,
    time: f64,
    playing: bool,
}

impl ClipPlayer {
    /// Shows no clip yet.
    pub fn new(durations: Vec<f64>) -> Self {
        Self { durations, clip: None, time: 0.0, playing: false }
    }

    /// The clip that is shown and the time in it.
    pub fn shown(&self) -> Option<(usize, f64)> {
        self.clip.map(|clip| (clip, self.time))
    }

    /// Whether it runs.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// Seconds of the clip that is shown.
    pub fn duration(&self) -> f64 {
        self.clip.map_or(0.0, |clip| self.durations[clip])
    }

    /// Shows a clip: at a time, standing still, or from its start, playing.
    pub fn show(&mut self, clip: usize, time: Option<f64>) {
        self.clip = Some(clip);
        self.playing = time.is_none();
        self.time = time.unwrap_or(0.0).clamp(0.0, self.duration());
    }

    /// Goes to a time and stands still; the first clip, if none is shown.
    pub fn scrub(&mut self, time: f64) {
        if !self.durations.is_empty() {
            self.show(self.clip.unwrap_or(0), Some(time));
        }
    }

    /// Plays on, or pauses; the first clip, if none is shown.
    pub fn toggle(&mut self) {
        match self.clip {
            None if self.durations.is_empty() => {}
            None => self.show(0, None),
            Some(_) => self.playing = !self.playing,
        }
    }

    /// Stands still.
    pub fn pause(&mut self) {
        self.playing = false;
    }

    /// The pose is no longer one of a clip.
    pub fn leave(&mut self) {
        self.clip = None;
        self.playing = false;
    }

    /// Lets time pass; begins again at the end. Whether another pose is to be shown.
    pub fn advance(&mut self, seconds: f64) -> bool {
        if !self.playing || seconds <= 0.0 {
            return false;
        }
        let duration = self.duration();
        self.time = if duration > 0.0 { (self.time + seconds) % duration } else { 0.0 };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clips_play_around_and_pause() {
        let mut player = ClipPlayer::new(vec![1.0, 2.0]);
        assert!(!player.advance(0.1) && player.shown().is_none());
        player.show(1, None);
        assert!(player.advance(0.5));
        assert_eq!(player.shown(), Some((1, 0.5)));
        player.advance(1.75);
        assert_eq!(player.shown(), Some((1, 0.25)));
        player.toggle();
        assert!(!player.advance(1.0) && !player.is_playing());
        player.toggle();
        assert!(player.advance(0.25));
        assert_eq!(player.shown(), Some((1, 0.5)));
    }

    #[test]
    fn scrubbing_stands_still_inside_the_clip() {
        let mut player = ClipPlayer::new(vec![1.0]);
        player.scrub(7.0);
        assert_eq!(player.shown(), Some((0, 1.0)));
        assert!(!player.is_playing());
        player.leave();
        assert!(player.shown().is_none());
        let mut without = ClipPlayer::new(vec![]);
        without.scrub(1.0);
        without.toggle();
        assert!(without.shown().is_none() && without.duration() == 0.0);
    }

    #[test]
    fn a_clip_of_one_key_does_not_run_away() {
        let mut player = ClipPlayer::new(vec![0.0]);
        player.toggle();
        player.advance(0.3);
        assert_eq!(player.shown(), Some((0, 0.0)));
    }
}
