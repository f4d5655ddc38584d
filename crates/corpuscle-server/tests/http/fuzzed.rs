//! Bodies that are nearly right, to every route that takes one: the target `http` of `fuzz/` over its seeds and what a mutator makes of them.

#[path = "../../../corpuscle/tests/fuzz/mutate.rs"]
mod mutate;
mod targets;

use std::path::PathBuf;

use mutate::Mutator;

#[test]
fn no_body_is_answered_by_a_fault_of_ours() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/http");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(seeds.len() > 5);
    seeds.iter().for_each(|seed| targets::http(seed));
    let count = std::env::var("CORPUSCLE_FUZZ").map_or(2000, |count| count.parse().unwrap());
    let mut mutator = Mutator::new(1);
    (0..count).for_each(|_| targets::http(&mutator.input(&seeds)));
}
