//! Several characters of one model.

use std::sync::Arc;

use super::evaluator::PackedEvaluator;
use super::output::Output;
use crate::pose::Pose;

/// A model of more bytes does not stay in the nearer caches from one character to the next.
const LARGE: f64 = (8 << 20) as f64;

/// Evaluates several characters of one model. What they share is read once for all of them, some
/// vertices at a time, if that is more than the processor's caches hold.
///
/// # Panics
/// If the lists have different lengths, the characters do not share one packed model, or an output or
/// pose does not fit.
pub fn evaluate_crowd(characters: &mut [PackedEvaluator], poses: &[Pose], outputs: &mut [Output]) {
    assert!(
        poses.len() == characters.len() && outputs.len() == characters.len(),
        "one pose and one output for each character"
    );
    let Some(first) = characters.first() else { return };
    let packed = Arc::clone(&first.packed);
    let pieces = &packed.tables.pieces;
    let is_large = packed.report.bytes_per_vertex * packed.report.vertices as f64 > LARGE;
    for ((character, pose), output) in characters.iter_mut().zip(poses).zip(&mut *outputs) {
        assert!(Arc::ptr_eq(&character.packed, &packed), "characters of different models");
        character.set(pose, output);
        if !is_large {
            for piece in pieces {
                character.skin_piece(piece, output);
            }
        }
    }
    if is_large {
        for piece in pieces {
            for (character, output) in characters.iter_mut().zip(&mut *outputs) {
                character.skin_piece(piece, output);
            }
        }
    }
}
