//! How errors spread over poses, as text.

use eigenskin::metrics::Evaluation;
use eigenskin::report::page::{SPREAD_HEAD, spread_cells, spread_groups};

use crate::output::{Output, ratio};
use crate::table;

/// A table of what models leave of plain skinning's error, one line per set of poses, or three where parts of
/// the character touch in some.
pub fn print(output: &Output, sets: &[(&str, &Evaluation)]) {
    let rows = sets.iter().flat_map(|&(set, evaluation)| {
        spread_groups(evaluation).into_iter().map(move |(part, group)| {
            let name = part.map_or(set.to_string(), |part| format!("  {part}"));
            [vec![name], spread_cells(group).into()].concat()
        })
    });
    let head: Vec<&str> = std::iter::once("error left").chain(SPREAD_HEAD).collect();
    for line in table::lines(&head, &rows.collect::<Vec<_>>()) {
        output.line(line);
    }
    output.line("");
    output.line(
        "Error left: the model's error over plain skinning's. Pooled over all poses a few bad ones can",
    );
    output.line("decide; median, 90 % and worst are of each pose by itself.");
}

/// The same for one set in a few words; nothing where plain skinning has no error in any pose.
pub fn in_words(evaluation: &Evaluation) -> Option<String> {
    let all = &evaluation.groups.all;
    let name = all.worst_pose.as_ref()?;
    let [median, p90, worst] = [all.median, all.p90, all.worst].map(ratio);
    Some(format!("pose by pose: median {median}, nine of ten below {p90}, worst {worst} ({name})"))
}
