//! Which documents go on a map when there are too many.

/// At most `most` rows, ascending, with as even a share of every class as there are documents for: small classes whole,
/// and of large ones every so-manyth. Rows without a class are left out.
///
/// ```
/// let classes = [Some(0), Some(0), Some(0), Some(0), Some(1), None];
/// assert_eq!(corpuscle::report::map::sample_evenly(&classes, 3), [0, 2, 4]);
/// ```
pub fn sample_evenly(classes: &[Option<u32>], most: usize) -> Vec<usize> {
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (row, class) in classes.iter().enumerate() {
        let Some(class) = *class else { continue };
        if members.len() <= class as usize {
            members.resize(class as usize + 1, Vec::new());
        }
        members[class as usize].push(row);
    }
    members.retain(|rows| !rows.is_empty());
    // From the smallest class on, each takes its even share of the places that are left.
    members.sort_by_key(|rows| (rows.len(), rows[0]));
    let (mut places, mut classes) = (most, members.len());
    let mut sample = Vec::with_capacity(most.min(1 << 20));
    for rows in members {
        let share = rows.len().min(places.div_ceil(classes));
        sample.extend((0..share).map(|at| rows[at * rows.len() / share]));
        places -= share;
        classes -= 1;
    }
    sample.sort_unstable();
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_classes_come_whole() {
        let classes: Vec<Option<u32>> = (0..100)
            .map(|i| {
                if i < 5 {
                    Some(7)
                } else if i < 40 {
                    Some(0)
                } else {
                    Some(3)
                }
            })
            .collect();
        let sample = sample_evenly(&classes, 45);
        let count = |class: u32| sample.iter().filter(|&&row| classes[row] == Some(class)).count();
        assert_eq!([count(7), count(0), count(3)], [5, 20, 20]);
        assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(sample_evenly(&classes, 1000).len(), 100);
        assert!(sample_evenly(&[], 5).is_empty() && sample_evenly(&classes, 0).is_empty());
    }
}
