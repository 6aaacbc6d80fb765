//! Reports from values, and their end when nobody waits for them.

use std::sync::atomic::AtomicUsize;

use eigenskin::metrics::evaluate_against;
use eigenskin::progress::Unwatched;
use eigenskin::report::picture::painter::CpuPainter;
use eigenskin::reports::{
    EvaluationPage, PageStyle, ReportError, WeightsPage, evaluation_report, html, weights_model,
    weights_picture, weights_report,
};
use eigenskin::solve_weights::{SolveWeightsParams, solve_weights};

use crate::render::{EndsAt, arm_model};

#[test]
fn a_model_against_its_truth_is_a_page() {
    let (model, truth) = arm_model();
    let evaluation = evaluate_against(&model, &truth, &Unwatched).unwrap();
    let page = EvaluationPage {
        model_name: "arm".to_string(),
        truth_name: "poses".to_string(),
        model: &model,
        truth: &truth,
        evaluation: &evaluation,
        simulation: None,
    };
    let style = PageStyle::new(&CpuPainter);
    let report = evaluation_report(&page, &style, &Unwatched).unwrap();
    let text = html(&report);
    assert!(text.contains("arm against poses") && text.matches("data:image/png").count() >= 15);
    for step in [0, 5] {
        let ended = evaluation_report(&page, &style, &EndsAt(step, AtomicUsize::new(0)));
        assert!(matches!(ended, Err(ReportError::Cancelled(_))), "{step}");
    }
}

#[test]
fn solved_weights_are_a_page_and_a_picture() {
    let (_, examples) = arm_model();
    let solved = solve_weights(&examples, &SolveWeightsParams::default(), &Unwatched).unwrap();
    let model = weights_model(&solved, examples.rig()).unwrap();
    let evaluation = evaluate_against(&model, &examples, &Unwatched).unwrap();
    let page = WeightsPage {
        rig_name: "arm".to_string(),
        examples_name: "poses".to_string(),
        solved: &solved,
        examples: &examples,
        model: &model,
        evaluation: &evaluation,
    };
    let style = PageStyle::new(&CpuPainter);
    let report = weights_report(&page, &style, &Unwatched).unwrap();
    assert!(html(&report).contains("Skin weights of arm"));
    assert!(weights_picture(&solved, examples.rig(), &style).unwrap().starts_with(b"\x89PNG"));
}
