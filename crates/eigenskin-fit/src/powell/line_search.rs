//! The minimum along a line: three points that enclose one, then Brent's method (1973).

/// How far a step is from where it matters no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineTolerances {
    /// share of the step's length
    pub relative: f64,
    /// added to that, in multiples of the direction
    pub absolute: f64,
    /// share of the value by which the last points may still differ
    pub value: f64,
}

/// A search under way. Zero, where it starts, has a known value; what it ends with is never worse.
#[derive(Debug, Clone)]
pub(super) struct LineSearch {
    tolerances: LineTolerances,
    state: State,
    /// ignored when done
    trial: f64,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    at: f64,
    value: f64,
}

#[derive(Debug, Clone)]
enum State {
    /// the first step
    First {
        start: Sample,
    },
    /// the point beyond `b`, downhill from `a`
    Beyond {
        a: Sample,
        b: Sample,
    },
    /// a parabola's guess, or farther out, while `c` is below `b`; so many more steps outward
    Falling {
        b: Sample,
        c: Sample,
        left: usize,
    },
    /// a minimum lies between two points
    Enclosed(Brent),
    Done {
        best: Sample,
    },
}

#[derive(Debug, Clone)]
struct Brent {
    low: f64,
    high: f64,
    best: Sample,
    second: Sample,
    /// the second best before that
    third: Sample,
    last_move: f64,
    move_before: f64,
}

/// (1 + √5) / 2: steps outward grow by this.
const GOLDEN: f64 = 1.618_033_988_749_895;
/// Share of the larger part that a step inward takes.
const GOLDEN_SECTION: f64 = 2.0 - GOLDEN;
/// A parabola's guess goes outward by at most this many last steps.
const FARTHEST: f64 = 100.0;
/// Steps outward, before a function counts as falling for ever.
const OUTWARD: usize = 60;

impl LineSearch {
    pub(super) fn new(value_at_zero: f64, step: f64, tolerances: LineTolerances) -> Self {
        Self {
            tolerances,
            state: State::First { start: Sample { at: 0.0, value: value_at_zero } },
            trial: step,
        }
    }

    /// Where a value is wanted, in multiples of the direction.
    pub(super) fn trial(&self) -> Option<f64> {
        match self.state {
            State::Done { .. } => None,
            _ => Some(self.trial),
        }
    }

    /// Step and value of the best point. To be asked when done.
    pub(super) fn best(&self) -> (f64, f64) {
        let best = match &self.state {
            State::First { start } => start,
            State::Beyond { b, .. } => b,
            State::Falling { c, .. } => c,
            State::Enclosed(brent) => &brent.best,
            State::Done { best } => best,
        };
        (best.at, best.value)
    }

    /// Takes the value at the trial: finite or infinity.
    pub(super) fn observe(&mut self, value: f64) {
        let new = Sample { at: self.trial, value };
        match self.state.clone() {
            State::First { start } => {
                let (a, b) = if value > start.value { (new, start) } else { (start, new) };
                self.trial = b.at + GOLDEN * (b.at - a.at);
                self.state = State::Beyond { a, b };
            }
            State::Beyond { a, b } => self.go_on(a, b, new, OUTWARD),
            State::Falling { b, c, left } => {
                let between = (new.at - b.at) * (new.at - c.at) < 0.0;
                if !between {
                    self.go_on(b, c, new, left);
                } else if new.value < c.value {
                    self.enclose(b, new, c);
                } else {
                    // A hump between them, or a slope that flattens: `c` is still the lowest.
                    self.step_outward(b, c, left);
                }
            }
            State::Enclosed(mut brent) => {
                brent.take(new);
                self.propose(brent);
            }
            State::Done { .. } => {}
        }
    }

    fn step_outward(&mut self, b: Sample, c: Sample, left: usize) {
        self.trial = c.at + GOLDEN * (c.at - b.at);
        self.state = State::Falling { b, c, left: left.saturating_sub(1) };
    }

    /// Judges three points in a row, of which `b` is not above `a`.
    fn go_on(&mut self, a: Sample, b: Sample, c: Sample, left: usize) {
        if c.value >= b.value {
            self.enclose(a, b, c);
            return;
        }
        if left == 0 || !c.at.is_finite() {
            self.state = State::Done { best: c };
            return;
        }
        let golden = c.at + GOLDEN * (c.at - b.at);
        let farthest = b.at + FARTHEST * (c.at - b.at);
        let guess = parabola_minimum(a, b, c).filter(|guess| (guess - b.at) * (c.at - b.at) > 0.0);
        self.trial = match guess {
            Some(guess) if (guess - farthest) * (c.at - b.at) > 0.0 => farthest,
            Some(guess) if guess != c.at => guess,
            _ => golden,
        };
        self.state = State::Falling { b, c, left: left - 1 };
    }

    fn enclose(&mut self, a: Sample, b: Sample, c: Sample) {
        // A plain, or nothing finite at all: stay where the search began.
        if a.value == b.value && b.value == c.value {
            let nearest = [a, b, c].into_iter().fold(b, |x, y| if y.at.abs() < x.at.abs() { y } else { x });
            self.state = State::Done { best: nearest };
            return;
        }
        let (second, third) = if a.value < c.value { (a, c) } else { (c, a) };
        let width = (c.at - a.at).abs();
        self.propose(Brent {
            low: a.at.min(c.at),
            high: a.at.max(c.at),
            best: b,
            second,
            third,
            last_move: width,
            move_before: width,
        });
    }

    fn propose(&mut self, mut brent: Brent) {
        match brent.next(&self.tolerances) {
            Some(trial) => {
                self.trial = trial;
                self.state = State::Enclosed(brent);
            }
            None => self.state = State::Done { best: brent.best },
        }
    }
}

impl Brent {
    fn next(&mut self, tolerances: &LineTolerances) -> Option<f64> {
        let x = self.best.at;
        let middle = 0.5 * (self.low + self.high);
        let tolerance = tolerances.relative * x.abs() + tolerances.absolute;
        let flat = self.third.value.max(self.second.value) - self.best.value
            <= tolerances.value * self.best.value.abs();
        if flat || (x - middle).abs() <= 2.0 * tolerance - 0.5 * (self.high - self.low) {
            return None;
        }
        let guess = parabola_minimum(self.second, self.best, self.third)
            .map(|guess| guess - x)
            .filter(|step| step.abs() < 0.5 * self.move_before.abs())
            .filter(|step| x + step > self.low && x + step < self.high);
        self.move_before = self.last_move;
        self.last_move = match guess {
            Some(step) if x + step - self.low < 2.0 * tolerance || self.high - x - step < 2.0 * tolerance => {
                tolerance.copysign(middle - x)
            }
            Some(step) => step,
            None => {
                self.move_before = if x >= middle { self.low - x } else { self.high - x };
                GOLDEN_SECTION * self.move_before
            }
        };
        Some(x + self.last_move.abs().max(tolerance).copysign(self.last_move))
    }

    fn take(&mut self, new: Sample) {
        if new.value <= self.best.value {
            if new.at >= self.best.at {
                self.low = self.best.at;
            } else {
                self.high = self.best.at;
            }
            self.third = self.second;
            self.second = self.best;
            self.best = new;
            return;
        }
        if new.at < self.best.at {
            self.low = new.at;
        } else {
            self.high = new.at;
        }
        if new.value <= self.second.value || self.second.at == self.best.at {
            self.third = self.second;
            self.second = new;
        } else if new.value <= self.third.value
            || self.third.at == self.best.at
            || self.third.at == self.second.at
        {
            self.third = new;
        }
    }
}

/// Where the parabola through three points is lowest; none if it opens downward or a value is
/// infinite.
fn parabola_minimum(a: Sample, b: Sample, c: Sample) -> Option<f64> {
    let (left, right) = (b.at - a.at, b.at - c.at);
    let r = left * (b.value - c.value);
    let q = right * (b.value - a.value);
    let minimum = b.at - 0.5 * (right * q - left * r) / (q - r);
    // q − r = −curvature · left · right · (left − right), up to a factor
    let opens_upward = (q - r) * left * right * (left - right) < 0.0;
    (minimum.is_finite() && opens_upward).then_some(minimum)
}
