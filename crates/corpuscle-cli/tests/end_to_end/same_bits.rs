//! Same seed, same bits: at 1, 2 and 8 threads, and run after run.

use crate::support::Place;

#[test]
fn models_and_predictions_do_not_depend_on_threads() {
    let place = Place::new();
    for recipe in [
        "tfidf(ngrams=2, sublinear=true) | svm",
        "words(stem=porter) | binary | ig(300) | knn(k=3)",
        "tfidf | logistic",
        "tfidf | lsi(20) | svm",
        "binary | ig(300) | sprinkle(10) | knn(k=3, metric=euclidean)",
        "tfidf | varnorm(10) | discriminant | knn(k=3)",
        "tfidf | varnorm(10) | svm",
        "tfidf | svm(multiclass=crammer_singer, c=auto)",
    ] {
        let outcome = |threads: &str| {
            place.ok(&["train", "demo.jsonl", "--recipe", recipe, "-o", "m.model", "--threads", threads, "-q"]);
            let rows =
                place.ok(&["predict", "m.model", "demo.jsonl", "--format", "jsonl", "--proba", "--threads", threads]);
            (place.read("m.model"), rows)
        };
        let one = outcome("1");
        for threads in ["2", "8", "1"] {
            assert!(outcome(threads) == one, "{recipe} differs at {threads} threads");
        }
    }
}
