//! Powell's direction-set method (1964): a minimum of a function of several numbers without its
//! derivatives, by line searches along directions that become conjugate.
//!
//! [`Powell`] asks for one value at a time and can be left between any two of them, so that many
//! minimisations run in lock step where one evaluation serves them all.

mod line_search;
#[cfg(test)]
mod tests;

use line_search::{LineSearch, LineTolerances};

/// When to stop, and where to begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowellParams {
    /// length of the first step along each direction, in multiples of the direction; about as far as
    /// the minimum may be
    pub step: f64,
    /// moves shorter than this are none (a distance between points)
    pub tolerance: f64,
    /// a round of line searches that lowers the value by less than this share of it is the last
    pub value_tolerance: f64,
    /// share of its length to which a step along a line is found
    pub line_tolerance: f64,
    /// a value this low ends it at once: for sums of squares
    pub enough: f64,
    /// evaluations at most
    pub most_evaluations: usize,
}

impl Default for PowellParams {
    fn default() -> Self {
        Self {
            step: 1.0,
            tolerance: 1e-8,
            value_tolerance: 1e-10,
            line_tolerance: 1e-2,
            enough: f64::NEG_INFINITY,
            most_evaluations: 10_000,
        }
    }
}

/// A minimisation under way.
#[derive(Debug, Clone)]
pub struct Powell {
    params: PowellParams,
    /// as many as dimensions
    directions: Vec<Direction>,
    /// where line searches start
    point: Point,
    /// where the round of line searches began
    round_start: Point,
    /// the direction that lowered the value most in this round, and by how much
    steepest: (usize, f64),
    best: Point,
    trial: Vec<f64>,
    stage: Stage,
    evaluations: usize,
    converged: bool,
}

#[derive(Debug, Clone)]
struct Direction {
    vector: Vec<f64>,
    /// first step of the next line search, in multiples of the vector
    step: f64,
}

#[derive(Debug, Clone)]
struct Point {
    at: Vec<f64>,
    value: f64,
}

#[derive(Debug, Clone)]
enum Stage {
    /// the value at the start
    Start,
    /// along one of the directions
    Along { index: usize, line: LineSearch },
    /// the value at the round's whole move done twice
    Twice,
    /// along the round's whole move
    AlongMove { direction: Direction, line: LineSearch },
    /// nothing more to try
    Done,
}

impl Powell {
    /// Along given directions first (as many as dimensions, independent): conjugate ones, where a
    /// model of the function is known, save most of the work.
    pub fn along(start: &[f64], directions: Vec<Vec<f64>>, params: &PowellParams) -> Self {
        let point = Point { at: start.to_vec(), value: f64::INFINITY };
        let directions = directions.into_iter().map(|vector| Direction { vector, step: params.step });
        Self {
            params: *params,
            directions: directions.collect(),
            round_start: point.clone(),
            best: point.clone(),
            trial: start.to_vec(),
            point,
            steepest: (0, 0.0),
            stage: Stage::Start,
            evaluations: 0,
            converged: false,
        }
    }

    /// The point whose value is wanted next; none when all is done.
    pub fn trial(&self) -> Option<&[f64]> {
        match self.stage {
            Stage::Done => None,
            _ => Some(&self.trial),
        }
    }

    /// Takes the value at [`Powell::trial`]; one that is not finite is worse than all others.
    pub fn observe(&mut self, value: f64) {
        if matches!(self.stage, Stage::Done) {
            return;
        }
        let value = if value.is_finite() { value } else { f64::INFINITY };
        self.evaluations += 1;
        if value < self.best.value {
            self.best.at.copy_from_slice(&self.trial);
            self.best.value = value;
        }
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Start => {
                self.point.value = value;
                self.start_round();
            }
            Stage::Along { index, mut line } => {
                line.observe(value);
                match line.trial() {
                    Some(at) => {
                        self.set_trial(at, None, index);
                        self.stage = Stage::Along { index, line };
                    }
                    None => self.end_line(index, &line),
                }
            }
            Stage::Twice => self.judge_move(value),
            Stage::AlongMove { direction, mut line } => {
                line.observe(value);
                match line.trial() {
                    Some(at) => {
                        self.set_trial(at, Some(&direction.vector), 0);
                        self.stage = Stage::AlongMove { direction, line };
                    }
                    None => self.replace_direction(direction, &line),
                }
            }
            Stage::Done => {}
        }
        if matches!(self.stage, Stage::Done) {
            return;
        }
        if self.best.value <= self.params.enough {
            self.converged = true;
            self.stage = Stage::Done;
        } else if self.evaluations >= self.params.most_evaluations {
            self.stage = Stage::Done;
        }
    }

    /// True once it has ended for another reason than the number of evaluations.
    pub fn converged(&self) -> bool {
        self.converged
    }

    fn set_trial(&mut self, at: f64, along: Option<&[f64]>, index: usize) {
        let vector = along.unwrap_or_else(|| &self.directions[index].vector);
        for ((trial, start), move_along) in self.trial.iter_mut().zip(&self.point.at).zip(vector) {
            *trial = start + at * move_along;
        }
    }

    fn line_along(&self, direction: &Direction) -> LineSearch {
        let length = length(&direction.vector);
        let tolerances = LineTolerances {
            relative: self.params.line_tolerance,
            absolute: if length > 0.0 { self.params.tolerance / length } else { self.params.tolerance },
            value: self.params.value_tolerance,
        };
        LineSearch::new(self.point.value, direction.step, tolerances)
    }

    fn start_round(&mut self) {
        self.round_start.clone_from(&self.point);
        self.steepest = (0, 0.0);
        self.start_line(0);
    }

    fn start_line(&mut self, index: usize) {
        let Some(direction) = self.directions.get(index) else {
            self.end_round();
            return;
        };
        let line = self.line_along(direction);
        if let Some(at) = line.trial() {
            self.set_trial(at, None, index);
        }
        self.stage = Stage::Along { index, line };
    }

    fn end_line(&mut self, index: usize, line: &LineSearch) {
        let (at, value) = line.best();
        let decrease = self.point.value - value;
        if decrease > self.steepest.1 {
            self.steepest = (index, decrease);
        }
        self.advance(at, value, None, index);
        let direction = &mut self.directions[index];
        let shortest = 4.0 * self.params.tolerance / length(&direction.vector).max(f64::MIN_POSITIVE);
        let step = if at == 0.0 { 0.25 * direction.step } else { at };
        direction.step = if step.abs() < shortest { shortest } else { step };
        self.start_line(index + 1);
    }

    fn advance(&mut self, at: f64, value: f64, along: Option<&[f64]>, index: usize) {
        let vector = along.unwrap_or_else(|| &self.directions[index].vector);
        for (coordinate, move_along) in self.point.at.iter_mut().zip(vector) {
            *coordinate += at * move_along;
        }
        self.point.value = value;
    }

    fn end_round(&mut self) {
        let (before, after) = (self.round_start.value, self.point.value);
        let small = self.params.value_tolerance * (before.abs() + after.abs());
        // From an infinite value to a finite one is a decrease, whatever the formula says.
        let decreased = if before.is_finite() { 2.0 * (before - after) > small } else { after.is_finite() };
        let moved: f64 = self.point.at.iter().zip(&self.round_start.at).map(|(a, b)| (a - b).powi(2)).sum();
        if !decreased || moved.sqrt() <= self.params.tolerance {
            self.converged = true;
            return;
        }
        for ((trial, at), start) in self.trial.iter_mut().zip(&self.point.at).zip(&self.round_start.at) {
            *trial = 2.0 * at - start;
        }
        self.stage = Stage::Twice;
    }

    /// Powell's test, as Acton has it: the whole move becomes a direction if it has not come to its
    /// end, and if the round's decrease was not owed to one direction alone.
    fn judge_move(&mut self, twice: f64) {
        let (before, after) = (self.round_start.value, self.point.value);
        let largest = self.steepest.1;
        let worth = before > twice
            && 2.0 * (before + twice - 2.0 * after) * (before - after - largest).powi(2)
                < largest * (before - twice).powi(2);
        if !worth {
            self.start_round();
            return;
        }
        let vector: Vec<f64> = self.point.at.iter().zip(&self.round_start.at).map(|(a, b)| a - b).collect();
        let direction = Direction { vector, step: 1.0 };
        let line = self.line_along(&direction);
        if let Some(at) = line.trial() {
            self.set_trial(at, Some(&direction.vector), 0);
        }
        self.stage = Stage::AlongMove { direction, line };
    }

    /// The direction of largest decrease goes: it is the one most alike to the new one, and directions
    /// must stay independent.
    fn replace_direction(&mut self, mut direction: Direction, line: &LineSearch) {
        let (at, value) = line.best();
        self.advance(at, value, Some(&direction.vector), 0);
        if at != 0.0 {
            direction.step = at;
        }
        self.directions.swap_remove(self.steepest.0);
        self.directions.push(direction);
        self.start_round();
    }
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
