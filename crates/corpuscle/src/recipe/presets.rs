//! Recipes with a name.

const PRESETS: &[(&str, &str)] = &[
    ("tfidf-svm", "tfidf(sublinear=true) | svm"),
    ("tfidf-logistic", "tfidf(sublinear=true) | logistic"),
    ("tfidf-knn", "words(stop=english) | tfidf(sublinear=true) | knn"),
    ("bigram-svm", "tfidf(ngrams=2, sublinear=true) | svm"),
    ("lsi-svm", "tfidf(sublinear=true) | lsi(200) | svm"),
    ("dcot", "tfidf(sublinear=true, min_df=2) | dcot(weight=auto) | svm"),
    ("scdv", "words(stop=english) | scdv | svm"),
    ("scdv-tfidf", "(tfidf(sublinear=true) + scdv * 0.5) | svm"),
    (
        "sprinkled-lsi",
        "words(stem=porter, stop=english) | binary | ig(1000) | sprinkle(rank=50) | knn(k=3, metric=euclidean)",
    ),
    ("varnorm", "words(stem=porter, stop=english) | tfidf | varnorm(60) | knn"),
    ("varnorm-discriminant", "words(stem=porter, stop=english) | tfidf | varnorm(60) | discriminant | knn"),
];

/// The recipe of that name.
pub fn find(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, recipe)| *recipe)
}

/// All names with their recipes.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().copied()
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}
