//! Documents as members of their classes, and their matrix about class means or the overall mean, never written out.
//!
//! A document of several classes is a member of each, so what is summed over members counts a pair of documents once
//! for every class they share. With E the matrix that repeats documents by membership and C the one that subtracts
//! means, C E X is applied to vectors by one sparse product and O(members) more.

use std::borrow::Cow;

use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::matrix::panel::{LANES, Lane, Linear};
use crate::{Error, Result};

/// Which documents are in which class: one entry for each document and each of its classes, in the order of documents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members {
    /// The row of the document.
    pub(super) rows: Vec<u32>,
    /// Its class.
    pub(super) classes: Vec<u32>,
    /// Members of each class; classes without any are 0.
    pub(super) counts: Vec<usize>,
    /// Whether member `i` is row `i`.
    direct: bool,
}

impl Members {
    /// The documents of `x` that have a class, and their memberships. Nothing is copied when all have one.
    pub(super) fn of<'a>(stage: &'static str, x: &'a Matrix, labels: &Labels) -> Result<(Cow<'a, Matrix>, Members)> {
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels of the documents", expected: x.rows(), found: labels.len() });
        }
        let mut members =
            Members { rows: Vec::new(), classes: Vec::new(), counts: vec![0; labels.n_classes()], direct: false };
        let mut kept = Vec::new();
        for row in 0..labels.len() {
            let classes = labels.of(row).unwrap_or(&[]);
            for &class in classes {
                members.rows.push(kept.len() as u32);
                members.classes.push(class);
                members.counts[class as usize] += 1;
            }
            if !classes.is_empty() {
                kept.push(row);
            }
        }
        if kept.is_empty() {
            return Err(Error::data(format!("`{stage}` needs labels; none of the {} documents has one", x.rows())));
        }
        members.direct = members.rows.len() == kept.len();
        let x = if kept.len() == x.rows() { Cow::Borrowed(x) } else { Cow::Owned(x.select_rows(&kept)) };
        Ok((x, members))
    }

    /// How many memberships there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Classes that have members.
    pub(super) fn present(&self) -> Vec<usize> {
        (0..self.counts.len()).filter(|&class| self.counts[class] > 0).collect()
    }
}

/// What is subtracted from each member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// The mean of its class; rows are then weighed by the root of the class's size.
    ClassMeans,
    /// The mean of all members.
    OverallMean,
}

/// The members' rows about a mean, as something that can be multiplied.
pub(super) struct Centred<'a> {
    operator: &'a dyn Linear,
    members: &'a Members,
    about: About,
}

impl<'a> Centred<'a> {
    pub(super) fn new(operator: &'a dyn Linear, members: &'a Members, about: About) -> Self {
        Centred { operator, members, about }
    }

    fn group(&self, member: usize) -> usize {
        match self.about {
            About::ClassMeans => self.members.classes[member] as usize,
            About::OverallMean => 0,
        }
    }

    /// Subtracts the group's mean from every member's coordinates and weighs them: a symmetric map.
    fn centre(&self, panel: &mut [Lane]) {
        let sizes: Vec<usize> = match self.about {
            About::ClassMeans => self.members.counts.clone(),
            About::OverallMean => vec![self.members.len()],
        };
        let mut means = vec![[0f64; LANES]; sizes.len()];
        for (member, lane) in panel.iter().enumerate() {
            let (mean, values) = (&mut means[self.group(member)], &lane.0);
            for at in 0..LANES {
                mean[at] += f64::from(values[at]);
            }
        }
        for (mean, &size) in means.iter_mut().zip(&sizes) {
            mean.iter_mut().for_each(|sum| *sum /= size.max(1) as f64);
        }
        for (member, lane) in panel.iter_mut().enumerate() {
            let group = self.group(member);
            let weight = if self.about == About::ClassMeans { (sizes[group] as f64).sqrt() as f32 } else { 1.0 };
            let (mean, values) = (&means[group], &mut lane.0);
            for at in 0..LANES {
                values[at] = (values[at] - mean[at] as f32) * weight;
            }
        }
    }
}

impl Linear for Centred<'_> {
    fn rows(&self) -> usize {
        self.members.len()
    }

    fn cols(&self) -> usize {
        self.operator.cols()
    }

    fn negative(&self) -> usize {
        self.operator.negative()
    }

    fn times(&self, panel: &[Lane], out: &mut [Lane]) {
        if self.members.direct {
            self.operator.times(panel, out);
        } else {
            let mut documents = vec![Lane::default(); self.operator.rows()];
            self.operator.times(panel, &mut documents);
            for (to, &row) in out.iter_mut().zip(&self.members.rows) {
                *to = documents[row as usize];
            }
        }
        self.centre(out);
    }

    fn transposed_times(&self, panel: &[Lane], out: &mut [Lane]) {
        let mut centred = panel.to_vec();
        self.centre(&mut centred);
        if self.members.direct {
            return self.operator.transposed_times(&centred, out);
        }
        let mut documents = vec![Lane::default(); self.operator.rows()];
        for (from, &row) in centred.iter().zip(&self.members.rows) {
            documents[row as usize].add(1.0, from);
        }
        self.operator.transposed_times(&documents, out);
    }
}
