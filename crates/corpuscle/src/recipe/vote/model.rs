//! A fitted vote: one linear classifier where all members are, else its members.

use std::sync::Arc;

use super::{Vote, pooled};
use crate::classify::{ClassifierModel, LinearModel, NearDocument};
use crate::matrix::{Dense, Matrix, Widths};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// A fitted vote.
#[derive(Debug)]
pub(super) struct VoteModel {
    voters: Voters,
    shares: Vec<f64>,
    names: Vec<&'static str>,
}

#[derive(Debug)]
enum Voters {
    /// All members are linear: one weight for each column and class.
    Linear(LinearModel),
    /// Members and the columns of each.
    Members(Vec<Arc<dyn ClassifierModel>>, Vec<Widths>),
}

impl VoteModel {
    pub(super) fn new(
        members: Vec<Arc<dyn ClassifierModel>>,
        parts: Vec<Widths>,
        shares: Vec<f64>,
        names: Vec<&'static str>,
    ) -> Result<Self> {
        let linear: Option<Vec<&LinearModel>> = members.iter().map(|member| member.linear()).collect();
        let voters = match linear {
            Some(linear) => Voters::Linear(side_by_side(&linear, &parts, &shares)?),
            None => Voters::Members(members, parts),
        };
        Ok(VoteModel { voters, shares, names })
    }

    pub(super) fn load(vote: &Vote, store: &StoreReader<'_>, run: &Run) -> Result<Self> {
        let n = vote.members.len();
        let (shares, _) = store.f64s("shares", &[Some(n)])?;
        let names = vote.members.iter().map(|member| member.name()).collect();
        let linear = store.scope("linear");
        if linear.has("weights") {
            return Ok(VoteModel { voters: Voters::Linear(LinearModel::load(&linear)?), shares, names });
        }
        let widths = store.u64s("parts", Some(3 * n))?;
        let width = |at: usize| usize::try_from(widths[at]).ok().filter(|&width| width <= u32::MAX as usize);
        let wrong = || Error::model("array `parts` holds a width that no matrix has");
        let mut parts = Vec::with_capacity(n);
        let mut members = Vec::with_capacity(n);
        for (number, member) in vote.members.iter().enumerate() {
            let [sparse, dense, negative] = [0, 1, 2].map(|at| width(3 * number + at));
            let part = sparse.zip(dense).zip(negative).ok_or_else(wrong)?;
            let part = Widths { sparse: part.0.0, dense: part.0.1, negative: part.1 };
            let model = member.load_any(&store.scope(&number.to_string()), run)?;
            if model.n_inputs() != part.all() {
                return Err(wrong());
            }
            parts.push(part);
            members.push(model);
        }
        let classes = members.first().map_or(0, |member| member.n_classes());
        if members.iter().any(|member| member.n_classes() != classes) {
            return Err(Error::model("members of the vote have different numbers of classes"));
        }
        Ok(VoteModel { voters: Voters::Members(members, parts), shares, names })
    }
}

/// Σ_v share_v · w_v over the columns as they stand side by side: sparse ones of all members, dense ones, those that count negatively.
fn side_by_side(members: &[&LinearModel], parts: &[Widths], shares: &[f64]) -> Result<LinearModel> {
    let classes = members.first().map_or(0, |member| member.n_classes());
    let columns: usize = parts.iter().map(Widths::all).sum();
    let mut weights = Vec::with_capacity(columns * classes);
    let kinds: [fn(&Widths) -> std::ops::Range<usize>; 3] = [
        |part| 0..part.sparse,
        |part| part.sparse..part.sparse + part.dense,
        |part| part.sparse + part.dense..part.all(),
    ];
    for kind in kinds {
        for ((member, part), &share) in members.iter().zip(parts).zip(shares) {
            let range = kind(part);
            let own = &member.weights().values()[range.start * classes..range.end * classes];
            weights.extend(own.iter().map(|&weight| (share * f64::from(weight)) as f32));
        }
    }
    let mut bias = vec![0f64; classes];
    for (member, share) in members.iter().zip(shares) {
        bias.iter_mut().zip(member.bias()).for_each(|(sum, &own)| *sum += share * f64::from(own));
    }
    LinearModel::new(Dense::new(columns, classes, weights)?, bias.into_iter().map(|bias| bias as f32).collect())
}

impl ClassifierModel for VoteModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        match &self.voters {
            Voters::Linear(linear) => linear.scores(x, run),
            Voters::Members(members, parts) => {
                let own =
                    |(member, model): (usize, &Arc<dyn ClassifierModel>)| model.scores(&x.part(parts, member)?, run);
                pooled(&members.iter().enumerate().map(own).collect::<Result<Vec<_>>>()?, &self.shares)
            }
        }
    }

    fn n_classes(&self) -> usize {
        match &self.voters {
            Voters::Linear(linear) => linear.n_classes(),
            Voters::Members(members, _) => members.first().map_or(0, |member| member.n_classes()),
        }
    }

    fn n_inputs(&self) -> usize {
        match &self.voters {
            Voters::Linear(linear) => linear.n_inputs(),
            Voters::Members(_, parts) => parts.iter().map(Widths::all).sum(),
        }
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_f64("shares", &[self.shares.len()], &self.shares);
        match &self.voters {
            Voters::Linear(linear) => out.scope("linear", |out| linear.save(out)),
            Voters::Members(members, parts) => {
                let widths = parts.iter().flat_map(|part| [part.sparse, part.dense, part.negative]);
                out.put_u64("parts", &widths.map(|width| width as u64).collect::<Vec<_>>());
                for (number, member) in members.iter().enumerate() {
                    out.scope(&number.to_string(), |out| member.save(out))?;
                }
            }
        }
        Ok(())
    }

    fn linear(&self) -> Option<&LinearModel> {
        match &self.voters {
            Voters::Linear(linear) => Some(linear),
            Voters::Members(..) => None,
        }
    }

    fn nearest(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        if let Voters::Members(members, parts) = &self.voters {
            for (number, member) in members.iter().enumerate() {
                if let Some(near) = member.nearest(&x.part(parts, number)?, count, run)? {
                    return Ok(Some(near));
                }
            }
        }
        Ok(None)
    }

    /// The members' slopes, each over its own columns and times its share.
    fn leaning_gradient(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Dense>> {
        let Voters::Members(members, parts) = &self.voters else { return Ok(None) };
        let mut slopes = Vec::with_capacity(members.len());
        for (number, member) in members.iter().enumerate() {
            let slope = match member.linear() {
                Some(linear) => Some(difference(linear, class, against)?),
                None => member.leaning_gradient(&x.part(parts, number)?, class, against, run)?,
            };
            let Some(slope) = slope else { return Ok(None) };
            slopes.push(LinearModel::new(slope, vec![0.0])?);
        }
        let all: Vec<&LinearModel> = slopes.iter().collect();
        Ok(Some(side_by_side(&all, parts, &self.shares)?.weights().clone()))
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let total: f64 = self.shares.iter().sum();
        let member = |(name, share): (&&str, &f64)| format!("{name} {:.2}", share / total.max(f64::MIN_POSITIVE));
        let members: Vec<String> = self.names.iter().zip(&self.shares).map(member).collect();
        vec![("shares of the vote, by score", members.join(", "))]
    }
}

/// The weights of a class less those of another, one column.
fn difference(linear: &LinearModel, class: u32, against: Option<u32>) -> Result<Dense> {
    let weights = linear.weights();
    let of = |row: usize| {
        let row = weights.row(row);
        row[class as usize] - against.map_or(0.0, |against| row[against as usize])
    };
    Dense::new(weights.rows(), 1, (0..weights.rows()).map(of).collect::<Vec<_>>())
}
