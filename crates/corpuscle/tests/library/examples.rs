//! Every example program runs to its end.

#[path = "../../examples/compare.rs"]
mod compare;
#[path = "../../examples/explain.rs"]
mod explain;
#[path = "../../examples/few_labels.rs"]
mod few_labels;
#[path = "../../examples/own_matrix.rs"]
mod own_matrix;
#[path = "../../examples/own_stage.rs"]
mod own_stage;
#[path = "../../examples/train_and_save.rs"]
mod train_and_save;

use corpuscle::Result;

#[test]
fn compare_runs() -> Result<()> {
    compare::main()
}

#[test]
fn explain_runs() -> Result<()> {
    explain::main()
}

#[test]
fn few_labels_runs() -> Result<()> {
    few_labels::main()
}

#[test]
fn own_matrix_runs() -> Result<()> {
    own_matrix::main()
}

#[test]
fn own_stage_runs() -> Result<()> {
    own_stage::main()
}

#[test]
fn train_and_save_runs() -> Result<()> {
    train_and_save::main()
}

/// A program that is not run here may have stopped working.
#[test]
fn no_example_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let here = include_str!("examples.rs");
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(here.contains(&format!("\"../../examples/{name}\"")), "{name} is not run by tests/library/examples.rs");
    }
}
