//! The values a recipe's ranges span: points of the unit cube, each of which is a recipe.

use crate::recipe::syntax::{Argument, Call, Expression};
use crate::recipe::{Recipe, Registry};
use crate::{Error, Result};

/// Most values that may be listed or parameters that may be searched.
const MOST: usize = 16;

/// Values to search.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// Whole numbers, both ends included.
    Integer {
        /// The lowest.
        low: i64,
        /// The highest.
        high: i64,
        /// Whether equal steps are equal ratios.
        log: bool,
    },
    /// Real numbers, rounded to four digits.
    Real {
        /// The lowest.
        low: f64,
        /// The highest.
        high: f64,
        /// Whether equal steps are equal ratios.
        log: bool,
    },
    /// Listed values.
    Choice(Vec<String>),
}

/// A parameter to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// The stage.
    pub stage: String,
    /// The parameter.
    pub parameter: String,
    /// Its values.
    pub range: Range,
}

/// A recipe with ranges.
#[derive(Debug, Clone)]
pub struct Space {
    registry: Registry,
    expression: Expression,
    dimensions: Vec<Dimension>,
}

impl Space {
    /// Reads a recipe with ranges. Both ends of every range, and every listed value, must make a recipe that works.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, Registry::standard())
    }

    /// The same for recipes that name stages of a user's own.
    pub fn parse_with(text: &str, registry: Registry) -> Result<Self> {
        let fault = |at: usize, reason: String| Error::BadRecipe { recipe: text.to_string(), at, reason };
        let mut expression = Expression::parse(text)?;
        let mut dimensions = Vec::new();
        let mut wrong = None;
        for_each_call(&mut expression, &mut |call| {
            for argument in call.arguments.iter().filter(|argument| argument.is_range) {
                let parameter = parameter_name(&registry, call, argument);
                match Range::read(&argument.value) {
                    Ok(range) => dimensions.push(Dimension { stage: call.name.clone(), parameter, range }),
                    Err(reason) => wrong = wrong.take().or(Some((argument.at, reason))),
                }
            }
        });
        if let Some((at, reason)) = wrong {
            return Err(fault(at, reason));
        }
        if dimensions.is_empty() {
            let reason =
                "there is no range to search here; give one, as in `svm(c=0.01..100 log)` or `knn(k={1|3|10})`";
            return Err(fault(0, reason.into()));
        }
        if dimensions.len() > MOST {
            return Err(fault(0, format!("{} ranges are too many to search, {MOST} are the most", dimensions.len())));
        }
        let space = Space { registry, expression, dimensions };
        let low = vec![0.0; space.dimensions.len()];
        for (dimension, about) in space.dimensions.iter().enumerate() {
            for step in 0..about.range.corners() {
                let mut point = low.clone();
                point[dimension] = about.range.corner(step);
                space.recipe(&point)?;
            }
        }
        Ok(space)
    }

    /// The parameters to search, in the order they are written.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The values at a point of the unit cube.
    pub fn values(&self, point: &[f64]) -> Vec<String> {
        self.dimensions.iter().zip(point).map(|(dimension, &u)| dimension.range.value(u)).collect()
    }

    /// The recipe at a point of the unit cube.
    pub fn recipe(&self, point: &[f64]) -> Result<Recipe> {
        let mut expression = self.expression.clone();
        let mut values = self.values(point).into_iter();
        for_each_call(&mut expression, &mut |call| {
            for argument in call.arguments.iter_mut().filter(|argument| argument.is_range) {
                if let Some(value) = values.next() {
                    (argument.value, argument.is_range) = (value, false);
                }
            }
        });
        self.registry.parse(&expression.to_string())
    }

    /// Where every parameter that can has its default; the others are in the middle of their ranges.
    pub fn start(&self) -> Vec<f64> {
        (0..self.dimensions.len()).map(|dimension| self.default_of(dimension).unwrap_or(0.5)).collect()
    }

    /// Where the default of a parameter lies, when that is in its range.
    fn default_of(&self, dimension: usize) -> Option<f64> {
        let Dimension { stage, parameter, range } = &self.dimensions[dimension];
        let parameters = &self.registry.find(stage)?.parameters;
        let default = &parameters.iter().find(|known| known.name == parameter)?.default;
        match range {
            Range::Choice(list) => list.iter().position(|value| value == default).map(|step| range.corner(step)),
            _ => range.place(default.parse().ok()?),
        }
    }
}

impl Range {
    fn read(text: &str) -> Result<Self, String> {
        if let Some(list) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            let list: Vec<String> = list.split('|').map(str::to_string).collect();
            return match list.len() {
                2..=MOST => Ok(Range::Choice(list)),
                count => Err(format!("a list of values to choose from has 2 to {MOST} of them, not {count}")),
            };
        }
        let (span, log) = match text.strip_suffix(" log") {
            Some(span) => (span, true),
            None => (text, false),
        };
        let wrong = || format!("`{text}` is not a range such as `20..120` or `0.01..100 log`");
        let (low, high) = span.split_once("..").ok_or_else(wrong)?;
        let range = match (low.parse::<i64>(), high.parse::<i64>()) {
            (Ok(low), Ok(high)) => Range::Integer { low, high, log },
            _ => Range::Real { low: low.parse().map_err(|_| wrong())?, high: high.parse().map_err(|_| wrong())?, log },
        };
        let (low, high) = match range {
            // Beyond this, whole numbers are no longer exact as floats; no parameter is anywhere near.
            Range::Integer { low, high, .. } if low.unsigned_abs().max(high.unsigned_abs()) > 1 << 50 => {
                return Err(format!("`{text}` goes further than whole numbers can be searched"));
            }
            Range::Integer { low, high, .. } => (low as f64, high as f64),
            Range::Real { low, high, .. } => (low, high),
            Range::Choice(_) => return Ok(range),
        };
        if low >= high {
            return Err(format!("`{text}` is empty: the lower end comes first and is below the upper end"));
        }
        if log && low <= 0.0 {
            return Err(format!("`{text}` cannot step by ratios: with `log`, the lower end is above 0"));
        }
        Ok(range)
    }

    /// How many values are checked beforehand.
    fn corners(&self) -> usize {
        match self {
            Range::Choice(list) => list.len(),
            _ => 2,
        }
    }

    fn corner(&self, step: usize) -> f64 {
        match self {
            Range::Choice(list) => (step as f64 + 0.5) / list.len() as f64,
            _ => step as f64,
        }
    }

    /// The value at `u` in 0 … 1.
    fn value(&self, u: f64) -> String {
        let between = |low: f64, high: f64, log: bool| match log {
            true => (low.ln() + u * (high.ln() - low.ln())).exp(),
            false => low + u * (high - low),
        };
        match self {
            Range::Integer { low, high, log: true } => {
                (between(*low as f64, *high as f64, true).round() as i64).clamp(*low, *high).to_string()
            }
            // Every number has an equal part of 0 … 1.
            Range::Integer { low, high, log: false } => {
                let count = (high - low + 1) as f64;
                (low + (u * count).floor() as i64).clamp(*low, *high).to_string()
            }
            Range::Real { low, high, log } => {
                let value = between(*low, *high, *log);
                let rounded = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
                rounded.clamp(*low, *high).to_string()
            }
            Range::Choice(list) => {
                let index = (u * list.len() as f64) as usize;
                list[index.min(list.len() - 1)].clone()
            }
        }
    }

    /// Where a number lies in 0 … 1, when it is in the range.
    fn place(&self, value: f64) -> Option<f64> {
        let of = |low: f64, high: f64, log: bool| {
            let inside = (low..=high).contains(&value);
            inside.then(|| match log {
                true => (value.ln() - low.ln()) / (high.ln() - low.ln()),
                false => (value - low) / (high - low),
            })
        };
        match self {
            Range::Integer { low, high, log: false } => {
                of(*low as f64, *high as f64, false).map(|_| (value - *low as f64 + 0.5) / (high - low + 1) as f64)
            }
            Range::Integer { low, high, log: true } => of(*low as f64, *high as f64, true),
            Range::Real { low, high, log } => of(*low, *high, *log),
            Range::Choice(_) => None,
        }
    }
}

/// The name of a parameter; the first of a stage may stand without.
fn parameter_name(registry: &Registry, call: &Call, argument: &Argument) -> String {
    argument.name.clone().unwrap_or_else(|| {
        let first = registry.find(&call.name).and_then(|stage| stage.parameters.first());
        first.map_or(String::new(), |parameter| parameter.name.to_string())
    })
}

/// Visits every stage from left to right.
fn for_each_call(expression: &mut Expression, visit: &mut impl FnMut(&mut Call)) {
    match expression {
        Expression::Stage(call) => {
            call.members.iter_mut().for_each(|member| for_each_call(member, visit));
            visit(call);
        }
        Expression::Pipe(parts) | Expression::Sum(parts) => {
            parts.iter_mut().for_each(|part| for_each_call(part, visit));
        }
        Expression::Weighted(part, _) => for_each_call(part, visit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_found_with_their_names() {
        let space =
            Space::parse("tfidf | varnorm(20..120) | svm(c=0.01..100 log, loss={hinge|squared_hinge})").unwrap();
        let names: Vec<(&str, &str)> =
            space.dimensions().iter().map(|d| (d.stage.as_str(), d.parameter.as_str())).collect();
        assert_eq!(names, [("varnorm", "components"), ("svm", "c"), ("svm", "loss")]);
        let recipe = |point: &[f64]| space.recipe(point).unwrap().to_string();
        assert_eq!(recipe(&[0.0, 0.0, 0.0]), "tfidf | varnorm(20) | svm(c=0.01, loss=hinge)");
        assert_eq!(recipe(&[1.0, 0.5, 1.0]), "tfidf | varnorm(120) | svm");
        assert_eq!(recipe(&[1.0, 0.75, 1.0]), "tfidf | varnorm(120) | svm(c=10)");
    }

    #[test]
    fn the_start_has_the_defaults_that_are_inside() {
        let start = |text: &str| {
            let space = Space::parse(text).unwrap();
            space.recipe(&space.start()).unwrap().to_string()
        };
        assert_eq!(start("tfidf | varnorm(20..120) | svm(c=0.01..100 log)"), "tfidf | varnorm | svm");
        assert_eq!(start("tfidf(sublinear={true|false}, min_df=1..5) | knn(k={1|3|10})"), "tfidf | knn");
        assert_eq!(start("tfidf | svm(c=4.0..6.0)"), "tfidf | svm(c=5)");
        assert_eq!(start("tfidf | svm(c=2..50 log, loss={hinge|squared_hinge})"), "tfidf | svm(c=10)");
    }

    #[test]
    fn what_cannot_be_searched_is_refused_with_a_reason() {
        let said = |text: &str| Space::parse(text).unwrap_err().to_string();
        assert!(said("tfidf | svm").contains("no range"));
        assert!(said("tfidf | svm(c=100..1)").contains("lower end comes first"));
        assert!(said("tfidf | svm(c=0..1 log)").contains("above 0"));
        assert!(said("tfidf | svm(c={1})").contains("2 to"));
        assert!(said("tfidf | svm(c=-1.0..1)").contains("`c`"));
        assert!(said("tfidf | svm(d=1..2)").contains("`d`"));
        assert!(said("tfidf | knn(metric={cosine|cosinus})").contains("cosinus"));
        assert!(said("tfidf | knn(k=1..9007199254740993)").contains("further"));
    }

    proptest! {
        #[test]
        fn every_point_is_a_recipe_inside_its_ranges(u in 0.0f64..=1.0, v in 0.0f64..=1.0) {
            let space = Space::parse("tfidf | varnorm(20..120) | svm(c=0.01..100 log)").unwrap();
            let values = space.values(&[u, v]);
            prop_assert!((20..=120).contains(&values[0].parse::<i64>().unwrap()));
            prop_assert!((0.01..=100.0).contains(&values[1].parse::<f64>().unwrap()));
            space.recipe(&[u, v]).unwrap();
        }
    }
}
