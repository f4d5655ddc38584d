//! What can be set on a method, described once.
//!
//! Beside every params struct stands a table ([`Params::table`]): for each parameter its name, one line about it, how it
//! is read from text and shown as text. The default is that of `Default`. Everything that deals with parameters goes by
//! that table: the recipe language reads and prints with it (the short form leaves defaults out, the full form writes every
//! value), `corpuscle stages` lists it, `tune` finds where a default lies in a range, and other languages get names, kinds,
//! defaults and lines of help from it.
//!
//! ```
//! use corpuscle::classify::SvmParams;
//! use corpuscle::params::{Auto, Params};
//! let mut svm = SvmParams::default();
//! svm.set("c", "auto")?;
//! assert_eq!(svm.c, Auto::Auto);
//! assert_eq!(svm.changed(), [("c", "auto".to_string())]);
//! assert_eq!(svm.to_json()["tolerance"], 0.001);
//! assert!(svm.set("c", "much").unwrap_err().to_string().contains("a number or auto"));
//! svm.c = Auto::Value(-1.0);
//! svm.max_iter = 0;
//! let error = svm.check().unwrap_err().to_string();
//! assert!(error.contains("c = -1") && error.contains("max_iter = 0"));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::fmt::{self, Debug, Display};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::error::ParameterFault;
use crate::{Error, Result};

/// A value, or one to be found by whoever fits: mostly by cross-validation on the documents at hand.
///
/// ```
/// use corpuscle::params::Auto;
/// assert_eq!(serde_json::from_str::<Auto<f64>>("0.5")?, Auto::Value(0.5));
/// assert_eq!(serde_json::to_string(&Auto::<f64>::Auto)?, "\"auto\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// To be found.
    Auto,
    /// This value.
    Value(T),
}

/// The word for a value that is to be found.
const AUTO: &str = "auto";

impl<T> Auto<T> {
    /// Whether the value is still to be found.
    pub fn is_auto(&self) -> bool {
        matches!(self, Auto::Auto)
    }

    /// The value, when it is given.
    pub fn value(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Value(value) => Some(value),
        }
    }
}

impl<T> From<T> for Auto<T> {
    fn from(value: T) -> Self {
        Auto::Value(value)
    }
}

impl<T: Display> Display for Auto<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auto::Auto => f.write_str(AUTO),
            Auto::Value(value) => value.fmt(f),
        }
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Auto::Auto => to.serialize_str(AUTO),
            Auto::Value(value) => value.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        enum Word {
            #[serde(rename = "auto")]
            Auto,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written<T> {
            Word(Word),
            Value(T),
        }
        Ok(match Written::deserialize(from)? {
            Written::Word(Word::Auto) => Auto::Auto,
            Written::Value(value) => Auto::Value(value),
        })
    }
}

/// What the text of a value looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The kind of value.
    pub kind: Kind,
    /// Words that may stand instead of it; for [`Kind::Word`], all there are.
    pub words: Vec<&'static str>,
}

/// Kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A whole number, not negative.
    Whole,
    /// A number.
    Real,
    /// `true` or `false`.
    Flag,
    /// One of some words.
    Word,
    /// Any text.
    Text,
}

impl Form {
    /// A kind without words beside it.
    pub fn of(kind: Kind) -> Self {
        Form { kind, words: Vec::new() }
    }

    /// The same where `word` may stand too.
    #[must_use]
    pub fn or(mut self, word: &'static str) -> Self {
        self.words.push(word);
        self
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Whole => Some("a whole number"),
            Kind::Real => Some("a number"),
            Kind::Flag => Some("true or false"),
            Kind::Word => None,
            Kind::Text => Some("text"),
        };
        let all: Vec<&str> = kind.into_iter().chain(self.words.iter().copied()).collect();
        match all.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, rest)) => write!(f, "{} or {last}", rest.join(", ")),
            None => Ok(()),
        }
    }
}

/// A value with a text form: what a parameter can be.
pub trait Value: Clone + PartialEq + Debug + 'static {
    /// The value of a text.
    fn read(text: &str) -> Option<Self>;
    /// The text of a value; reading it gives the value back.
    fn show(&self) -> String;
    /// What the text looks like.
    fn form() -> Form;
}

macro_rules! plain_values {
    ($($kind:ident: $($type:ty),+);+ $(;)?) => {
        $($(impl Value for $type {
            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }

            fn form() -> Form {
                Form::of(Kind::$kind)
            }
        })+)+
    };
}

plain_values!(Whole: usize, u64; Flag: bool);

macro_rules! real_values {
    ($($type:ty),+) => {
        $(impl Value for $type {
            fn read(text: &str) -> Option<Self> {
                text.parse().ok().filter(|value: &$type| value.is_finite())
            }

            fn show(&self) -> String {
                self.to_string()
            }

            fn form() -> Form {
                Form::of(Kind::Real)
            }
        })+
    };
}

real_values!(f32, f64);

impl<T: Value> Value for Auto<T> {
    fn read(text: &str) -> Option<Self> {
        if text == AUTO { Some(Auto::Auto) } else { T::read(text).map(Auto::Value) }
    }

    fn show(&self) -> String {
        match self {
            Auto::Auto => AUTO.to_string(),
            Auto::Value(value) => value.show(),
        }
    }

    fn form() -> Form {
        T::form().or(AUTO)
    }
}

/// Gives an enum of plain variants the words it is read and shown with:
/// `words!(Loss { SquaredHinge = "squared_hinge", Hinge = "hinge" });`.
#[macro_export]
macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $crate::params::Value for $type {
            fn read(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $word.to_string(),)+
                }
            }

            fn form() -> $crate::params::Form {
                $crate::params::Form { kind: $crate::params::Kind::Word, words: vec![$($word),+] }
            }
        }
    };
}

/// One parameter of a params struct `P`.
#[derive(Clone)]
pub struct Param<P> {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What its text looks like.
    pub form: Form,
    /// Another way to say what a parameter before it says; read and never shown.
    pub is_alias: bool,
    read: Arc<Read<P>>,
    show: Arc<Show<P>>,
}

type Read<P> = dyn Fn(&mut P, &str) -> Result<(), Option<String>> + Send + Sync;
type Show<P> = dyn Fn(&P) -> String + Send + Sync;

impl<P> Debug for Param<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Param").field("name", &self.name).field("about", &self.about).finish_non_exhaustive()
    }
}

impl<P: 'static> Param<P> {
    /// A parameter that is a field; see [`param!`](crate::param).
    pub fn field<T: Value>(
        name: &'static str,
        about: &'static str,
        get: fn(&P) -> &T,
        get_mut: fn(&mut P) -> &mut T,
    ) -> Self {
        let read = move |params: &mut P, text: &str| {
            *get_mut(params) = T::read(text).ok_or(None)?;
            Ok(())
        };
        let show = move |params: &P| get(params).show();
        Param { name, about, form: T::form(), is_alias: false, read: Arc::new(read), show: Arc::new(show) }
    }

    /// Another way to say what a parameter before it in the table says. `read` gives the reason when it contradicts that one.
    pub fn alias<T: Value>(name: &'static str, about: &'static str, read: fn(&mut P, T) -> Result<(), String>) -> Self {
        let read = move |params: &mut P, text: &str| read(params, T::read(text).ok_or(None)?).map_err(Some);
        let (read, show) = (Arc::new(read), Arc::new(|_: &P| String::new()));
        Param { name, about, form: T::form(), is_alias: true, read, show }
    }

    /// The same parameter of a struct that holds this one.
    #[must_use]
    pub fn inside<Q: 'static>(self, get: fn(&Q) -> &P, get_mut: fn(&mut Q) -> &mut P) -> Param<Q> {
        let Param { name, about, form, is_alias, read, show } = self;
        let read = move |outer: &mut Q, text: &str| read(get_mut(outer), text);
        let show = move |outer: &Q| show(get(outer));
        Param { name, about, form, is_alias, read: Arc::new(read), show: Arc::new(show) }
    }

    /// Reads the value of `text`; the error says why it cannot be that.
    pub fn read(&self, params: &mut P, text: &str) -> Result<(), String> {
        (self.read)(params, text).map_err(|reason| reason.unwrap_or_else(|| format!("it is {}", self.form)))
    }

    /// The text of its value.
    pub fn show(&self, params: &P) -> String {
        (self.show)(params)
    }
}

/// A parameter that is a field of `Self`: `param!("c", c, "cost of mistakes")`. The field may be a path.
#[macro_export]
macro_rules! param {
    ($name:literal, $($field:ident).+, $about:expr) => {
        $crate::params::Param::field(
            $name,
            $about,
            |params: &Self| &params.$($field).+,
            |params: &mut Self| &mut params.$($field).+,
        )
    };
}

/// What can be set on a method.
pub trait Params: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The method's name in recipes and messages.
    const NAME: &'static str;
    /// What the method does, in a line.
    const ABOUT: &'static str;

    /// What parameters stand for that a model's file does not name, being older than they are: what was done before there was a
    /// choice. Files name every parameter there was when they were written.
    const BEFORE: &'static [(&'static str, &'static str)] = &[];

    /// The parameters in the order they are printed; the first may be given by position.
    fn table() -> Vec<Param<Self>>;

    /// Names every value that is out of range.
    fn check(&self) -> Result<()>;

    /// Sets one parameter by name from its text.
    fn set(&mut self, name: &'static str, text: &str) -> Result<()> {
        let Some(param) = Self::table().into_iter().find(|param| param.name == name) else {
            return Err(Error::parameter(Self::NAME, name, text, "is no parameter of it"));
        };
        param
            .read(self, text)
            .map_err(|reason| Error::parameter(Self::NAME, name, text, format!("cannot be read: {reason}")))
    }

    /// Every parameter with the text of its value: the full form.
    fn arguments(&self) -> Vec<(&'static str, String)> {
        let shown = Self::table().into_iter().filter(|param| !param.is_alias);
        shown.map(|param| (param.name, param.show(self))).collect()
    }

    /// The parameters that differ from the defaults: the short form.
    fn changed(&self) -> Vec<(&'static str, String)> {
        let defaults = Self::default().arguments();
        self.arguments().into_iter().zip(defaults).filter(|(own, default)| own != default).map(|(own, _)| own).collect()
    }

    /// Every parameter as JSON: numbers and flags as such, anything else as text.
    fn to_json(&self) -> Map<String, Json> {
        let table = Self::table().into_iter().filter(|param| !param.is_alias);
        table.map(|param| (param.name.to_string(), json_of(param.form.kind, param.show(self)))).collect()
    }

    /// Parameters from JSON; those it does not name have their defaults.
    fn from_json(object: &Map<String, Json>) -> Result<Self> {
        let mut params = Self::default();
        let table = Self::table();
        if let Some(unknown) = object.keys().find(|&name| table.iter().all(|param| param.name != name)) {
            return Err(Error::data(format!("`{}` has no parameter `{unknown}`", Self::NAME)));
        }
        for param in table {
            let text = match object.get(param.name) {
                None => continue,
                Some(Json::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            let wrong = |reason| Error::parameter(Self::NAME, param.name, &text, format!("cannot be read: {reason}"));
            param.read(&mut params, &text).map_err(wrong)?;
        }
        params.check()?;
        Ok(params)
    }
}

/// The JSON of a value's text.
pub fn json_of(kind: Kind, text: String) -> Json {
    let number = match kind {
        Kind::Whole | Kind::Real => serde_json::from_str(&text).ok().filter(Json::is_number),
        Kind::Flag => text.parse().ok().map(Json::Bool),
        Kind::Word | Kind::Text => None,
    };
    number.unwrap_or(Json::String(text))
}

/// Collects every value that is out of range.
#[derive(Debug)]
pub struct Checks {
    method: &'static str,
    faults: Vec<ParameterFault>,
}

impl Checks {
    /// Nothing wrong so far with the parameters of `method`.
    pub fn of(method: &'static str) -> Self {
        Checks { method, faults: Vec::new() }
    }

    /// Notes that `name` has a value out of range unless `good`; `reason` says what is allowed: "must be above 0".
    #[must_use]
    pub fn that(self, good: bool, name: &'static str, value: &impl ToString, reason: impl Into<String>) -> Self {
        if good { self } else { self.fault(name, value, reason) }
    }

    /// The same for a value that may be left to be found.
    #[must_use]
    pub fn auto<T: Display + Copy>(
        self,
        good: impl FnOnce(T) -> bool,
        name: &'static str,
        value: Auto<T>,
        reason: impl Into<String>,
    ) -> Self {
        match value {
            Auto::Value(given) if !good(given) => self.fault(name, &given, reason),
            _ => self,
        }
    }

    fn fault(mut self, name: &'static str, value: &impl ToString, reason: impl Into<String>) -> Self {
        self.faults.push(ParameterFault { name, value: value.to_string(), reason: reason.into() });
        self
    }

    /// An error that names them all, when there are any.
    pub fn done(self) -> Result<()> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(Error::BadParameter { stage: self.method, faults: self.faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Shape {
        Round,
        Flat,
    }
    crate::words!(Shape { Round = "round", Flat = "flat" });

    #[derive(Debug, Clone, PartialEq)]
    struct Inner {
        depth: Auto<usize>,
    }

    #[derive(Debug, Clone, PartialEq)]
    struct Cake {
        layers: usize,
        shape: Shape,
        inner: Inner,
    }

    impl Default for Cake {
        fn default() -> Self {
            Cake { layers: 2, shape: Shape::Round, inner: Inner { depth: Auto::Auto } }
        }
    }

    impl Params for Cake {
        const NAME: &'static str = "cake";
        const ABOUT: &'static str = "layers of something";

        fn table() -> Vec<Param<Self>> {
            vec![
                param!("layers", layers, "how many"),
                param!("shape", shape, "of each"),
                param!("depth", inner.depth, "of each"),
                Param::alias("flat", "whether the shape is flat", |cake: &mut Self, flat: bool| {
                    cake.shape = if flat { Shape::Flat } else { Shape::Round };
                    Ok(())
                }),
            ]
        }

        fn check(&self) -> Result<()> {
            Checks::of(Self::NAME)
                .that(self.layers > 0, "layers", &self.layers, "must be at least 1")
                .auto(|depth| depth < 9, "depth", self.inner.depth, "must be below 9, or auto")
                .done()
        }
    }

    #[test]
    fn what_is_shown_is_read_back() {
        let cake = Cake { layers: 7, shape: Shape::Flat, inner: Inner { depth: Auto::Value(3) } };
        let mut back = Cake::default();
        for (name, text) in cake.arguments() {
            back.set(name, &text).unwrap();
        }
        assert_eq!(back, cake);
        assert_eq!(Cake::from_json(&cake.to_json()).unwrap(), cake);
        assert_eq!(cake.to_json()["layers"], 7);
        assert!(Cake::default().changed().is_empty());
        assert_eq!(cake.changed().len(), 3);
        back.set("flat", "false").unwrap();
        assert_eq!(back.shape, Shape::Round);
    }

    #[test]
    fn every_mistake_is_named_with_what_would_be_right() {
        let mut cake = Cake::default();
        let said = |cake: &mut Cake, name, text: &str| cake.set(name, text).unwrap_err().to_string();
        assert!(said(&mut cake, "shape", "square").contains("round or flat"));
        assert!(said(&mut cake, "depth", "deep").contains("a whole number or auto"));
        assert!(said(&mut cake, "icing", "1").contains("no parameter"));
        assert!(Cake::from_json(&serde_json::from_str(r#"{"icing": 1}"#).unwrap()).is_err());
        let bad = Cake { layers: 0, inner: Inner { depth: Auto::Value(12) }, ..Cake::default() };
        let error = bad.check().unwrap_err().to_string();
        assert_eq!(error, "cake: layers = 0 must be at least 1; depth = 12 must be below 9, or auto");
    }
}
