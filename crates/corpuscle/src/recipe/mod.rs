//! Recipes.
pub mod arguments;
pub mod model_file;
pub mod syntax;
