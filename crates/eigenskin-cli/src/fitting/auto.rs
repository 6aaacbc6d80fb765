//! `--method auto`: what is said of the method that was chosen.

use eigenskin::method::choice::Choice;

/// For people.
pub fn sentences(choice: &Choice) -> [String; 2] {
    let chosen = &choice.tried[choice.chosen];
    let others: Vec<String> = choice
        .tried
        .iter()
        .enumerate()
        .filter(|(place, _)| *place != choice.chosen)
        .map(|(_, trial)| format!("{} {:.3}", trial.candidate.name(), trial.left_out_error))
        .collect();
    [
        format!(
            "{}: {:.3} of skinning's error on examples left out in {} parts",
            chosen.candidate.name(),
            chosen.left_out_error,
            choice.folds
        ),
        format!("others: {}", if others.is_empty() { "none".to_string() } else { others.join(", ") }),
    ]
}
