//! The library from outside, as its users see it. One program, because each would be linked with everything that the library brings.

mod abstaining;
mod autotraits;
mod corpus_faults;
mod corpus_parquet;
mod corpus_plain;
mod corpus_read;
mod examples;
mod faults;
mod limits;
mod lsi;
mod metrics;
mod model_files;
mod own_stage;
mod registry;
mod reliability;
mod varnorm;
mod views;
