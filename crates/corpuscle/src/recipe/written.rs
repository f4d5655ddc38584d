//! A recipe as text: the short form for people, the full form for files.

use std::fmt;

use super::erase::{AnyClassifier, Stage as ErasedStage};
use super::plan::{Node, Recipe};
use super::presets;
use super::registry::StageKind;
use super::syntax::{Argument, Call, Expression};
use crate::text::{CharsParams, WordsParams};

/// How much of a recipe is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// What differs from the defaults, for people.
    Short,
    /// Every value, for files: a later default never changes an old model.
    Full,
}

/// A stage with every value written out.
pub(super) fn written_full(stage: &(impl ErasedStage + ?Sized)) -> String {
    written(stage, StageKind::Project, Form::Full).to_string()
}

impl Recipe {
    /// The recipe with every value written out, as files have it: a later default never changes what it means.
    pub fn full(&self) -> String {
        self.written(Form::Full)
    }

    fn written(&self, form: Form) -> String {
        if let (Some(vote), Node::Sum(members)) = (self.any_classifier(), self.body())
            && !vote.members().is_empty()
        {
            let members =
                members.iter().zip(vote.members()).map(|(part, own)| part.member_expression(own.as_ref(), form));
            let members = members.collect();
            return Expression::Stage(Call { members, ..written_call(vote, StageKind::Vote, form) }).to_string();
        }
        let mut parts = Vec::new();
        if form == Form::Full || self.opening != WordsParams::default() {
            parts.push(written_words(&self.opening, form));
        }
        match self.body().expression(form) {
            Expression::Pipe(inner) => parts.extend(inner),
            other => parts.push(other),
        }
        if let Some(classifier) = self.any_classifier() {
            parts.push(written(classifier, StageKind::Classify, form));
        }
        let text = match parts.len() {
            1 => parts.remove(0).to_string(),
            _ => Expression::Pipe(parts).to_string(),
        };
        // A stage alone that goes by the name of a preset (`scdv`) would be read as that.
        if presets::find(&text).is_some() { format!("({text})") } else { text }
    }
}

impl Recipe {
    /// Whether every representation that this recipe has side by side, whatever its weight, stands in `other` too.
    pub(crate) fn is_part_of(&self, other: &Recipe) -> bool {
        let others = other.side_by_side();
        self.side_by_side().iter().all(|part| others.contains(part))
    }

    /// The representations side by side, each with the words it reads and without its weight.
    fn side_by_side(&self) -> Vec<String> {
        let parts = match self.body() {
            Node::Sum(parts) => parts.as_slice(),
            whole => std::slice::from_ref(whole),
        };
        let written = |part: &Node| {
            let part = if let Node::Weighted(part, _) = part { part.as_ref() } else { part };
            let own = part.expression(Form::Short);
            match part {
                Node::View(..) => own.to_string(),
                _ => format!("{} | {own}", written_words(&self.opening, Form::Short)),
            }
        };
        parts.iter().map(written).collect()
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(Form::Short))
    }
}

impl Node {
    fn expression(&self, form: Form) -> Expression {
        let all = |parts: &[Node]| parts.iter().map(|part| part.expression(form)).collect();
        match self {
            Node::Vectorize(stage, _) => written(stage.as_ref(), StageKind::Vectorize, form),
            Node::Project(stage) => written(stage.as_ref(), StageKind::Project, form),
            Node::View(words, part) => {
                let mut parts = vec![written_words(words, form)];
                match part.expression(form) {
                    Expression::Pipe(inner) => parts.extend(inner),
                    other => parts.push(other),
                }
                Expression::Pipe(parts)
            }
            Node::Pipe(parts) => Expression::Pipe(all(parts)),
            Node::Sum(parts) => Expression::Sum(all(parts)),
            Node::Weighted(part, weight) => Expression::Weighted(Box::new(part.expression(form)), f64::from(*weight)),
            Node::Member(part, _) => part.expression(form),
        }
    }
}

impl Node {
    /// A member of a vote with the classifier it ends in.
    fn member_expression(&self, classifier: &dyn AnyClassifier, form: Form) -> Expression {
        let Node::Member(part, _) = self else { return self.expression(form) };
        let mut parts = match part.expression(form) {
            Expression::Pipe(parts) => parts,
            other => vec![other],
        };
        // Words as they are usually read go without saying.
        if let (Form::Short, Node::View(words, _)) = (form, part.as_ref())
            && **words == WordsParams::default()
        {
            parts.remove(0);
        }
        parts.push(written(classifier, StageKind::Classify, form));
        Expression::Pipe(parts)
    }
}

/// The stage that makes words, or grams of characters, as it is written.
fn written_words(words: &WordsParams, form: Form) -> Expression {
    match words.chars {
        None => written(words, StageKind::Words, form),
        Some(_) => written(&CharsParams(words.clone()), StageKind::Words, form),
    }
}

/// A stage as it is written. In the short form a projection has its first parameter by position when it is the only one given:
/// `ig(1000)`, but `svm(c=10)`.
fn written(stage: &(impl ErasedStage + ?Sized), kind: StageKind, form: Form) -> Expression {
    Expression::Stage(written_call(stage, kind, form))
}

fn written_call(stage: &(impl ErasedStage + ?Sized), kind: StageKind, form: Form) -> Call {
    let all = stage.all_arguments();
    let first = all.first().map(|(name, _)| *name);
    let arguments = if form == Form::Full { all } else { stage.changed_arguments() };
    let alone = form == Form::Short && arguments.len() == 1 && arguments.first().map(|(name, _)| *name) == first;
    let by_position = alone && kind == StageKind::Project;
    let argument = |(name, value): (&str, String)| {
        let name = (!by_position).then(|| name.to_string());
        Argument { name, value, at: 0, is_range: false }
    };
    let arguments = arguments.into_iter().map(argument).collect();
    Call { name: stage.name().to_string(), at: 0, members: Vec::new(), arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_side_by_side_is_part_of_what_has_more_beside_it() {
        let read = |text: &str| Recipe::parse(text).unwrap();
        let is_part = |a: &str, b: &str| read(a).is_part_of(&read(b));
        let two = "((words(stem=porter) | tfidf) + (chars | tfidf)) | svm";
        let three = "((words(stem=porter) | tfidf) + (chars | tfidf) * 0.5 + (tfidf | lsi(9))) | svm(c=0.3)";
        assert!(is_part(two, three) && !is_part(three, two));
        // Neither a cost nor how it is written makes another representation; other words do.
        assert!(is_part("tfidf | svm", "(tfidf + counts) | svm(c=2)"));
        assert!(is_part("words(stem=porter) | tfidf | svm", three) && !is_part("tfidf | svm", three));
        assert!(is_part("words(stem=porter) | (tfidf + counts) | svm", "words(stem=porter) | (counts + tfidf) | svm"));
        assert!(!is_part("tfidf | lsi(8) | svm", three) && is_part("tfidf | lsi(9) | svm", three));
    }
}
