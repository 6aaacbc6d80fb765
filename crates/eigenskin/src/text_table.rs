//! Aligned text tables.

/// Lines of a table: columns of numbers right-aligned, words left-aligned, a rule below the head.
pub fn lines(head: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '–');
    let right: Vec<bool> =
        (0..head.len()).map(|column| rows.iter().all(|row| is_number(&row[column]))).collect();
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, &width))| {
                    if right[column] { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        padded.join("  ").trim_end().to_string()
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
    let mut lines = vec![line(&mut head.iter().copied()), rule];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up() {
        let rows =
            vec![vec!["a".to_string(), "1.5".to_string()], vec!["long name".to_string(), "10".to_string()]];
        let lines = super::lines(&["name", "value"], &rows);
        assert_eq!(lines, ["name       value", "────────────────", "a            1.5", "long name     10"]);
    }
}
