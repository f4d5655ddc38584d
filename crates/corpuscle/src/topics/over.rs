//! How much of each topic there is in groups of documents: by label, or along a field such as a date.

use crate::corpus::Labels;
use crate::matrix::Dense;

/// Mean shares of topics in groups of documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    /// What the groups are called, in order.
    pub names: Vec<String>,
    /// How many documents each has.
    pub documents: Vec<usize>,
    /// Groups × topics: the mean share of each topic in each group's documents.
    pub shares: Dense,
}

/// The most groups along a field: more are put together where they are dates, or left out, the smallest first.
const MOST: usize = 36;

/// By label; a document of several labels counts for each. Documents without a label are left out.
pub fn by_label(shares: &Dense, labels: &Labels) -> Grouped {
    let groups = (0..shares.rows()).map(|row| labels.of(row).unwrap_or_default().to_vec());
    grouped(shares, labels.classes().to_vec(), groups)
}

/// Along a field: `values` is its text in every document, empty where it has none. Dates (2024-05-17…) become months when there are
/// many days, and years when there are many months; numbers and dates are in order, other values by how many documents they have.
pub fn over_field(shares: &Dense, values: &[String]) -> Grouped {
    let cut = date_cut(values);
    let short = |value: &String| cut.map_or(value.as_str(), |cut| value.get(..cut).unwrap_or(value)).trim().to_string();
    let values: Vec<String> = values.iter().map(short).collect();
    let mut counted: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    values.iter().filter(|value| !value.is_empty()).for_each(|value| *counted.entry(value).or_default() += 1);
    let mut names: Vec<(&str, usize)> = counted.into_iter().collect();
    names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    names.truncate(MOST);
    let numbers: Option<Vec<f64>> = names.iter().map(|(name, _)| name.parse().ok()).collect();
    match numbers {
        Some(_) => names.sort_by(|a, b| {
            let number = |name: &str| name.parse::<f64>().unwrap_or(f64::NAN);
            number(a.0).total_cmp(&number(b.0))
        }),
        None if cut.is_some() => names.sort_unstable_by_key(|name| name.0),
        None => {}
    }
    let names: Vec<String> = names.into_iter().map(|(name, _)| name.to_string()).collect();
    let place: std::collections::HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let groups = values.iter().map(|value| place.get(value.as_str()).copied().into_iter().collect::<Vec<u32>>());
    let groups: Vec<Vec<u32>> = groups.collect();
    grouped(shares, names.clone(), groups)
}

/// After how many characters dates are cut: days, months or years, so that there are no more than [`MOST`]; `None` for no dates.
fn date_cut(values: &[String]) -> Option<usize> {
    let is_date = |value: &str| {
        let bytes = value.as_bytes();
        let digits =
            |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
        digits(0..4) && bytes.get(4) == Some(&b'-') && digits(5..7)
    };
    let filled = || values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
    if filled().next().is_none() || !filled().all(is_date) {
        return None;
    }
    let distinct = |cut: usize| {
        let cut: std::collections::BTreeSet<&str> = filled().map(|value| value.get(..cut).unwrap_or(value)).collect();
        cut.len()
    };
    [10, 7].into_iter().find(|&cut| distinct(cut) <= MOST).or(Some(4))
}

fn grouped(shares: &Dense, names: Vec<String>, groups: impl IntoIterator<Item = Vec<u32>>) -> Grouped {
    let topics = shares.cols();
    let mut sums = vec![0f64; names.len() * topics];
    let mut documents = vec![0usize; names.len()];
    for (row, groups) in groups.into_iter().enumerate().take(shares.rows()) {
        for group in groups {
            let group = group as usize;
            documents[group] += 1;
            let sums = &mut sums[group * topics..(group + 1) * topics];
            sums.iter_mut().zip(shares.row(row)).for_each(|(sum, &share)| *sum += f64::from(share));
        }
    }
    let mut means = Dense::zeros(names.len(), topics);
    for (at, mean) in means.values_mut().iter_mut().enumerate() {
        *mean = (sums[at] / documents[at / topics].max(1) as f64) as f32;
    }
    Grouped { names, documents, shares: means }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_months_and_years() {
        let shares = Dense::new(100, 1, vec![1.0; 100]).unwrap();
        let days: Vec<String> =
            (0..100).map(|i| format!("20{:02}-{:02}-{:02}", 20 + i / 50, 1 + i % 2, 1 + i % 28)).collect();
        let months = over_field(&shares, &days);
        assert_eq!(months.names, ["2020-01", "2020-02", "2021-01", "2021-02"]);
        assert_eq!(months.documents, [25; 4]);
        let years: Vec<String> = (0..100).map(|i| format!("{}-{:02}-01", 1980 + i / 2, 1 + i % 12)).collect();
        assert!(over_field(&shares, &years).names.iter().all(|name| name.len() == 4));
        let few = over_field(&shares, &["10".into(), "9".into(), String::new(), "9".into()]);
        assert_eq!((few.names, few.documents), (vec!["9".to_string(), "10".to_string()], vec![2, 1]));
        let words = over_field(&shares, &["b".into(), "a".into(), "b".into()]);
        assert_eq!(words.names, ["b", "a"]);
        assert!(over_field(&shares, &[]).names.is_empty());
    }

    #[test]
    fn labels_have_means() {
        let labels =
            Labels::from_lists([Some(&["x".to_string()][..]), None, Some(&["x".to_string(), "y".to_string()])]);
        let shares = Dense::from_rows(&[[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]);
        let found = by_label(&shares, &labels);
        assert_eq!(
            (found.names.as_slice(), found.documents.as_slice()),
            (&["x".to_string(), "y".to_string()][..], &[2, 1][..])
        );
        assert_eq!(found.shares, Dense::from_rows(&[[0.5, 0.5], [0.0, 1.0]]));
    }
}
