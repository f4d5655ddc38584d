//! Vectors in every format.

use crate::support::Place;

#[test]
fn vectors_are_written_in_every_format() {
    let place = Place::new();
    place.train("tfidf(max_features=50)", "sparse.model");
    let result = place.json(&["embed", "sparse.model", "demo.jsonl", "-o", "v.npy", "--json"]);
    assert_eq!((result["documents"].as_u64(), result["columns"].as_u64()), (Some(512), Some(50)));
    let npy = place.read("v.npy");
    assert!(npy.starts_with(b"\x93NUMPY\x01\x00"));
    assert_eq!(npy.len(), 128 + 512 * 50 * 4);
    assert!(String::from_utf8_lossy(&npy[..128]).contains("'shape': (512, 50)"));
    let norm: f32 = npy[128..128 + 200].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()).powi(2)).sum();
    assert!((norm - 1.0).abs() < 1e-4, "{norm}");

    place.ok(&["embed", "sparse.model", "demo.jsonl", "-o", "v.jsonl"]);
    let text = String::from_utf8(place.read("v.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["size"], 50);
    assert_eq!(first["indices"].as_array().unwrap().len(), first["values"].as_array().unwrap().len());

    place.ok(&["embed", "sparse.model", "demo.jsonl", "-o", "v.parquet"]);
    assert!(place.read("v.parquet").starts_with(b"PAR1") && place.read("v.parquet").ends_with(b"PAR1"));

    assert!(place.fails(2, &["embed", "sparse.model", "demo.jsonl", "-o", "v.txt"]).contains(".npy"));
}
