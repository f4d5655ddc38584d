//! A paper's table of retrieval as a protocol: collections, systems with the paper's figures, and claims to test.
//!
//! A protocol is a JSON file. For every collection and system, smoothing is chosen by mean average precision on one half of the
//! queries, then, with these constants, the recipe of the vectors and their share; what was chosen is measured on the other
//! half, both ways, so that no query judges what it helped to choose. Vectors learn from the documents alone.

use serde::{Deserialize, Serialize};

use super::feedback::Feedback;
use super::index::Index;
use super::rank::{Form, Ranking};
use super::search::{Mix, Search};
use super::trec::Qrels;
use super::tune::{Judged, tune};
use super::vectors::Vectors;
use crate::corpus::Document;
use crate::experiment::{TTest, paired_t_test};
use crate::recipe::{Corpus, Recipe};
use crate::{Error, Result, Run};

/// The greatest p of a difference that counts.
const SIGNIFICANT: f64 = 0.05;

/// A table of retrieval.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchProtocol {
    /// The name it is asked for by.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Paper and table.
    pub paper: String,
    /// The collections.
    pub collections: Vec<Collection>,
    /// How texts become words in the index: the first stage of a recipe.
    pub words: String,
    /// Vectors by name.
    pub vectors: Vec<Representation>,
    /// The systems compared.
    pub systems: Vec<SearchSystem>,
    /// The paper's collections, in the order of its figures.
    pub paper_collections: Vec<String>,
    /// What the paper says is better than what.
    pub claims: Vec<SearchClaim>,
    /// How the data differ from the paper's.
    pub note: String,
}

/// Documents, queries and judgements: files inside the data folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Its name in the table.
    pub name: String,
    /// The file of documents.
    pub documents: String,
    /// The file of queries.
    pub queries: String,
    /// The file of judgements.
    pub qrels: String,
}

/// Vectors of documents.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Representation {
    /// The name systems ask for it by.
    pub name: String,
    /// Recipes, one of which is chosen on the half of the queries that chooses.
    pub recipes: Vec<String>,
}

/// One system of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSystem {
    /// Its name in the table.
    pub name: String,
    /// Sum of logarithms or of probabilities.
    #[serde(default)]
    pub form: Form,
    /// Whether mixture feedback widens the query.
    #[serde(default)]
    pub feedback: bool,
    /// The name of the vectors, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
    /// How they come in.
    #[serde(default)]
    pub mix: Mix,
    /// The paper's mean average precision on each of its collections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<f64>,
}

/// One system said to be better than another on every collection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchClaim {
    /// The system said to be better.
    pub better: String,
    /// The system it is compared with.
    pub than: String,
    /// On how many collections the difference must be significant.
    #[serde(default)]
    pub significant: usize,
}

/// What came out of a collection.
#[derive(Debug, Clone, Serialize)]
pub struct CollectionFigures {
    /// Its name.
    pub name: String,
    /// How many documents it has.
    pub documents: u64,
    /// How many queries with a relevant document.
    pub queries: usize,
    /// The systems in the protocol's order.
    pub systems: Vec<SystemFigures>,
}

/// What a system came to on a collection.
#[derive(Debug, Clone, Serialize)]
pub struct SystemFigures {
    /// Mean average precision.
    pub map: f64,
    /// Average precision of each query, by what the other half chose.
    pub average_precision: Vec<f64>,
    /// Chosen for each half on the other.
    pub chosen: [Search; 2],
    /// The recipes chosen with them.
    pub recipes: Vec<String>,
}

/// A claim put to the test.
#[derive(Debug, Clone, Serialize)]
pub struct SearchClaimTest {
    /// What is claimed.
    #[serde(flatten)]
    pub claim: SearchClaim,
    /// The better system's average precision minus the other's on every collection; none where they are equal throughout.
    pub tests: Vec<Option<TTest>>,
    /// Whether it is above on every collection, and significantly on as many as asked.
    pub holds: bool,
}

impl SearchProtocol {
    /// Reads a protocol and checks that its recipes, names and claims make sense.
    pub fn parse(json: &str) -> Result<Self> {
        let protocol: SearchProtocol =
            serde_json::from_str(json).map_err(|e| Error::data(format!("this is no protocol of retrieval: {e}")))?;
        let wrong = |what: String| Err(Error::data(format!("the protocol {}: {what}", protocol.name)));
        protocol.index_words()?;
        for representation in &protocol.vectors {
            if representation.recipes.is_empty() {
                return wrong(format!("`{}` has no recipe", representation.name));
            }
            representation.recipes.iter().try_for_each(|recipe| Recipe::parse(recipe).map(|_| ()))?;
        }
        for name in protocol.systems.iter().filter_map(|system| system.vectors.as_ref()) {
            if !protocol.vectors.iter().any(|vectors| vectors.name == *name) {
                return wrong(format!("there are no vectors `{name}`"));
            }
        }
        for name in protocol.claims.iter().flat_map(|claim| [&claim.better, &claim.than]) {
            protocol.number(name)?;
        }
        Ok(protocol)
    }

    fn index_words(&self) -> Result<crate::text::WordsParams> {
        Ok(Recipe::parse(&format!("{} | counts", self.words))?.words().clone())
    }

    fn number(&self, name: &str) -> Result<usize> {
        let found = self.systems.iter().position(|system| system.name == name);
        found.ok_or_else(|| Error::data(format!("the protocol {} has no system `{name}`", self.name)))
    }

    /// Every system on one collection. The index is made in `folder`, which is empty or not there yet; `quick` tries the first recipe
    /// of each representation only.
    pub fn run(
        &self,
        collection: &Collection,
        documents: &[Document],
        (queries, qrels): (Vec<(String, String)>, Qrels),
        folder: &std::path::Path,
        quick: bool,
        run: &Run,
    ) -> Result<CollectionFigures> {
        let judged = Judged::new(queries, qrels)?;
        let index = Index::create(folder, &self.index_words()?)?;
        let mut writer = index.writer(run)?;
        documents.iter().try_for_each(|document| writer.add(document.clone()))?;
        let documents_in = writer.commit()?.documents;
        let searcher = index.searcher()?;
        let mut systems: Vec<Option<SystemFigures>> = vec![None; self.systems.len()];
        let names = self.vectors.iter().map(|vectors| Some(&vectors.name));
        // One representation after the other, so that the vectors of one are in memory at a time.
        for name in std::iter::once(None).chain(names) {
            let asking = |system: &&SearchSystem| system.vectors.as_ref() == name;
            let words = self.systems.iter().filter(asking).any(|system| system.mix == Mix::Probabilities);
            let recipes: Vec<&String> =
                self.vectors.iter().filter(|vectors| Some(&vectors.name) == name).flat_map(|of| &of.recipes).collect();
            let recipes = if quick { &recipes[..recipes.len().min(1)] } else { &recipes[..] };
            let mut vectors = Vec::with_capacity(recipes.len());
            for recipe in recipes {
                let recipe = Recipe::parse(recipe)?;
                let corpus = Corpus::read(documents.iter().cloned().map(Ok), recipe.words(), &run.quiet())?;
                let model = run.watch("fit", None, || recipe.fit(&corpus, &run.quiet()))?;
                let of = Vectors::of(&searcher, model, run)?;
                vectors.push(if words { of.with_words(&searcher, run)? } else { of });
            }
            let vectors: Vec<&Vectors> = vectors.iter().collect();
            for (number, system) in self.systems.iter().enumerate().filter(|(_, system)| asking(system)) {
                let how = Search {
                    ranking: Ranking::DIRICHLET,
                    form: system.form,
                    feedback: system.feedback.then_some(Feedback::MIXTURE),
                    mix: system.mix,
                    lambda: 0.0,
                };
                let tuned = tune(&judged, &searcher, &how, &vectors, run)?;
                systems[number] = Some(SystemFigures {
                    map: tuned.mean.average_precision,
                    average_precision: tuned.queries.iter().map(|(_, figures)| figures.average_precision).collect(),
                    chosen: tuned.chosen,
                    recipes: tuned.chosen_vectors.iter().flatten().map(|&number| recipes[number].clone()).collect(),
                });
            }
        }
        Ok(CollectionFigures {
            name: collection.name.clone(),
            documents: documents_in,
            queries: judged.len(),
            systems: systems.into_iter().flatten().collect(),
        })
    }

    /// The claims, by what came out of the collections.
    pub fn test(&self, collections: &[CollectionFigures]) -> Result<Vec<SearchClaimTest>> {
        let mut tested = Vec::with_capacity(self.claims.len());
        for claim in &self.claims {
            let (better, than) = (self.number(&claim.better)?, self.number(&claim.than)?);
            let of = |collection: &CollectionFigures| {
                let [first, second] = [better, than].map(|number| &collection.systems[number].average_precision[..]);
                paired_t_test(first, second)
            };
            let tests: Vec<Option<TTest>> = collections.iter().map(of).collect();
            let above = tests.iter().all(|test| test.as_ref().is_some_and(|test| test.difference > 0.0));
            let significant = tests.iter().flatten().filter(|test| test.p < SIGNIFICANT).count();
            let holds = above && significant >= claim.significant && !collections.is_empty();
            tested.push(SearchClaimTest { claim: claim.clone(), tests, holds });
        }
        Ok(tested)
    }
}
